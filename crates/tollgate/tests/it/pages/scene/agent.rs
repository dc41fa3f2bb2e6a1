//! The agent of the scenes: one script, which plays what the name of the feature asks for.

/// What the step behind the gate asks for.
pub(crate) const DOCUMENT: &str = "Write down for users what is new.";

/// The file that there is in the beginning.
pub(crate) const SHOP: &str = r#"// The shop.

export const currency = "EUR";

export function total(items) {
  let sum = 0;
  for (const item of items) {
    sum += item.price * item.count;
  }
  return sum;
}

export function greeting(customer) {
  return `Welcome back, ${customer.name}!`;
}

export function isOpen(hour) {
  return hour >= 8 && hour < 20;
}

export function delivery(country) {
  switch (country) {
    case "DE":
      return { days: 2, price: 4.9 };
    case "FR":
      return { days: 3, price: 7.9 };
    default:
      return { days: 7, price: 14.9 };
  }
}

export function label(order) {
  return [order.name, order.street, order.city, order.country].join("\n");
}
"#;

/// Works by the name of the feature, which is that of its folder. `again` is true when there were findings.
pub(crate) const SCRIPT: &str = r##"
id=$(basename "$PWD")
again() { echo "$TASK" | grep -q 'Code Review Findings'; }
wait_for_ever() { exec sleep 3600; }
long=$(printf 'a-file-whose-name-goes-on-%.0s' 1 2 3 4 5 6 7)
if echo "$TASK" | grep -q 'Pipeline Step'; then
  echo 'Looking for what users should know.'
  if [ "$id" = faq-page ]; then wait_for_ever; fi
  echo 'There is nothing to add to the documentation.'
  exit 0
fi
echo "Reading the task and the files that it names."
case $id in
checkout-totals)
  if again; then
    sed -i 's/eval(text)/JSON.parse(text)/' src/basket.js
    sed -i 's/sum += .*/sum += item.price * item.count;/' src/shop.js
    sed -i 's/  return sum;/  return Math.round(sum * 100) \/ 100;/' src/shop.js
    echo 'Baskets are parsed instead of evaluated; the sum is rounded once, at the end.'
  else
    sed -i 's/sum += item.price \* item.count;/sum += Math.round(item.price * item.count * 100) \/ 100;/' src/shop.js
    printf 'import { total } from "./shop.js";\n\nexport function basket(text) {\n  const items = eval(text);\n  return { items, total: total(items) };\n}\n' > src/basket.js
    printf 'export const a = 1;\n' > "src/$long.js"
    printf 'سلة التسوق\nשלום עולם\n' > src/texts.txt
    echo 'Every position is rounded, and a basket can be read from a text.'
  fi ;;
import-catalogue)
  n=$(ls src | grep -c '^import' || true)
  printf 'export const step = %s;\nexport const read = (text) => eval(text + %s);\n' "$n" "$n" > "src/import$n.js"
  echo "Tried another way to read the catalogue." ;;
payment-webhooks)
  printf 'export const hook = (event) => event.id;\n' > src/hooks.js; echo 'Webhooks are taken in.' ;;
address-book)
  printf 'export const addresses = [];\n' > src/addresses.js
  echo 'Found three places that know addresses.'; echo 'Moving them into src/addresses.js.'; wait_for_ever ;;
gift-cards)
  printf 'export const card = (value) => ({ value, left: value });\n' > src/gift.js; echo 'Gift cards can be bought.' ;;
live-stock)
  if again; then echo 'Reading what the review said.'; wait_for_ever; fi
  printf 'export const stock = (text) => eval(text);\n' > src/stock.js; echo 'Stock is shown.' ;;
agent-crash)
  echo 'error: the service answered 529: overloaded' >&2; exit 3 ;;
hostile | hostile-approved)
  printf '%s' "$TASK" | grep -q . && mkdir -p 'src/<b onmouseover=alert(1)>'
  printf 'export const a = "</script><script>alert(1)</script>";\nexport const b = "<img src=x onerror=alert(2)>";\nexport const c = eval("&lt;b&gt;");\n// \342\200\256 gnihtyna \342\200\254 \033[31mred\033[0m\n' > 'src/<b onmouseover=alert(1)>/"><img src=x onerror=alert(3)>.js'
  printf 'x\n' > "$(printf 'src/\342\200\256sj.live \033[2J.js')"
  printf 'javascript:alert(4)\n' > 'src/javascript:alert(4)'
  printf '<script>alert(5)</script><img src=x onerror=alert(6)>\033]0;title\007\033[31mred \342\200\256 desrever\n</pre></code></textarea></template><h1>big</h1>\n[a](javascript:alert(7)) {{ 7*7 }} ${7*7} <!-- \n' ;;
large-change)
  mkdir -p gen
  awk 'BEGIN { for (f = 0; f < 20; f++) { for (l = 0; l < 900; l++) printf "export const value_%d_%d = compute(%d, \"%d\"); // line %d\n", f, l, f * l, l, l > ("src/part" f ".js") } }'
  awk 'BEGIN { for (l = 0; l < 2000; l++) printf "{ \"key\": \"%d\", \"value\": %d }\n", l, l * l }' > gen/data.json
  echo 'Generated.' ;;
*)
  printf 'export const done = "%s";\n' "$id" > "src/$id.js"; echo 'Done as asked.' ;;
esac
"##;
