// The board, alive: cards come, go and move as things happen; people drag them, or press keys.

import { fragment } from "./fragment.js";
import { isLost, listen } from "./live.js";
import { say } from "./toast.js";
import * as keys from "./keys.js";
import { act, chooseAct, place as placeOf } from "./board-acts.js";
import { setUpAdd } from "./board-add.js";

const area = document.getElementById("board");
const form = document.getElementById("search");
const project = area.dataset.project;
/** More cards than this at once are not asked for one by one. */
const many = 12;

document.documentElement.dataset.script = "";

/** Features whose cards are to be read anew. */
const stale = new Set();
let timer = 0;
let isReading = false;
/** The card to be shown to whoever made it. */
let revealed = "";
/** True when something was missed; it is read as soon as the server is there again. */
let isBehind = false;
/** The card in somebody's hand, and whether a button of the mouse is down on one. */
let dragged = null;
let isPressed = false;
/** True when the whole board is to be read as soon as nothing is dragged. */
let isDue = false;
/** Counts the readings of the whole board: only the last one is shown. */
let turn = 0;

live();
searching();
pressing();
dragging();
keyboard();
setUpAdd(project, (feature) => refresh(feature, { reveal: true }));

// What happens.

function live() {
  const silent = ["feature:agent-output"];
  listen({
    project,
    onEvent: ({ type, payload }) => {
      if (silent.includes(type)) return;
      if (payload?.featureId) refresh(payload.featureId);
      else if (type.startsWith("feature:") || type.startsWith("project:")) refreshAll();
    },
    onResync: refreshAll,
  });
}

/** Reads a card anew, soon: several events of one feature come together. */
function refresh(feature, { reveal = false } = {}) {
  stale.add(feature);
  if (reveal) revealed = feature;
  clearTimeout(timer);
  timer = setTimeout(read, 60);
}

async function read() {
  // A card in somebody's hand stays what it is.
  if (isReading || isHeld()) return;
  isReading = true;
  try {
    while (stale.size && !isHeld()) {
      if (stale.size > many) {
        stale.clear();
        await readAll();
        continue;
      }
      const [feature] = stale;
      stale.delete(feature);
      const part = await fragment(`/projects/${project}/features/${encodeURIComponent(feature)}/card${location.search}`);
      put(feature, part.querySelector("li[data-feature]"), part.querySelector(".counts"));
    }
  } catch (refused) {
    behind("The board could not be brought up to date", refused);
  } finally {
    isReading = false;
  }
}

function refreshAll() {
  isDue = isHeld();
  if (isDue) return;
  readAll().catch((refused) => behind("The board could not be read", refused));
}

function behind(words, refused) {
  isBehind = true;
  // A server that does not answer is told of on top of the page.
  if (!isLost() && refused.status !== 0) say(`${words}: ${refused.detail ?? refused.message}`, "error", { hint: refused.hint });
}

document.addEventListener("tollgate:found", () => {
  if (!isBehind) return;
  isBehind = false;
  refreshAll();
});

async function readAll() {
  const mine = ++turn;
  area.setAttribute("aria-busy", "true");
  try {
    const part = await fragment(`/projects/${project}/board${location.search}`);
    if (mine !== turn) return;
    const focused = from(document.activeElement?.closest("[data-feature]"));
    const scrolled = new Map([...area.querySelectorAll(".column")].map((column) => [column.dataset.column, column.querySelector(".lanes").scrollTop]));
    const across = area.querySelector("#columns")?.scrollLeft ?? 0;
    area.replaceChildren(part);
    for (const column of area.querySelectorAll(".column")) column.querySelector(".lanes").scrollTop = scrolled.get(column.dataset.column) ?? 0;
    area.querySelector("#columns").scrollLeft = across;
    const next = focused.find((feature) => card(feature));
    if (next) link(card(next)).focus({ preventScroll: true });
    document.dispatchEvent(new Event("tollgate:times"));
  } finally {
    if (mine === turn) area.removeAttribute("aria-busy");
  }
}

/** A card and those around it, by name: where the focus goes when it is no more. */
function from(element) {
  if (!element) return [];
  const all = [...element.parentElement.children];
  const at = all.indexOf(element);
  return [...all.slice(at), ...all.slice(0, at).reverse()].map(({ dataset }) => dataset.feature);
}

/** Puts a card where it belongs now; none takes it away. */
function put(feature, fresh, counts) {
  const old = card(feature);
  const focused = old?.contains(document.activeElement) ? focusable(old).indexOf(document.activeElement) : -1;
  const lane = fresh && laneOf(fresh.dataset.place);
  if (fresh && !lane) {
    // A column that is not there yet: of another program, or of a step that is new.
    const isOnly = new URLSearchParams(location.search).has("status");
    if (!isOnly) return void stale.add(feature) || refreshAll();
  }
  const isFolded = lane?.closest(".column").classList.contains("folded");
  // The first of what lies folded: there is something to show now.
  if (isFolded && !lane.closest(".column").querySelector(".unfold")) return refreshAll();
  if (!fresh || !lane || isFolded) {
    const neighbour = old?.nextElementSibling ?? old?.previousElementSibling;
    old?.remove();
    // Whoever was on it goes on from there.
    if (focused >= 0) (link(neighbour) ?? form.elements.q).focus({ preventScroll: true });
  } else {
    const moved = old?.dataset.place !== fresh.dataset.place;
    const stays = old && !moved && order(old, fresh, lane) === 0;
    if (stays && isSame(old, fresh)) fresh = old;
    else if (stays) old.replaceWith(fresh);
    else {
      old?.remove();
      insert(lane, fresh);
    }
    if (moved) fresh.dataset.fresh = "";
    if (focused >= 0) (focusable(fresh)[focused] ?? link(fresh)).focus({ preventScroll: !moved });
    if (revealed === feature) {
      revealed = "";
      fresh.scrollIntoView({ block: "nearest", inline: "nearest" });
      link(fresh).focus();
    }
  }
  if (counts) count(counts);
  document.dispatchEvent(new Event("tollgate:times"));
}

/** True when two cards say the same: what they are is left alone then, in case somebody is about to use it. */
function isSame(one, other) {
  const [a, b] = [one, other].map((element) => {
    const copy = element.cloneNode(true);
    for (const name of ["fresh", "pending", "refused", "dragged"]) delete copy.dataset[name];
    for (const time of copy.querySelectorAll("time")) {
      time.textContent = "";
      time.removeAttribute("title");
    }
    return copy;
  });
  return a.isEqualNode(b);
}

/** Which of two cards of a lane comes first: as the server orders them. */
function order(one, other, lane) {
  const by = "recent" in lane.dataset ? [["since", -1]] : [["priority", 1], ["created", 1]];
  for (const [name, sign] of by) {
    const difference = sign * (Number(one.dataset[name]) - Number(other.dataset[name]));
    if (difference) return difference;
  }
  if (one.dataset.feature === other.dataset.feature) return 0;
  const sign = "recent" in lane.dataset ? -1 : 1;
  return sign * (one.dataset.feature < other.dataset.feature ? -1 : 1);
}

function insert(lane, fresh) {
  const cards = lane.querySelector(".cards");
  const after = [...cards.children].find((other) => order(fresh, other, lane) < 0);
  if (after) return after.before(fresh);
  // Behind the last one that is shown there may be others before it.
  if (lane.querySelector("[data-part]") && cards.children.length) return;
  cards.append(fresh);
}

function count(counts) {
  const isEmpty = counts.dataset.fitting === "0";
  // With the first and the last card the page says something else.
  if (isEmpty !== (area.querySelector(":scope > .empty") !== null)) refreshAll();
  area.querySelector("#found-words").textContent = counts.dataset.found;
  for (const { dataset } of counts.querySelectorAll("[data-waits]")) {
    const chip = area.querySelector(`[data-waiting="${CSS.escape(dataset.waits)}"]`);
    if (!chip) continue;
    chip.hidden = dataset.n === "0";
    chip.querySelector(".waiting").textContent = dataset.n;
  }
  for (const { dataset } of counts.querySelectorAll("[data-place]")) {
    for (const element of area.querySelectorAll(`[data-n="${CSS.escape(dataset.place)}"]`)) element.textContent = dataset.n;
    const lane = laneOf(dataset.place);
    const more = lane?.querySelector("[data-part]");
    if (!more) continue;
    const left = Number(dataset.n) - lane.querySelector(".cards").children.length;
    if (left <= 0) more.closest(".lane-more").remove();
    else more.textContent = `Show ${Math.min(left, 50)} more of ${Number(dataset.n).toLocaleString("en")}`;
  }
}

function isHeld() {
  return dragged !== null || isPressed;
}

function card(feature) {
  return document.getElementById(`card-${feature}`);
}

function laneOf(place) {
  return area.querySelector(`[data-lane="${CSS.escape(place)}"]`);
}

function link(element) {
  return element?.querySelector(".card-title a");
}

function focusable(element) {
  return [...element.querySelectorAll("a, button")];
}

// What is looked for.

function searching() {
  let wait = 0;
  const go = (isTyped) => {
    const pairs = [...new FormData(form)].filter(([, value]) => value.trim());
    const query = new URLSearchParams(pairs).toString();
    const address = query ? `?${query}` : location.pathname;
    // One step back for what was chosen, none for each letter.
    history[isTyped ? "replaceState" : "pushState"](null, "", address);
    refreshAll();
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); go(false); });
  form.addEventListener("change", (event) => { if (event.target.type !== "search") go(false); });
  form.elements.q.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => go(true), 200);
  });
  const fill = () => {
    const query = new URLSearchParams(location.search);
    for (const field of form.elements) {
      if (!field.name) continue;
      if (field.type === "checkbox") field.checked = query.has(field.name);
      else field.value = query.get(field.name) ?? "";
    }
  };
  addEventListener("popstate", () => { fill(); refreshAll(); });
  area.addEventListener("click", (event) => {
    const clear = event.target.closest("#clear, .empty a.button");
    if (!clear) return;
    event.preventDefault();
    history.pushState(null, "", location.pathname);
    fill();
    form.elements.q.focus();
    refreshAll();
  });
}

// What people press.

function pressing() {
  area.addEventListener("click", async (event) => {
    const target = event.target.closest("button, a");
    const element = target?.closest("[data-feature]");
    if (target?.matches("[data-part], .unfold")) {
      event.preventDefault();
      return more(target);
    }
    if (!element || !target.matches("button")) return;
    if (target.matches("[data-menu]")) return choose(element);
    if (target.dataset.act) await doAct(element, target.dataset.act, target.dataset.to);
  });
}

async function choose(element) {
  const chosen = await chooseAct(project, element.dataset.feature, link(element).textContent);
  if (chosen) await doAct(element, chosen.act, chosen.to);
}

/** Loads the rest of a lane, or what lies folded. */
async function more(target) {
  const lane = target.closest(".lane") ?? target.closest(".column").querySelector(".lane");
  const path = target.dataset.part ?? `/projects/${project}/columns/${lane.dataset.lane}${location.search}`;
  target.setAttribute("aria-disabled", "true");
  try {
    const part = await fragment(path);
    const known = new Set([...lane.querySelectorAll("[data-feature]")].map(({ dataset }) => dataset.feature));
    const fresh = [...part.querySelectorAll("[data-feature]")].filter(({ dataset }) => !known.has(dataset.feature));
    lane.querySelector(".cards").append(...fresh);
    lane.querySelector(".lane-more")?.remove();
    const rest = part.querySelector(".lane-more");
    if (rest) lane.append(rest);
    lane.closest(".column").classList.remove("folded");
    if (target.matches(".unfold")) target.remove();
    document.dispatchEvent(new Event("tollgate:times"));
    link(fresh[0])?.focus();
  } catch (refused) {
    target.removeAttribute("aria-disabled");
    say(`The cards could not be read: ${refused.detail ?? refused.message}`, "error", { hint: refused.hint });
  }
}

/** Does something to a feature; the card shows it at once, and goes back if it is refused. */
async function doAct(element, name, to) {
  const { feature } = element.dataset;
  const before = { lane: element.closest(".lane"), next: element.nextElementSibling };
  const title = link(element).textContent;
  await act({
    project,
    feature,
    title,
    name,
    to,
    begin: () => {
      const current = card(feature);
      if (!current) return;
      current.dataset.pending = "";
      const lane = to && firstLane(to);
      if (lane && !lane.contains(current) && !lane.closest(".folded")) lane.querySelector(".cards").prepend(current);
    },
    refused: () => {
      const current = card(feature);
      if (!current) return;
      delete current.dataset.pending;
      if (before.lane.isConnected && !before.lane.contains(current)) {
        if (before.next?.isConnected) before.next.before(current);
        else before.lane.querySelector(".cards").append(current);
      }
      current.dataset.refused = "";
      setTimeout(() => delete current.dataset.refused, 1500);
      link(current)?.focus();
    },
    done: () => refresh(feature),
  });
}

function firstLane(status) {
  return area.querySelector(`.column[data-status="${CSS.escape(status)}"] .lane`);
}

// What people drag.

function dragging() {
  const columns = () => [...area.querySelectorAll(".column[data-column]")];
  const clear = () => {
    for (const column of columns()) column.classList.remove("may", "may-not", "over");
    if (dragged) delete dragged.dataset.dragged;
    dragged = null;
    release();
  };
  const release = () => {
    isPressed = false;
    if (isDue) refreshAll();
    else if (stale.size) read();
  };
  area.addEventListener("pointerdown", (event) => { isPressed = event.target.closest("[data-feature]") !== null; });
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, () => { if (isPressed && !dragged) setTimeout(release); });
  area.addEventListener("dragstart", (event) => {
    const element = event.target.closest?.("[data-feature]");
    if (!element || isLost()) return event.preventDefault();
    dragged = element;
    event.dataTransfer.setData("text/plain", link(element).textContent);
    event.dataTransfer.effectAllowed = "move";
    // After the picture of the card is taken.
    requestAnimationFrame(() => { if (dragged) dragged.dataset.dragged = ""; });
    const ways = placeOf(element);
    for (const column of columns()) {
      if (column.contains(element)) continue;
      column.classList.add(ways.has(column.dataset.status) ? "may" : "may-not");
    }
  });
  const over = (event) => {
    const column = event.target.closest?.(".column[data-column]");
    if (!dragged || !column) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "move";
    for (const other of columns()) other.classList.toggle("over", other === column && !column.contains(dragged));
  };
  // Whoever lets go at once has entered, and not yet been over anything.
  for (const kind of ["dragenter", "dragover"]) area.addEventListener(kind, over);
  area.addEventListener("drop", async (event) => {
    const column = event.target.closest?.(".column[data-column]");
    const element = dragged;
    if (!element || !column) return;
    event.preventDefault();
    clear();
    if (column.contains(element)) return;
    await drop(element, column);
  });
  area.addEventListener("dragend", clear);
}

/** A card was dropped on a column: does what leads there, or says why nothing does. */
async function drop(element, column) {
  const { status } = column.dataset;
  const name = placeOf(element).get(status);
  if (name) return doAct(element, name, status);
  element.dataset.refused = "";
  setTimeout(() => delete element.dataset.refused, 1500);
  const title = link(element).textContent;
  const where = column.querySelector("h2 span").textContent;
  let why = "that column belongs to another program";
  if (status) {
    try {
      const part = await fragment(`/projects/${project}/features/${element.dataset.feature}/acts`);
      const choice = part.querySelector(`button[data-to="${CSS.escape(status)}"]`);
      why = choice?.closest("li").querySelector(".help")?.textContent ?? "it is there already";
    } catch (refused) {
      why = refused.detail ?? refused.message;
    }
  }
  say(`“${title}” cannot go to ${where}: ${why}`, "error");
}

// The keyboard.

function keyboard() {
  const lanes = () => [...area.querySelectorAll(".column")].map((column) => [...column.querySelectorAll("[data-feature]")]).filter((cards) => cards.length);
  const current = () => document.activeElement?.closest?.("[data-feature]");
  const go = (down, right) => () => {
    const all = lanes();
    if (!all.length) return;
    const here = current();
    let column = all.findIndex((cards) => cards.includes(here));
    if (column < 0) return focus(all[0][0]);
    let row = all[column].indexOf(here) + down;
    column = Math.max(0, Math.min(all.length - 1, column + right));
    row = Math.max(0, Math.min(all[column].length - 1, row));
    focus(all[column][row]);
  };
  const focus = (element) => {
    link(element).focus();
    element.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  for (const [key, arrow, down, right, words] of [
    ["j", "ArrowDown", 1, 0, "Next card"],
    ["k", "ArrowUp", -1, 0, "Card before"],
    ["h", "ArrowLeft", 0, -1, "Column to the left"],
    ["l", "ArrowRight", 0, 1, "Column to the right"],
  ]) {
    keys.add(key, words, go(down, right));
    keys.add(arrow, words, go(down, right));
  }
  const on = (then) => () => {
    const element = current();
    if (element) then(element);
    else say("Choose a card first, with j and k.");
  };
  keys.add("Enter", "Open the card", on((element) => link(element).click()));
  keys.add(".", "What can be done to the card", on(choose));
  keys.add("n", "Add a feature", () => document.getElementById("add").click());
  keys.add("s", "Start the card, or stop it", on((element) => {
    const button = element.querySelector("button[data-act=start], button[data-act=stop]");
    if (button) button.click();
    else choose(element);
  }));
  keys.add("r", "Review or try again now", on((element) => doAct(element, "retry")));
  keys.add("a", "Approve the card", on((element) => doAct(element, "approve")));
  keys.add("x", "Send the card back", on((element) => doAct(element, "reject")));
  keys.add("f", "Filter", () => document.getElementById("status").focus());
  keys.add("u", "Only what needs a person, or all", () => form.elements.needs.click());
}
