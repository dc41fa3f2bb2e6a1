// Ctrl-K: everything that can be done or gone to, by typing a part of its name.

import { api } from "./api.js";
import { giveFocusBack, make } from "./dialog.js";
import * as keys from "./keys.js";

const most = 12;

/** Opens the palette. */
export function open() {
  const dialog = make("dialog", { class: "palette", "aria-label": "Commands" });
  const input = make("input", { type: "text", role: "combobox", "aria-label": "Do or go to", "aria-controls": "palette-list", "aria-expanded": "true", "aria-autocomplete": "list", placeholder: "Do or go to …", autocomplete: "off", spellcheck: "false" });
  const list = make("ul", { id: "palette-list", role: "listbox", "aria-label": "Commands" });
  const state = make("p", { class: "help", role: "status" });
  dialog.append(input, list, state);
  document.body.append(dialog);
  const before = document.activeElement;
  const commands = known();
  let shown = [];
  let at = 0;
  let asked = 0;

  const choose = (index) => {
    const item = shown[index];
    if (!item) return;
    dialog.close();
    if (item.href) location.assign(item.href);
    else item.act();
  };
  const mark = (index) => {
    at = Math.max(0, Math.min(index, shown.length - 1));
    [...list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === at)));
    const item = list.children[at];
    if (item) input.setAttribute("aria-activedescendant", item.id);
    else input.removeAttribute("aria-activedescendant");
    item?.scrollIntoView({ block: "nearest" });
  };
  const fill = (items) => {
    shown = items;
    list.replaceChildren(...items.map(({ words, kind, key }, index) => {
      const item = make("li", { role: "option", id: `palette-${index}` });
      item.append(Object.assign(make("span", { dir: "auto", class: "ellipsis" }), { textContent: words }));
      item.append(Object.assign(make("span", { class: "muted tiny" }), { textContent: key ?? kind }));
      item.addEventListener("click", () => choose(index));
      return item;
    }));
    state.textContent = items.length ? "" : "Nothing has this in its name.";
    mark(0);
  };
  const search = async () => {
    const text = input.value.trim().toLowerCase();
    const fitting = commands.filter(({ words }) => words.toLowerCase().includes(text)).slice(0, most);
    fill(fitting);
    const project = document.body.dataset.project;
    if (!text || !project) return;
    const turn = ++asked;
    try {
      const query = new URLSearchParams({ q: text, limit: "8" });
      const { features } = await api("GET", `/api/projects/${project}/features?${query}`);
      if (turn !== asked) return;
      const found = features.map(({ id, title, firstLine }) => ({ words: title || firstLine || id, kind: "feature", href: `/projects/${project}/features/${id}` }));
      fill([...fitting, ...found].slice(0, most + 8));
    } catch (refused) {
      if (turn === asked) state.textContent = `Features cannot be searched: ${refused.detail ?? refused.message}`;
    }
  };
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      mark(at + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(at);
    }
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    giveFocusBack(before);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.showModal();
  search();
  input.focus();
}

/** Sections, projects and whatever a key does here. */
function known() {
  const links = [...document.querySelectorAll(".bar nav a, #projects ul a")];
  const places = links.map((link) => ({ words: link.textContent.trim(), kind: link.closest("nav") ? "section" : "project", href: link.href }));
  const acts = keys.all().filter(({ words }) => !/^(Show this list|Go to:)/.test(words));
  return [...acts.map(({ words, key, act }) => ({ words, key, act })), ...places];
}
