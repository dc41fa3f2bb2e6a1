// A new feature. What is typed stays until it was added, whatever happens to the page.

import { api } from "./api.js";
import { make } from "./dialog.js";
import { isLost } from "./live.js";
import { say } from "./toast.js";

/** Lets people add features to a project; `added` is told the name of each. */
export function setUpAdd(project, added) {
  const draft = `tollgate:draft:${project}`;
  const dialog = document.getElementById("add-dialog");
  const form = document.getElementById("add-form");
  const state = document.getElementById("add-draft");
  const fields = form.elements;
  const chosen = new Map();

  document.getElementById("add").addEventListener("click", open);
  document.getElementById("add-cancel").addEventListener("click", () => dialog.close());
  form.addEventListener("input", () => { keep(); criteria(); });
  form.addEventListener("submit", submit);
  fields.description.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  dependencies();

  function open() {
    if (isLost()) return;
    restore();
    complain({});
    dialog.showModal();
    criteria();
    fields.title.focus();
  }

  // What was typed.

  function keep() {
    const values = { ...read(), dependencies: [...chosen] };
    sessionStorage.setItem(draft, JSON.stringify(values));
    state.textContent = "";
  }

  function restore() {
    let values;
    try {
      values = JSON.parse(sessionStorage.getItem(draft) ?? "null");
    } catch {
      values = null;
    }
    state.textContent = values ? "This is what you typed before." : "";
    form.reset();
    chosen.clear();
    if (!values) return showChosen();
    for (const name of ["title", "description", "category", "model"]) fields[name].value = values[name] ?? "";
    fields.priority.value = values.priority ?? "2";
    fields.skipTests.checked = values.skipTests ?? true;
    fields.start.checked = values.start ?? false;
    for (const [id, title] of values.dependencies ?? []) chosen.set(id, title);
    showChosen();
  }

  function read() {
    return {
      title: fields.title.value.trim(),
      description: fields.description.value,
      category: fields.category.value.trim(),
      model: fields.model.value.trim(),
      priority: Number(fields.priority.value),
      skipTests: fields.skipTests.checked,
      start: fields.start.checked,
    };
  }

  // What the description asks for, as the server reads it.

  let wait = 0;
  let asked = 0;

  function criteria() {
    clearTimeout(wait);
    wait = setTimeout(async () => {
      const description = fields.description.value;
      const turn = ++asked;
      let found = [];
      let problem = "";
      if (description.trim()) {
        try {
          ({ criteria: found } = await api("POST", "/api/criteria", { description }));
        } catch (refused) {
          problem = refused.detail ?? refused.message;
        }
      }
      if (turn !== asked) return;
      const items = found.map(({ text }) => Object.assign(make("li", { dir: "auto" }), { textContent: text }));
      document.getElementById("criteria").replaceChildren(...items);
      document.getElementById("criteria-count").textContent = found.length;
      const none = document.getElementById("criteria-none");
      none.textContent = problem ? `They cannot be read now: ${problem}.` : "None yet. A review then only looks at the code.";
    }, 250);
  }

  // What it depends on.

  function dependencies() {
    const input = document.getElementById("add-depends");
    const list = document.getElementById("add-features");
    let known = new Map();
    let wait = 0;
    const take = () => {
      const id = known.get(input.value);
      if (!id) return;
      chosen.set(id, input.value);
      input.value = "";
      showChosen();
      keep();
    };
    input.addEventListener("input", () => {
      take();
      clearTimeout(wait);
      wait = setTimeout(async () => {
        const text = input.value.trim();
        if (!text) return list.replaceChildren();
        try {
          const query = new URLSearchParams({ q: text, limit: "10" });
          const { features } = await api("GET", `/api/projects/${project}/features?${query}`);
          known = new Map();
          for (const { id, title, firstLine } of features) {
            const name = title || firstLine || id;
            known.set(known.has(name) ? `${name} (${id})` : name, id);
          }
          list.replaceChildren(...[...known.keys()].map((name) => make("option", { value: name })));
          mark("dependencies", features.length ? "" : "No feature has this in its title.");
        } catch (refused) {
          mark("dependencies", refused.detail ?? refused.message);
        }
      }, 200);
    });
    input.addEventListener("change", take);
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      const first = [...known.keys()].find((name) => name.toLowerCase().includes(input.value.trim().toLowerCase()));
      if (first && input.value.trim()) {
        input.value = first;
        take();
      }
    });
  }

  function showChosen() {
    const items = [...chosen].map(([id, title]) => {
      const button = make("button", { type: "button", class: "button small", "aria-label": `Does not depend on ${title}` });
      button.append(Object.assign(make("span", { class: "ellipsis", dir: "auto" }), { textContent: title }), " ×");
      button.addEventListener("click", () => {
        chosen.delete(id);
        showChosen();
        keep();
        document.getElementById("add-depends").focus();
      });
      const item = make("li");
      item.append(button);
      return item;
    });
    document.getElementById("add-chosen").replaceChildren(...items);
  }

  // Adding it.

  async function submit(event) {
    event.preventDefault();
    const values = read();
    complain({});
    if (!values.description.trim()) return complain({ description: "Say what is wanted. The agent and the review go by it." });
    if (isLost()) return problem("The connection to the server is lost. What you typed is kept.");
    const body = { ...values, dependencies: [...chosen.keys()] };
    for (const name of ["category", "model"]) if (!body[name]) delete body[name];
    const button = form.querySelector("[type=submit]");
    button.disabled = true;
    try {
      const { id, title, description } = await api("POST", `/api/projects/${project}/features`, body);
      sessionStorage.removeItem(draft);
      dialog.close();
      say(`Added: ${title || description.split("\n")[0]}`);
      added(id);
    } catch (refused) {
      // The server names the field in its words.
      const name = /`(title|description|category|model|dependencies|priority)`/.exec(refused.detail ?? "")?.[1];
      const words = refused.hint ? `${refused.detail}. ${refused.hint}` : refused.message;
      if (name && document.getElementById(`add-${name}-error`)) complain({ [name]: words });
      else problem(words);
    } finally {
      button.disabled = false;
    }
  }

  function problem(words) {
    const place = document.getElementById("add-problem");
    place.textContent = words;
    place.hidden = !words;
  }

  /** Says what is wrong at the fields that are wrong. */
  function complain(errors) {
    problem("");
    for (const name of ["title", "description", "model", "dependencies"]) mark(name, errors[name] ?? "");
    const first = Object.keys(errors)[0];
    if (first) (fields[first] ?? document.getElementById("add-depends")).focus();
  }

  function mark(name, words) {
    const place = document.getElementById(`add-${name}-error`);
    place.textContent = words;
    place.hidden = !words;
    const field = fields[name] ?? document.getElementById("add-depends");
    if (words) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}
