// The keyboard. Every shortcut is registered here with its words; `?` shows them all and lets them be changed.

import { make, show } from "./dialog.js";

const store = "tollgate:keys";
/** By the key a shortcut has unless somebody gave it another. */
const known = new Map();
/** Keys that people chose, by the key they replace. */
let chosen = read();

/** Lets a key do something. `key` is what the browser calls it: "j", "?", "Enter", "Escape". `scope` heads the list. */
export function add(key, words, act, scope = "This page") {
  known.set(key, { words, act, scope });
}

/** Everything that can be done by a key: what it is and how to do it. */
export function all() {
  return [...known].map(([key, { words, act, scope }]) => ({ key: current(key), words, act, scope }));
}

/** Shows what every key does, and lets another key do it. */
export function help() {
  const content = document.createElement("div");
  const state = make("p", { class: "help", role: "status" });
  fill(content, state);
  const reset = button("Use the usual keys again", () => {
    chosen = {};
    write();
    fill(content, state);
    state.textContent = "All keys are as usual again.";
  });
  const whole = document.createElement("div");
  whole.append(content, reset, state);
  show("Keyboard shortcuts", whole);
}

function fill(content, state) {
  const scopes = new Map();
  for (const [key, { words, scope }] of known) scopes.set(scope, [...(scopes.get(scope) ?? []), [key, words]]);
  content.replaceChildren();
  for (const [scope, entries] of scopes) {
    const list = make("dl", { class: "key-list" });
    for (const [key, words] of entries) {
      const change = button(named(current(key)), () => wait(change, key, words, content, state));
      change.className = "key";
      change.setAttribute("aria-label", `${named(current(key))}: ${words}. Press to choose another key.`);
      const term = document.createElement("dt");
      term.append(change);
      list.append(term, Object.assign(document.createElement("dd"), { textContent: words }));
    }
    content.append(Object.assign(document.createElement("h3"), { textContent: scope }), list);
  }
}

/** Takes the next key for a shortcut, unless it has another meaning already. */
function wait(element, key, words, content, state) {
  element.textContent = "press a key";
  state.textContent = `Press the new key for “${words}”, or Escape to leave it as it is.`;
  element.addEventListener("keydown", (event) => {
    if (["Shift", "Control", "Alt", "Meta", "Tab"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const wanted = plain(event.key);
    const other = [...known].find(([usual]) => usual !== key && current(usual) === wanted);
    if (event.key === "Escape") state.textContent = "Nothing was changed.";
    else if (other) state.textContent = `“${named(wanted)}” is taken: ${other[1].words}.`;
    else {
      chosen[key] = wanted;
      write();
      state.textContent = `“${named(wanted)}”: ${words}.`;
    }
    const at = [...content.querySelectorAll("button.key")].indexOf(element);
    fill(content, state);
    content.querySelectorAll("button.key")[at]?.focus();
  }, { once: true });
}

function current(key) {
  return chosen[key] ?? key;
}

function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(store) ?? "{}");
    return Object.fromEntries(Object.entries(kept).filter((pair) => pair.every((key) => typeof key === "string")));
  } catch {
    return {};
  }
}

function write() {
  localStorage.setItem(store, JSON.stringify(chosen));
}

/** A letter is the same with and without the shift key. */
function plain(key) {
  return /^[A-Z]$/.test(key) ? key.toLowerCase() : key;
}

function named(key) {
  return { Escape: "Esc", " ": "Space", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" }[key] ?? key;
}

function button(words, act) {
  const button = Object.assign(make("button", { type: "button", class: "button small" }), { textContent: words });
  button.addEventListener("click", act);
  return button;
}

/** True where typing belongs to a field, and no key is ours. A field of a dialog that was just closed still has the focus. */
function isTyping(target) {
  const fields = "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select, [contenteditable]";
  return target.closest(fields)?.checkVisibility() ?? false;
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (isTyping(target)) {
    if (event.key === "Escape") target.blur();
    return;
  }
  // Enter and Space press what has the focus.
  const isPressed = ["Enter", " "].includes(event.key) && target.closest("a, button, summary, [role=button]");
  const wanted = plain(event.key);
  const entry = isPressed ? null : [...known].find(([key]) => current(key) === wanted)?.[1];
  if (!entry) return;
  event.preventDefault();
  entry.act(event);
});
