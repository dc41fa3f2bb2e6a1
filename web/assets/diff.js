// The diff: brings what is not on the page yet, and leads to lines.
// Every link with `data-load` works without this script, too: then it leads to a page of its own.

import { fragment } from "./fragment.js";
import { say } from "./toast.js";

/** What the answer of a link stands in for. */
const places = { rows: ".more", gap: "tbody.gap", line: "td.code", files: ".more-files" };
const loading = new Map();

/** Brings what a link leads to, and puts it where it belongs. True when it came. */
export function load(link) {
  const known = loading.get(link);
  if (known) return known;
  const work = bring(link).finally(() => loading.delete(link));
  loading.set(link, work);
  return work;
}

async function bring(link) {
  const place = link.closest(places[link.dataset.load]);
  if (!place) return false;
  link.classList.add("loading");
  link.setAttribute("aria-busy", "true");
  let part;
  try {
    part = await fragment(link.href);
  } catch (problem) {
    link.classList.remove("loading");
    link.removeAttribute("aria-busy");
    say(problem.message, "error");
    return false;
  }
  // The keyboard stays where it was: at the first thing that came.
  const hadFocus = place.contains(document.activeElement);
  const around = place.parentElement;
  let first = part.firstElementChild;
  if (link.dataset.load === "gap") {
    first = part.querySelector("tbody.gap");
    place.replaceWith(first);
  } else if (link.dataset.load === "line") {
    place.replaceChildren(part);
  } else {
    place.replaceWith(part);
  }
  watch(around);
  if (hadFocus && first) focusOn(first.querySelector("a.step, a[data-load]") ?? first);
  return true;
}

function focusOn(element) {
  if (!element.matches("a, button, summary")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

/* What comes near is brought, one after the other, so that a fast scroll does not ask for everything at once. */

const near = new Set();
let isBusy = false;
const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) isIntersecting ? near.add(target) : near.delete(target);
    work();
  },
  { rootMargin: "800px 0px" },
);

async function work() {
  if (isBusy) return;
  isBusy = true;
  for (let place = next(); place; place = next()) {
    near.delete(place);
    observer.unobserve(place);
    // What could not be brought waits for a press; asking again by itself would never end.
    const link = place.querySelector("a[data-load]");
    if (link) await load(link);
  }
  isBusy = false;
}

function next() {
  for (const place of near) {
    if (!place.isConnected) near.delete(place);
    else if (!place.closest("details:not([open])")) return place;
  }
  return undefined;
}

/** Looks out for what comes by itself: the rest of a file, and what the page had no room for. */
function watch(root) {
  for (const place of root.querySelectorAll(".chunk ~ .more, .more.eager, .more-files")) observer.observe(place);
}

/* Places: `#f3-R120` may be on a part that is not here yet. */

const PLACE = /^(f\d+)(?:-([LR]\d+))?$/;

/** Shows a place by its name, and brings what it is on. False when there is no such place. */
export async function lead(name) {
  const [, id, at] = PLACE.exec(name) ?? [];
  if (!id) return reveal(document.getElementById(name));
  while (!document.getElementById(id)) {
    const more = document.querySelector(".more-files a[data-load]");
    if (!more || !(await load(more))) return false;
  }
  const file = document.getElementById(id);
  file.open = true;
  if (at && !document.getElementById(name)) await around(file, at, name);
  return reveal(document.getElementById(name) ?? file);
}

/** Brings the part of a file with a line. */
async function around(file, at, name) {
  for (const link of file.querySelectorAll(".more a[data-load]")) {
    // What is on its way may have it.
    await loading.get(link);
    if (document.getElementById(name)) return;
    if (!link.isConnected) continue;
    const address = new URL(link.href);
    address.searchParams.set("at", at);
    link.href = address.href;
    await load(link);
    if (document.getElementById(name)) return;
  }
}

function reveal(target) {
  if (!target) return false;
  for (let box = target.closest("details:not([open])"); box; box = box.parentElement?.closest("details:not([open])")) {
    box.open = true;
  }
  target.scrollIntoView({ block: target.matches("td a, article") ? "center" : "start" });
  document.querySelector(".lines tr.here")?.classList.remove("here");
  target.closest(".lines tr")?.classList.add("here");
  return true;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-load], a[href^='#f']");
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.dataset.load in places) {
    event.preventDefault();
    load(link);
    return;
  }
  const name = link.hash.slice(1);
  if (PLACE.test(name) && document.querySelector(".diff-files")) {
    event.preventDefault();
    history.pushState(null, "", `#${name}`);
    lead(name);
  }
});

addEventListener("popstate", () => {
  if (location.hash.length > 1) lead(location.hash.slice(1));
});

// Opening a folded file brings its lines, as soon as one sees where they go: all files may be opened at once.
document.addEventListener(
  "toggle",
  ({ target: file }) => {
    if (!file.matches?.(".diff-file") || !file.open) return;
    const place = file.querySelector(":scope > .more");
    if (place && !file.querySelector(".chunk")) observer.observe(place);
    work();
  },
  true,
);

/* Folding, and the list of files. */

/** Makes a diff that came to the page work. */
export function start(diff) {
  const folds = diff.querySelector(".folds");
  if (folds) {
    folds.hidden = false;
    folds.addEventListener("click", (event) => {
      const how = event.target.closest("[data-fold]")?.dataset.fold;
      if (how) for (const file of diff.querySelectorAll(".diff-file")) file.open = how === "open";
    });
  }
  const items = diff.querySelectorAll(".file-list li");
  const filter = diff.querySelector(".file-filter");
  if (filter && items.length > 5) {
    filter.hidden = false;
    filter.addEventListener("input", (event) => {
      const wanted = event.target.value.toLowerCase();
      for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(wanted);
    });
  }
  watch(diff);
}

for (const diff of document.querySelectorAll(".diff")) start(diff);
document.addEventListener("tollgate:diff", ({ target }) => start(target));
if (location.hash.length > 1) lead(location.hash.slice(1));
