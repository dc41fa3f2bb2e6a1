// Questions that stand in front of the page.

let count = 0;

/**
 * Asks for a text, or only for a yes when there is no `label`. Gives back the text, or null when somebody changed their
 * mind. What was typed is kept under `draft` until it was used.
 */
export function ask({ title, text = "", label = "", placeholder = "", value = "", required = true, action = "OK", danger = false, draft = "" }) {
  const name = `ask-${++count}`;
  const dialog = make("dialog", { "aria-labelledby": `${name}-title` });
  const form = make("form", { method: "dialog" });
  form.append(Object.assign(make("h2", { id: `${name}-title` }), { textContent: title }));
  if (text) form.append(Object.assign(make("p", { dir: "auto" }), { textContent: text }));
  let area = null;
  const error = make("p", { class: "error", id: `${name}-error`, role: "alert", hidden: "" });
  if (label) {
    const field = make("div", { class: "field" });
    field.append(Object.assign(make("label", { for: name }), { textContent: label }));
    area = make("textarea", { id: name, placeholder, dir: "auto", maxlength: "20000", "aria-describedby": `${name}-error` });
    area.value = (draft && sessionStorage.getItem(draft)) || value;
    if (draft) area.addEventListener("input", () => sessionStorage.setItem(draft, area.value));
    field.append(area, error);
    form.append(field);
  }
  const actions = make("div", { class: "actions" });
  const cancel = Object.assign(make("button", { type: "button", class: "button" }), { textContent: "Cancel" });
  const submit = Object.assign(make("button", { type: "submit", class: danger ? "button danger" : "button primary" }), { textContent: action });
  actions.append(cancel, submit);
  form.append(actions);
  dialog.append(form);
  document.body.append(dialog);
  const before = document.activeElement;
  return new Promise((resolve) => {
    let answer = null;
    cancel.addEventListener("click", () => dialog.close());
    area?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      // The focus goes back to what was pressed, and the key would press it once more.
      event.preventDefault();
      form.requestSubmit();
    });
    form.addEventListener("submit", (event) => {
      const typed = area ? area.value.trim() : "";
      if (area && required && !typed) {
        event.preventDefault();
        error.hidden = false;
        error.textContent = `${label} is needed.`;
        area.setAttribute("aria-invalid", "true");
        area.focus();
        return;
      }
      answer = typed;
      if (draft) sessionStorage.removeItem(draft);
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      giveFocusBack(before);
      resolve(answer);
    });
    dialog.showModal();
    (area ?? submit).focus();
  });
}

/** Shows something that was built elsewhere, until it is closed. */
export function show(title, content) {
  const name = `ask-${++count}`;
  const dialog = make("dialog", { "aria-labelledby": `${name}-title` });
  const close = Object.assign(make("button", { type: "button", class: "button" }), { textContent: "Close" });
  const actions = make("div", { class: "actions" });
  actions.append(close);
  dialog.append(Object.assign(make("h2", { id: `${name}-title` }), { textContent: title }), content, actions);
  document.body.append(dialog);
  const before = document.activeElement;
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    giveFocusBack(before);
  });
  dialog.showModal();
  close.focus();
  return dialog;
}

/**
 * Focuses the element that had the focus before a dialog. The event of a closed dialog comes late: a key that was pressed
 * in the meantime may have moved the focus already.
 */
export function giveFocusBack(before) {
  if (before?.isConnected && document.activeElement === document.body) before.focus();
}

/** An element with attributes. */
export function make(tag, attributes = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
