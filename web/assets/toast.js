// Short notices in the corner, read aloud.

const shown = 6;

/** Says something. What went wrong stays until somebody has seen it. */
export function say(text, kind = "ok", { hint = "", action, act } = {}) {
  const toasts = document.getElementById("toasts");
  const toast = document.createElement("div");
  toast.className = kind === "error" ? "toast error" : "toast";
  const words = document.createElement("p");
  words.dir = "auto";
  words.textContent = text;
  if (hint) {
    const more = document.createElement("span");
    more.className = "hint";
    more.textContent = ` ${hint}`;
    words.append(more);
  }
  toast.append(words);
  const close = () => toast.remove();
  if (action) {
    toast.append(button(action, () => { close(); act(); }));
  }
  toast.append(button("Dismiss", close));
  toasts.append(toast);
  while (toasts.children.length > shown) toasts.firstElementChild.remove();
  if (kind !== "error") {
    let timer = setTimeout(close, action ? 12000 : 6000);
    toast.addEventListener("pointerenter", () => clearTimeout(timer));
    toast.addEventListener("focusin", () => clearTimeout(timer));
    toast.addEventListener("pointerleave", () => { timer = setTimeout(close, 4000); });
  }
  return close;
}

/** Says why something was refused. */
export function sayRefused(refused, before = "") {
  say(`${before}${refused.detail ?? refused.message}`, "error", { hint: refused.hint ?? "" });
}

function button(words, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button small quiet";
  button.textContent = words;
  button.addEventListener("click", act);
  return button;
}
