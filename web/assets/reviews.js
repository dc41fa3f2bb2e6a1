// Stored reviews: keys that go through them, and a word when there are new ones.

import { api } from "./api.js";
import * as keys from "./keys.js";
import { listen } from "./live.js";

const list = document.getElementById("reviews");
if (list) {
  moves();
  filters();
  news();
} else {
  findings();
}

/** Goes through the rows with `j` and `k`. */
function moves() {
  const rows = [...document.querySelectorAll("[data-row]")];
  let current = -1;
  const go = (index) => {
    if (!rows.length) return;
    rows[current]?.classList.remove("current");
    current = Math.max(0, Math.min(rows.length - 1, index));
    rows[current].classList.add("current");
    rows[current].querySelector("a").focus();
    rows[current].scrollIntoView({ block: "nearest" });
  };
  keys.add("j", "Next review", () => go(current + 1));
  keys.add("k", "Previous review", () => go(current - 1));
  keys.add("Enter", "Open the review", () => rows[current]?.querySelector("a").click());
  keys.add("]", "Next page", () => document.getElementById("next")?.click());
  keys.add("f", "Filters", () => {
    const more = document.querySelector(".more-filters");
    more.open = true;
    more.querySelector("select, input").focus();
  });
}

/** What is chosen is looked for at once; what is typed, when it is sent. */
function filters() {
  const form = document.querySelector(".review-filters");
  form.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement) form.requestSubmit();
  });
  // What was left blank need not be in the address.
  form.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (value === "" || (name === "order" && value === "newest")) formData.delete(name);
  });
}

/** Says how many reviews came since the page was made, of those that it asks for. */
function news() {
  const bar = document.getElementById("fresh");
  const kinds = ["review:stored", "feature:code-review-completed", "feature:code-review-failed"];
  let timer = 0;
  const look = async () => {
    timer = 0;
    try {
      const { total } = await api("GET", list.dataset.newer);
      if (total > 0) tell(total);
    } catch {
      // The banner of a lost connection says it already; the next event asks again.
    }
  };
  const soon = () => { timer ||= setTimeout(look, 300); };
  listen({ onEvent: ({ type }) => { if (kinds.includes(type)) soon(); }, onResync: soon });

  function tell(total) {
    const link = document.createElement("a");
    const address = new URL(location.href);
    address.searchParams.delete("after");
    link.href = address.pathname + address.search;
    link.textContent = "Show";
    bar.replaceChildren(`${total} new ${total === 1 ? "review" : "reviews"}`, link);
    bar.hidden = false;
  }
}

/** Goes through the findings of one review. */
function findings() {
  const all = () => [...document.querySelectorAll(".finding")].filter((finding) => finding.checkVisibility());
  const go = (step) => {
    const shown = all();
    if (!shown.length) return;
    const at = shown.indexOf(document.activeElement?.closest(".finding"));
    const next = shown[Math.max(0, Math.min(shown.length - 1, at < 0 ? (step > 0 ? 0 : shown.length - 1) : at + step))];
    next.focus();
    next.scrollIntoView({ block: "center" });
  };
  keys.add("n", "Next finding", () => go(1));
  keys.add("j", "Next finding", () => go(1));
  keys.add("p", "Previous finding", () => go(-1));
  keys.add("k", "Previous finding", () => go(-1));
  keys.add("Escape", "Back to the list", () => {
    // An open menu is closed first.
    if (!document.querySelector("details.menu[open]")) location.href = "/reviews";
  });
}
