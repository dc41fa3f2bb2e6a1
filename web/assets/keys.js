// The keyboard. Every shortcut is registered here with its words, and `?` shows them all.

import { make, show } from "./dialog.js";

const known = new Map();

/** Lets a key do something. `key` is what the browser calls it: "j", "?", "Enter", "Escape". `scope` heads the list. */
export function add(key, words, act, scope = "This page") {
  known.set(key, { words, act, scope });
}

/** Shows what every key does. */
export function help() {
  const content = document.createElement("div");
  const scopes = Map.groupBy ? Map.groupBy(known, ([, { scope }]) => scope) : grouped();
  for (const [scope, entries] of scopes) {
    const list = make("dl", { class: "key-list" });
    const shown = new Map();
    for (const [key, { words }] of entries) shown.set(words, [...(shown.get(words) ?? []), key]);
    for (const [words, keys] of shown) {
      const term = document.createElement("dt");
      keys.forEach((key, index) => {
        if (index) term.append(" ");
        term.append(Object.assign(document.createElement("kbd"), { textContent: named(key) }));
      });
      list.append(term, Object.assign(document.createElement("dd"), { textContent: words }));
    }
    content.append(Object.assign(document.createElement("h3"), { textContent: scope }), list);
  }
  show("Keyboard shortcuts", content);
}

function grouped() {
  const scopes = new Map();
  for (const entry of known) scopes.set(entry[1].scope, [...(scopes.get(entry[1].scope) ?? []), entry]);
  return scopes;
}

function named(key) {
  return { Escape: "Esc", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" }[key] ?? key;
}

/** True where typing belongs to a field, and no key is ours. */
function isTyping(target) {
  return target.closest?.("input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select, [contenteditable]") !== null;
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
  const isPressed = event.key === "Enter" && target.closest("a, button, summary, [role=button]");
  const entry = isPressed ? null : known.get(event.key);
  if (!entry) return;
  event.preventDefault();
  entry.act(event);
});
