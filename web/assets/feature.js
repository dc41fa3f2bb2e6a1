// The page of a feature: what happens shows by itself, and what people do goes to the API.

import { api } from "./api.js";
import { act } from "./board-acts.js";
import { ask, make, show } from "./dialog.js";
import { lead } from "./diff.js";
import { edit } from "./feature-edit.js";
import { Output } from "./feature-output.js";
import { fragment } from "./fragment.js";
import * as keys from "./keys.js";
import { isLost, listen } from "./live.js";
import { say, sayRefused } from "./toast.js";

const root = document.getElementById("feature");
const { project, feature, base } = root.dataset;
const route = `/api${base}`;
const output = new Output(route);

// What needs a script is there for those who have one, also in parts that come later.
const wake = () => root.querySelectorAll("[data-needs-script][hidden]").forEach((element) => { element.hidden = false; });
new MutationObserver(wake).observe(root, { childList: true, subtree: true });
wake();

/* Parts that change by themselves. */

let timer = 0;
let isGone = false;
let isPressed = false;
for (const [kind, is] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]]) {
  addEventListener(kind, () => { isPressed = is; }, true);
}

/** Waits until nothing is pressed: what is replaced in the middle of a click is not clicked. */
async function released() {
  while (isPressed) await new Promise((go) => addEventListener("pointerup", () => setTimeout(go), { once: true }));
}

/** Asks for the parts anew, once for many events. */
function soon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, 120);
}

let isRefreshing = false;
let isBehind = false;

/** Asks once at a time, so that no answer comes after a newer one; whoever asks meanwhile gets another. */
async function refresh() {
  isBehind = true;
  if (isRefreshing) return;
  isRefreshing = true;
  while (isBehind && !isGone) {
    isBehind = false;
    await refreshOnce();
  }
  isRefreshing = false;
}

async function refreshOnce() {
  const before = head();
  const { tail } = root.dataset;
  try {
    const parts = await fragment(`${base}/part/all${tail}`);
    await released();
    // Another filter was chosen meanwhile, and is asked for next.
    if (tail !== root.dataset.tail) return;
    replace(parts);
  } catch (refused) {
    if (refused.status === 404) return gone();
    return sayRefused(refused, "The page is not up to date: ");
  }
  const after = head();
  if (before.shown !== after.shown || before.reviewed !== after.reviewed) await changes();
  else marks();
}

async function changes() {
  try {
    replace(await fragment(`${base}/part/changes${root.dataset.tail}`));
    document.querySelector(".diff")?.dispatchEvent(new CustomEvent("tollgate:diff", { bubbles: true }));
  } catch (refused) {
    sayRefused(refused, "The change is not up to date: ");
  }
}

function head() {
  const { shown, reviewed, rev, iteration, work } = document.getElementById("part-head").dataset;
  return { shown, reviewed, rev, iteration, work };
}

function gone() {
  isGone = true;
  say("This feature is not on the board any more.", "error", { action: "To the board", act: toBoard });
  for (const button of root.querySelectorAll("[data-act]")) button.disabled = true;
}

/** Puts parts in place of those with the same name; what was open stays open, and the keyboard where it was. */
function replace(parts) {
  const kept = output.place;
  const focus = remembered(document.activeElement);
  for (const part of [...parts.children]) {
    const old = part.id && document.getElementById(part.id);
    if (!old) continue;
    const isOpen = new Map([...old.querySelectorAll("details[data-key]")].map((box) => [box.dataset.key, box.open]));
    for (const box of part.querySelectorAll("details[data-key]")) {
      if (isOpen.has(box.dataset.key)) box.open = isOpen.get(box.dataset.key);
    }
    const scroll = old.scrollTop;
    const audit = old.querySelector(".audit");
    const audits = part.querySelector("#audit");
    if (audit && audits?.dataset.load === old.querySelector("#audit")?.dataset.load) {
      audits.querySelector(".audit-place").replaceChildren(audit);
    }
    old.replaceWith(part);
    part.scrollTop = scroll;
  }
  mark();
  output.adopt(kept);
  if (focus && document.activeElement === document.body) focus()?.focus({ preventScroll: true });
  document.dispatchEvent(new CustomEvent("tollgate:times"));
}

/** How to find what has the focus once its part is another. */
function remembered(element) {
  if (!element || !root.contains(element)) return null;
  if (element.id) return () => document.getElementById(element.id);
  const finding = element.closest("[data-fingerprint]")?.dataset.fingerprint;
  const name = element.dataset.act;
  if (finding) return () => document.querySelector(`#part-findings [data-fingerprint="${CSS.escape(finding)}"] ${name ? ".fi-acts button" : "summary"}`);
  if (name) return () => document.querySelector(`#part-head [data-act="${CSS.escape(name)}"]`);
  return null;
}

/** What was decided in the list shows in the diff, too. */
function marks() {
  for (const inline of document.querySelectorAll("#part-changes .finding[data-fingerprint]")) {
    const print = inline.dataset.fingerprint;
    const item = print && document.querySelector(`#part-findings [data-fingerprint="${CSS.escape(print)}"]`);
    if (!item) continue;
    const isDismissed = item.querySelector("[data-act=restore]") !== null;
    inline.classList.toggle("dismissed", isDismissed);
    const button = inline.querySelector(isDismissed ? "[data-act=dismiss]" : "[data-act=restore]");
    if (!button) continue;
    button.dataset.act = isDismissed ? "restore" : "dismiss";
    button.textContent = isDismissed ? "Count it again" : "Dismiss…";
  }
}

/** Shows the end of an answer while its reviewer writes it. */
function live({ reviewer, message }) {
  const box = document.getElementById("live-review");
  if (!box) return;
  box.hidden = false;
  box.querySelector("summary").textContent = `${reviewer} answers`;
  const text = box.querySelector("pre");
  text.textContent = (text.textContent + message).slice(-20000);
  text.scrollTop = text.scrollHeight;
}

listen({
  project,
  onEvent({ type, payload }) {
    if (payload?.featureId !== feature) return;
    if (type === "feature:agent-output") {
      if (!output.push(payload)) soon();
    } else if (type === "feature:code-review-progress") {
      const progress = document.getElementById("progress");
      if (payload.reviewer) live(payload);
      else if (progress) progress.textContent = payload.message;
    } else {
      soon();
    }
  },
  async onResync() {
    await refresh();
    await changes();
    output.later(() => output.fill());
  },
});

/* What people do. */

const acts = {
  "move-completed": () => change("move", "completed"),
  "move-backlog": () => change("move", "backlog"),
  edit: async () => (await edit(route)) && soon(),
  clean: () => sure("Remove the work tree", "Its branch stays. Work that is not committed keeps the work tree where it is.", "Remove", () => api("POST", `${route}/clean`), "Its work tree is removed."),
  delete: () => sure("Delete the feature", "It goes off the board and its folder is put aside. Its branch and its history stay.", "Delete", async () => {
    isGone = true;
    await api("DELETE", route);
    toBoard();
  }, "Deleted."),
  "copy-all": () => copy(`${route}/iterations/${head().shown}/prompt`),
};

function change(name, to) {
  const title = root.dataset.title;
  return act({ project, feature, title, name, to, begin: () => busy(true), refused: () => busy(false), done: () => { busy(false); soon(); } });
}

function busy(is) {
  document.getElementById("part-head").setAttribute("aria-busy", String(is));
}

async function sure(title, text, action, work, done) {
  if ((await ask({ title, text: `${root.dataset.title}\n${text}`, action, danger: true })) === null) return;
  try {
    await work();
    say(done);
    soon();
  } catch (refused) {
    isGone = false;
    sayRefused(refused);
  }
}

async function copy(address) {
  let text;
  try {
    text = await api("GET", address);
    await navigator.clipboard.writeText(text);
    say("Copied. Paste it where an agent works.");
  } catch (refused) {
    if (text === undefined) return sayRefused(refused);
    // Without the clipboard, e.g. over plain HTTP, it can be copied by hand.
    const area = Object.assign(make("textarea", { readonly: "", rows: "14", "aria-label": "The findings as a task" }), { value: text });
    show("Copy as prompt", area);
    area.focus();
    area.select();
  }
}

async function dismiss(finding, title) {
  const number = head().shown;
  const draft = `tollgate:dismiss:${route}:${finding}`;
  const reason = await ask({ title: `Dismiss ${finding}`, text: title, label: "Reason", placeholder: "Why it does not count. It is kept, and shown by every review that leaves it out.", action: "Dismiss", draft });
  if (reason === null) return;
  try {
    const { fingerprint } = await api("POST", `${route}/iterations/${number}/findings/${finding}/dismiss`, { reason });
    say(`${finding} is dismissed. It does not count in the next review.`, "ok", { action: "Undo", act: () => restore(fingerprint) });
    soon();
  } catch (refused) {
    sayRefused(refused);
  }
}

async function restore(fingerprint) {
  try {
    await api("DELETE", `${route}/dismissals/${fingerprint}`);
    say("It counts again, from the next review on.");
    soon();
  } catch (refused) {
    sayRefused(refused);
  }
}

/** Confirms a dismissal that an agent proposed, or rejects it. */
async function settle(fingerprint, decision) {
  try {
    await api("POST", `${route}/dismissals/${fingerprint}/${decision}`);
    if (decision === "confirm") say("The finding is dismissed. It does not count in the next review.", "ok", { action: "Undo", act: () => restore(fingerprint) });
    else say("The proposal is rejected. The finding counts.");
    soon();
  } catch (refused) {
    sayRefused(refused);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-act]");
  if (!button || !root.contains(button)) return;
  const name = button.dataset.act;
  const place = button.closest("[data-fingerprint]");
  if (place) {
    const title = place.dataset.title ?? place.querySelector(".finding-title")?.textContent ?? "";
    if (name === "dismiss") dismiss(place.dataset.finding, title);
    else if (name === "restore") restore(place.dataset.fingerprint);
    else if (name === "confirm-dismissal") settle(place.dataset.fingerprint, "confirm");
    else if (name === "reject-dismissal") settle(place.dataset.fingerprint, "reject");
    else if (name === "copy") copy(`${route}/iterations/${head().shown}/prompt?finding=${place.dataset.finding}`);
    return;
  }
  const menu = button.closest("details.menu");
  if (button.getAttribute("aria-disabled") === "true") return say(`Not now: ${button.dataset.why}.`);
  if (menu) menu.open = false;
  run(name);
});

function run(name) {
  return (acts[name] ?? (() => change(name)))();
}

/** Does what a key stands for, or says why not. */
function press(name) {
  if (isLost()) return;
  const button = document.querySelector(`#acts-menu [data-act="${name}"]`);
  if (button?.getAttribute("aria-disabled") === "true") return say(`Not now: ${button.dataset.why}.`);
  run(name);
}

/* Findings: filters without a new page, and a way from one to the next. */

function list(address) {
  const url = new URL(address, location.href);
  history.replaceState(null, "", url.pathname + url.search);
  root.dataset.tail = url.search;
  return refresh();
}

document.addEventListener("click", (event) => {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest?.("#part-findings a[href]");
  if (!link || link.dataset.goto !== undefined || !link.getAttribute("href").startsWith("/")) return;
  event.preventDefault();
  list(link.href);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-filter]")) {
    event.preventDefault();
    const pairs = [...new FormData(form)].filter(([, value]) => value !== "");
    list(`${base}?${new URLSearchParams(pairs)}`);
  } else if (form.matches("[data-compare]")) {
    event.preventDefault();
    compare(form);
  }
});

document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-filter], form[data-compare]");
  if (form && event.target.type !== "search") form.requestSubmit();
});

function compare(form) {
  const [one, other] = [form.querySelector("[data-one]").value, form.querySelector("[data-other]").value];
  if (one === other) return say("Choose two different iterations.");
  location.assign(`${base}?compare=${one},${other}`);
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-goto]");
  if (!link || event.button !== 0) return;
  event.preventDefault();
  event.stopPropagation();
  await reveal(link);
}, true);

/** Leads to a finding in the diff, which may have to be brought first. */
async function reveal(link) {
  const name = link.dataset.goto;
  if (!document.getElementById(name)) await lead(link.hash.slice(1));
  const inline = document.getElementById(name);
  if (inline) {
    await lead(name);
    inline.focus({ preventScroll: true });
  }
}

/** The finding to which the keys have led. */
let at = null;

function mark() {
  for (const item of document.querySelectorAll("#part-findings .fi")) {
    item.classList.toggle("here", at !== null && item.dataset.fingerprint === at);
  }
}

async function walk(step) {
  const items = [...document.querySelectorAll("#part-findings .fi")];
  if (!items.length) return say("There is no finding to go to.");
  const now = items.findIndex((item) => item.dataset.fingerprint && item.dataset.fingerprint === at);
  const next = items[(now < 0 ? (step > 0 ? 0 : items.length - 1) : now + step + items.length) % items.length];
  at = next.dataset.fingerprint || null;
  mark();
  next.classList.add("here");
  const group = next.closest("details.group");
  if (group) group.open = true;
  next.querySelector("summary").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  const link = next.querySelector("a[data-goto]");
  if (!link) {
    next.querySelector("details").open = true;
    return;
  }
  await reveal(link);
}

/* What comes only when it is asked for. */

document.addEventListener("toggle", async (event) => {
  const box = event.target;
  if (box.id !== "audit" || !box.open || box.querySelector(".audit")) return;
  const place = box.querySelector(".audit-place");
  place.classList.add("loading");
  try {
    place.replaceChildren(await fragment(box.dataset.load));
  } catch (refused) {
    sayRefused(refused);
  } finally {
    place.classList.remove("loading");
  }
}, true);

/* The keyboard. */

function toBoard() {
  location.assign(document.getElementById("to-board").href);
}

const click = (selector, why) => () => {
  const target = document.querySelector(selector);
  if (target) target.click();
  else say(why);
};

keys.add("n", "Next finding", () => walk(1));
keys.add("p", "Previous finding", () => walk(-1));
keys.add("u", "Unresolved findings only, or all", click("#open-only", "There is no finding."));
for (const number of [1, 2, 3]) {
  keys.add(String(number), `Iteration ${number}`, click(`.iterations a[data-number="${number}"]`, `Iteration ${number} has no review.`));
}
keys.add("c", "Compare the last two iterations", click("#compare", "There are no two reviews to compare."));
keys.add("d", "To the diff", () => {
  const place = document.getElementById("part-changes");
  place.scrollIntoView();
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
});
keys.add("a", "Approve anyway, with a reason", () => press("approve"));
keys.add("x", "Send back, with a note", () => press("reject"));
keys.add("r", "Retry, or review again", () => press("retry"));
keys.add("e", "Edit the feature", () => press("edit"));
keys.add(".", "Actions", () => {
  const menu = document.getElementById("acts-menu");
  menu.open = true;
  menu.querySelector("button:not([aria-disabled])")?.focus();
});
keys.add("Escape", "Back to the board", () => {
  // A menu is closed first.
  if (!document.querySelector("details.menu[open]")) toBoard();
});

output.adopt(null);
if (output.place) output.later(() => output.fill());
