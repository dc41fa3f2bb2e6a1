// The diff: brings what is not on the page yet, and leads to lines.
// Every link with `data-load` works without this script, too: then it leads to a page of its own.

import { fragment } from "./fragment.js";
import { say } from "./toast.js";

const loading = new Map();

/** Brings what a link leads to, and puts it where it belongs. One link is followed once at a time. */
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
  const words = link.getAttribute("aria-label");
  link.classList.add("loading");
  link.setAttribute("aria-busy", "true");
  try {
    const part = await fragment(link.href);
    // The keyboard stays where it was: at the first thing that came.
    const hadFocus = place.contains(document.activeElement);
    const first = part.querySelector("tbody.gap") && link.dataset.load === "gap" ? part.querySelector("tbody.gap") : part;
    const next = first === part ? part.firstElementChild : first;
    place.replaceWith(first);
    watch(next?.parentElement ?? document);
    if (hadFocus && next) focusOn(next.querySelector?.("a.step, a[data-load], a") ?? next);
    return true;
  } catch (problem) {
    link.classList.remove("loading");
    link.removeAttribute("aria-busy");
    if (words) link.setAttribute("aria-label", words);
    say(problem.message, "error");
    return false;
  }
}

/** What a link's answer stands in for. */
const places = { rows: ".later, .more", at: ".later, .more", gap: "tbody.gap", line: "a.long", files: ".more-files" };

function focusOn(element) {
  if (!element.matches("a, button")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

/* What comes near is brought, one after the other, so that a fast scroll does not ask for everything at once. */

const near = new Set();
let isBusy = false;
const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) near.add(entry.target);
      else near.delete(entry.target);
    }
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
    const link = place.querySelector("a[data-load]");
    // What could not be brought waits for a press; asking again by itself would never end.
    if (link?.isConnected) await load(link);
  }
  isBusy = false;
}

function next() {
  for (const place of near) {
    if (place.isConnected && !place.closest("details:not([open])")) return place;
    if (!place.isConnected) near.delete(place);
  }
  return undefined;
}

/** Looks out for what comes by itself: the rest of a file, and files for which there was no room. */
function watch(root) {
  for (const place of root.querySelectorAll(".diff-file .chunk ~ .more, .more.eager, .more-files")) observer.observe(place);
}

/* Places: `#f3-R120` may be on a part that is not here yet. */

export async function lead(anchor) {
  const match = /^(f\d+)(?:-([LR]\d+))?$/.exec(anchor);
  if (!match) return reveal(document.getElementById(anchor));
  const [, name, at] = match;
  for (let tries = 0; tries < 40; tries += 1) {
    const target = document.getElementById(anchor);
    if (target) return reveal(target);
    const file = document.getElementById(name);
    if (!file) {
      const more = document.querySelector(".more-files a[data-load]");
      if (!more || !(await load(more))) return false;
      continue;
    }
    file.open = true;
    if (!at || !(await around(file, at))) return reveal(file);
  }
  return false;
}

/** Brings the part of a file with a line; the first place that has it knows. */
async function around(file, at) {
  for (const link of file.querySelectorAll(".more a[data-load='rows']")) {
    const address = new URL(link.href, location.href);
    address.searchParams.set("at", at);
    const before = link.href;
    link.href = address.href;
    const place = link.closest(places.rows);
    if (!(await load(link))) {
      link.href = before;
      continue;
    }
    if (!place.isConnected && document.getElementById(`${file.id}-${at}`)) return true;
  }
  return Boolean(document.getElementById(`${file.id}-${at}`));
}

function reveal(target) {
  if (!target) return false;
  for (let box = target.closest("details:not([open])"); box; box = box.parentElement?.closest("details:not([open])")) {
    box.open = true;
  }
  target.scrollIntoView({ block: target.matches(".diff-file") ? "start" : "center" });
  document.querySelector(".lines tr.here")?.classList.remove("here");
  target.closest("tr")?.classList.add("here");
  return true;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-load], a[href^='#f']");
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (!link.closest(".diff") && !link.dataset.load) {
    if (!document.querySelector(".diff")) return;
  }
  const hash = link.hash.slice(1);
  if (link.dataset.load && link.dataset.load !== "at") {
    event.preventDefault();
    load(link);
  } else if (/^f\d+(-[LR]\d+)?$/.test(hash)) {
    event.preventDefault();
    history.pushState(null, "", `#${hash}`);
    lead(hash);
  }
});

addEventListener("popstate", () => location.hash && lead(location.hash.slice(1)));

/* Folding, and the list of files. */

function start(section) {
  const folds = section.querySelector(".folds");
  if (folds) {
    folds.hidden = false;
    folds.addEventListener("click", (event) => {
      const how = event.target.closest("[data-fold]")?.dataset.fold;
      if (!how) return;
      for (const file of section.querySelectorAll(".diff-file")) file.open = how === "open";
    });
  }
  const filter = section.querySelector(".file-filter");
  if (filter && section.querySelectorAll(".file-list li").length > 5) {
    filter.hidden = false;
    filter.addEventListener("input", (event) => {
      const wanted = event.target.value.toLowerCase();
      for (const item of section.querySelectorAll(".file-list li")) {
        item.hidden = !item.textContent.toLowerCase().includes(wanted);
      }
    });
  }
  watch(section);
}

// Opening a folded file brings its lines.
document.addEventListener(
  "toggle",
  (event) => {
    const file = event.target;
    if (!file.matches?.(".diff-file") || !file.open) return;
    const link = file.querySelector(".later .more a[data-load]");
    if (link && !file.dataset.kept) load(link);
    work();
  },
  true,
);

for (const section of document.querySelectorAll(".diff")) start(section);
document.addEventListener("tollgate:diff", (event) => start(event.target));
if (location.hash.length > 1) lead(location.hash.slice(1));
