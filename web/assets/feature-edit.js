// The editor of a feature. What was typed is kept until it is saved, also when somebody else was faster.

import { send } from "./api.js";
import { giveFocusBack, make } from "./dialog.js";
import { say, sayRefused } from "./toast.js";

const fields = [
  { name: "title", label: "Title", max: 500 },
  { name: "description", label: "Description", area: true, required: true, max: 200000, help: "List items, and sentences with “must” or “should”, are what the review checks one by one." },
  { name: "spec", label: "Specification", area: true, max: 500000 },
  { name: "category", label: "Group", max: 200, two: true },
  { name: "model", label: "Model", max: 200, two: true, help: "Empty for the default." },
  { name: "priority", label: "Priority", choices: { 1: "1, most urgent", 2: "2", 3: "3, least urgent" }, two: true },
  { name: "skipTests", label: "When it passes the gate", choices: { true: "a person looks at it", false: "it is verified" }, two: true },
  { name: "dependencies", label: "Comes after", help: "Names of features, separated by spaces." },
];

/** Opens the editor; `base` is where the feature is in the API. Gives back true when something was saved. */
export async function edit(base) {
  let known;
  try {
    known = await read(base);
  } catch (refused) {
    sayRefused(refused);
    return false;
  }
  const draft = `tollgate:edit:${base}`;
  const dialog = make("dialog", { class: "edit-dialog", "aria-labelledby": "edit-heading" });
  const form = make("form", { method: "dialog", novalidate: "" });
  form.append(Object.assign(make("h2", { id: "edit-heading" }), { textContent: "Edit the feature" }));
  const notice = make("div", { class: "banner warn", role: "alert", hidden: "" });
  form.append(notice);
  const typed = JSON.parse(sessionStorage.getItem(draft) ?? "null");
  const inputs = fill(form, typed ?? shown(known.feature));
  form.addEventListener("input", () => sessionStorage.setItem(draft, JSON.stringify(values(inputs))));
  if (typed) tell(notice, "This is what you typed before, which was not saved yet.", [["Start over", () => set(inputs, shown(known.feature), draft)]]);
  const actions = make("div", { class: "actions" });
  const cancel = Object.assign(make("button", { type: "button", class: "button" }), { textContent: "Cancel" });
  const save = Object.assign(make("button", { type: "submit", class: "button primary" }), { textContent: "Save" });
  actions.append(cancel, save);
  form.append(actions);
  dialog.append(form);
  document.body.append(dialog);
  const before = document.activeElement;
  return new Promise((resolve) => {
    let isSaved = false;
    cancel.addEventListener("click", () => {
      sessionStorage.removeItem(draft);
      dialog.close();
    });
    const store = async () => {
      const wrong = check(inputs);
      if (wrong) return wrong.focus();
      const changes = changed(shown(known.feature), values(inputs));
      save.disabled = true;
      try {
        if (Object.keys(changes).length) {
          const headers = { accept: "application/json", "content-type": "application/json", "if-match": known.etag };
          await send(base, { method: "PATCH", headers, body: JSON.stringify(changes), credentials: "same-origin" });
          say("Saved.");
        }
        sessionStorage.removeItem(draft);
        isSaved = true;
        dialog.close();
      } catch (refused) {
        if (refused.status !== 412) {
          tell(notice, refused.message);
        } else {
          const mine = known.feature;
          known = await read(base);
          conflict(notice, shown(mine), shown(known.feature), values(inputs), { over: store, theirs: () => set(inputs, shown(known.feature), draft) });
        }
      } finally {
        save.disabled = false;
      }
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      store();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      giveFocusBack(before);
      resolve(isSaved);
    });
    dialog.showModal();
    inputs.get("title").focus();
  });
}

async function read(base) {
  const response = await send(base, { headers: { accept: "application/json" }, credentials: "same-origin" });
  return { etag: response.headers.get("etag"), feature: await response.json() };
}

/** The fields of a feature as texts. */
function shown(feature) {
  const text = Object.fromEntries(fields.map(({ name }) => [name, String(feature[name] ?? "")]));
  text.dependencies = feature.dependencies.join(" ");
  return text;
}

function fill(form, values) {
  const inputs = new Map();
  const two = make("div", { class: "two" });
  for (const { name, label, area, choices, required, max, help, two: isNarrow } of fields) {
    const id = `edit-${name}`;
    const field = make("div", { class: "field" });
    field.append(Object.assign(make("label", { for: id }), { textContent: label }));
    const input = make(choices ? "select" : area ? "textarea" : "input", { id, dir: "auto", "aria-describedby": `${id}-help` });
    for (const [value, words] of Object.entries(choices ?? {})) {
      input.append(Object.assign(make("option", { value }), { textContent: words }));
    }
    if (max) input.maxLength = max;
    if (!choices && !area) input.type = "text";
    if (required) input.required = true;
    input.value = values[name] ?? "";
    field.append(input, Object.assign(make("p", { class: "help", id: `${id}-help` }), { textContent: help ?? "" }));
    (isNarrow ? two : form).append(field);
    if (isNarrow) form.append(two);
    inputs.set(name, input);
  }
  return inputs;
}

function values(inputs) {
  return Object.fromEntries([...inputs].map(([name, input]) => [name, input.value]));
}

function set(inputs, values, draft) {
  for (const [name, input] of inputs) input.value = values[name];
  sessionStorage.removeItem(draft);
}

/** The first field that cannot be saved. */
function check(inputs) {
  const input = inputs.get("description");
  const isEmpty = !input.value.trim();
  input.setAttribute("aria-invalid", String(isEmpty));
  const help = document.getElementById("edit-description-help");
  help.className = isEmpty ? "error" : "help";
  help.textContent = isEmpty ? "A description is needed: it is what the agent is told." : fields[1].help;
  return isEmpty ? input : null;
}

/** What is to be different, as the API has it. */
function changed(before, now) {
  const changes = {};
  for (const { name } of fields) if (before[name] !== now[name]) changes[name] = now[name];
  if ("priority" in changes) changes.priority = Number(changes.priority);
  if ("skipTests" in changes) changes.skipTests = changes.skipTests === "true";
  if ("dependencies" in changes) changes.dependencies = changes.dependencies.split(/[\s,]+/).filter(Boolean);
  return changes;
}

/** Somebody was faster: shows what is there now, and loses nothing of what was typed. */
function conflict(notice, before, theirs, mine, { over, theirs: take }) {
  const names = fields.filter(({ name }) => before[name] !== theirs[name] && mine[name] !== theirs[name]);
  if (!names.length) return over();
  tell(notice, "The feature was changed in the meantime. What you typed is still below.", [["Save mine over it", over], ["Take theirs", () => { take(); notice.hidden = true; }]]);
  const list = document.createElement("dl");
  for (const { name, label } of names) {
    list.append(Object.assign(document.createElement("dt"), { textContent: `${label} is now` }));
    list.append(Object.assign(make("dd", { class: "theirs", dir: "auto" }), { textContent: theirs[name] || "(empty)" }));
  }
  notice.append(list);
}

function tell(notice, words, buttons = []) {
  notice.hidden = false;
  notice.replaceChildren(Object.assign(make("p", { dir: "auto" }), { textContent: words }));
  for (const [label, act] of buttons) {
    const button = Object.assign(make("button", { type: "button", class: "button small" }), { textContent: label });
    button.addEventListener("click", act);
    notice.append(button, " ");
  }
  notice.scrollIntoView({ block: "nearest" });
}
