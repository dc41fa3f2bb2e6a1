// Code review prompts: what is typed is checked and shown by the server, kept until it is saved, and never overwritten.

import { api } from "./api.js";
import { ask } from "./dialog.js";
import { say } from "./toast.js";

const root = document.getElementById("prompts");
const { path, scope, scopeName } = root.dataset;
const max = Number(root.dataset.max);
const draftKey = `tollgate:prompts:${scope ?? "all"}`;
const fields = [...root.querySelectorAll("[data-key]")].map(makeField);
const state = document.getElementById("save-state");
const conflict = document.getElementById("conflict");
const number = new Intl.NumberFormat("en");

/** What is stored, as the server last said it. */
let stored = null;
/** The revision on which what is typed here builds. */
let revision = 0;
let isSaving = false;
let checks = 0;
let timer = 0;

start();

async function start() {
  try {
    take(await api("GET", path));
  } catch (refused) {
    document.getElementById("save-bar").hidden = false;
    return tell("failed", `The prompts cannot be read: ${refused.message}`);
  }
  restore();
  for (const field of fields) wire(field);
  document.getElementById("save-bar").hidden = false;
  document.getElementById("reset-all").disabled = false;
  document.getElementById("reset-all").addEventListener("click", resetAll);
  document.getElementById("discard").addEventListener("click", discard);
  document.getElementById("editor").addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  document.getElementById("show-theirs").addEventListener("click", showTheirs);
  document.getElementById("save-mine").addEventListener("click", () => save(stored.revision));
  document.getElementById("take-theirs").addEventListener("click", discard);
  addEventListener("beforeunload", (event) => {
    if (isDirty()) event.preventDefault();
  });
  const example = document.getElementById("example");
  if (example) {
    example.disabled = false;
    example.addEventListener("change", () => look(0));
  }
  changed(0);
}

/** One of the two texts: its elements, what is chosen for it, and what was written for it. */
function makeField(section) {
  const { key } = section.dataset;
  return {
    key,
    section,
    area: section.querySelector("textarea"),
    error: document.getElementById(`${key}-error`),
    remark: section.querySelector("[data-remark]"),
    count: section.querySelector("[data-count]"),
    used: section.querySelector("[data-used]"),
    reset: section.querySelector("[data-reset]"),
    radios: [...section.querySelectorAll("input[type=radio]")],
    inserts: [...section.querySelectorAll("[data-insert]")],
    mode: "default",
    own: "",
  };
}

function wire(field) {
  for (const radio of field.radios) {
    radio.disabled = false;
    radio.addEventListener("change", () => choose(field, radio.value));
  }
  field.area.addEventListener("input", () => {
    if (field.mode !== "custom") return;
    field.own = field.area.value;
    changed();
  });
  for (const button of field.inserts) {
    button.addEventListener("click", () => {
      const { area } = field;
      area.focus();
      area.setRangeText(button.dataset.insert, area.selectionStart, area.selectionEnd, "end");
      field.own = area.value;
      changed();
    });
  }
  field.reset.addEventListener("click", () => {
    reset(field);
    changed();
    field.radios.find((radio) => radio.checked)?.focus();
  });
}

/** A text of one's own begins with the one that holds. */
function choose(field, mode) {
  const begins = mode === "custom" && !field.own;
  if (begins) field.own = textOf(field) ?? "";
  field.mode = mode;
  changed();
  if (mode === "custom") field.area.focus();
}

/** Back to where nothing was ever written. */
function reset(field) {
  field.mode = scope ? "inherit" : "default";
  field.own = "";
}

async function resetAll() {
  const has = fields.some((field) => field.own);
  const answer = has ? await ask({
    title: "Reset all code review prompts?",
    text: scope
      ? `Both prompts of ${scopeName} are then those for all projects. Nothing is stored before you save.`
      : "Both prompts are then the default. Nothing is stored before you save.",
    action: "Reset",
    danger: true,
  }) : "";
  if (answer === null) return;
  fields.forEach(reset);
  changed();
}

/** The text that a field shows: what holds by what is chosen. */
function textOf(field) {
  if (field.mode === "custom") return field.own;
  if (field.mode === "inherit") return field.inherited;
  return stored.defaults[field.key];
}

/** Takes over what is stored: it is then the same as what is shown. */
function take(prompts) {
  stored = prompts;
  revision = prompts.revision;
  for (const field of fields) {
    const own = prompts.codeReview[field.key];
    field.mode = own ? (own.enabled ? "custom" : "default") : scope ? "inherit" : "default";
    field.own = own?.value ?? "";
    note(field, prompts);
  }
}

/** What holds, and what would without the project's own. */
function note(field, prompts) {
  const { level, value } = prompts.used[field.key];
  field.inherited = level === "all" || !prompts.codeReview[field.key] ? value : field.inherited ?? null;
  const from = { default: "the default", all: "the custom prompt for all projects", project: `the custom prompt of ${scopeName}` };
  field.used.textContent = `In force: ${from[level]}`;
}

/** What would be stored. */
function body() {
  const all = {};
  for (const field of fields) {
    if (field.mode === "custom") all[field.key] = { enabled: true, value: field.own };
    else if (field.mode === "default" && (field.own || scope)) all[field.key] = { enabled: false, value: field.own };
  }
  return all;
}

function isDirty() {
  if (!stored) return false;
  const mine = body();
  return fields.some(({ key }) => {
    const [a, b] = [mine[key], stored.codeReview[key]];
    return a?.enabled !== b?.enabled || a?.value !== b?.value;
  });
}

/** Something was typed or chosen: shows it, keeps it, has it checked. */
function changed(wait = 400) {
  for (const field of fields) draw(field);
  const dirty = isDirty();
  if (dirty) sessionStorage.setItem(draftKey, JSON.stringify({ revision, fields: fields.map(({ key, mode, own }) => ({ key, mode, own })) }));
  else sessionStorage.removeItem(draftKey);
  if (!isSaving) {
    if (dirty) tell("unsaved", "● Unsaved changes");
    else if (state.dataset.state !== "saved") tell("", "No changes");
  }
  document.getElementById("discard").hidden = !dirty;
  look(wait);
}

async function draw(field) {
  const isOwn = field.mode === "custom";
  if (field.mode === "inherit" && field.inherited === null) await inherit(field);
  const text = textOf(field) ?? "";
  if (field.area.value !== text) field.area.value = text;
  field.area.readOnly = !isOwn;
  field.section.dataset.mode = field.mode;
  for (const radio of field.radios) radio.checked = radio.value === field.mode;
  for (const button of field.inserts) button.disabled = !isOwn;
  field.reset.disabled = field.mode === (scope ? "inherit" : "default") && !field.own;
  const length = [...text].length;
  field.count.textContent = isOwn ? `${number.format(length)} of ${number.format(max)} characters` : `${number.format(length)} character${length === 1 ? "" : "s"}`;
}

/** A project that has its own: what it would have without is asked for once. */
async function inherit(field) {
  field.inherited = "";
  try {
    const all = await api("GET", "/api/settings/prompts");
    field.inherited = all.used[field.key].value;
  } catch (refused) {
    say(refused.detail, "error", { hint: refused.hint });
  }
}

function restore() {
  let draft;
  try {
    draft = JSON.parse(sessionStorage.getItem(draftKey));
  } catch {
    return;
  }
  if (!draft) return;
  for (const kept of draft.fields) {
    const field = fields.find(({ key }) => key === kept.key);
    if (field) Object.assign(field, { mode: kept.mode, own: kept.own });
  }
  if (draft.revision !== stored.revision && isDirty()) {
    revision = draft.revision;
    conflict.hidden = false;
  }
}

/** Has the server say what is wrong and what it would make of it; only the last answer counts. */
function look(wait) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const turn = ++checks;
    const prompts = body();
    try {
      const checked = await api("POST", "/api/settings/prompts/check", prompts);
      if (turn !== checks) return;
      for (const field of fields) {
        const problem = checked.problems.find((it) => it.field === field.key);
        const odd = checked.notes.filter((it) => it.field === field.key).map((it) => it.detail);
        wrong(field, problem ? (problem.hint ? `${problem.detail}. ${problem.hint}` : problem.detail) : "");
        field.remark.textContent = odd.length ? `! ${odd.join("; ")}` : "";
        field.remark.hidden = !odd.length;
      }
      if (!checked.problems.length) await preview(turn, prompts);
      else stale();
    } catch (refused) {
      if (turn === checks) previewFailed(refused);
    }
  }, wait);
}

function wrong(field, words) {
  field.error.textContent = words;
  field.error.hidden = !words;
  if (words) field.area.setAttribute("aria-invalid", "true");
  else field.area.removeAttribute("aria-invalid");
}

async function preview(turn, prompts) {
  const example = document.getElementById("example");
  if (!example) return;
  const [project, feature] = example.value.split("/");
  const loading = document.getElementById("preview-loading");
  loading.hidden = false;
  try {
    const shown = await api("POST", "/api/settings/prompts/preview", { project: Number(project), feature, prompts, forAll: !scope });
    if (turn === checks) show(shown);
  } catch (refused) {
    if (turn === checks) previewFailed(refused);
  } finally {
    if (turn === checks) loading.hidden = true;
  }
}

function show(shown) {
  const calls = shown.calls === 1 ? "one call" : `${number.format(shown.calls)} calls`;
  const to = shown.isSetUp ? `to ${shown.reviewer}` : "to a model, if one were set up";
  const left = shown.leftOut ? ` ${number.format(shown.leftOut)} parts of the change would not be sent.` : "";
  document.getElementById("preview-facts").textContent =
    `Iteration ${shown.iteration}: about ${number.format(shown.tokens)} tokens in ${calls} ${to}.${shown.calls > 1 ? " The first call is shown." : ""}${left}`;
  for (const name of ["system", "shared", "part"]) {
    const { text, chars, cut } = shown[name];
    root.querySelector(`[data-part="${name}"]`).textContent = text;
    root.querySelector(`[data-size="${name}"]`).textContent = `${number.format(chars)} characters${cut ? ", the beginning is shown" : ""}`;
  }
  const table = document.getElementById("preview-context");
  table.hidden = !shown.context.length;
  table.tBodies[0].replaceChildren(...shown.context.map((file) => {
    const row = document.createElement("tr");
    const cell = (text, kind = "") => Object.assign(row.insertCell(), { textContent: text, className: kind });
    cell(file.name, "mono");
    cell(number.format(file.chars), "number");
    cell(file.shown < file.chars ? `the first ${number.format(file.shown)}` : "all of it");
    return row;
  }));
  const notes = document.getElementById("preview-notes");
  notes.hidden = !shown.notes.length;
  notes.replaceChildren(...shown.notes.map((text) => Object.assign(document.createElement("li"), { textContent: text, dir: "auto" })));
  document.getElementById("preview-parts").hidden = false;
  document.getElementById("preview-error").hidden = true;
}

function previewFailed(refused) {
  const error = document.getElementById("preview-error");
  if (!error) return;
  error.textContent = refused.message;
  error.hidden = false;
  document.getElementById("preview-loading").hidden = true;
}

/** What is shown is of before what is wrong now. */
function stale() {
  const facts = document.getElementById("preview-facts");
  if (facts) facts.textContent = "These prompts cannot be used as they are; what is shown is of before.";
  document.getElementById("preview-loading").hidden = true;
}

async function save(known = revision) {
  if (isSaving || "lost" in document.body.dataset) return;
  if (!isDirty() && known === stored.revision) return tell("", "No changes");
  isSaving = true;
  tell("", "Saving …");
  const mine = body();
  try {
    const now = await api("PUT", path, mine, { "if-match": `"${known}"` });
    sessionStorage.removeItem(draftKey);
    conflict.hidden = true;
    const typed = JSON.stringify(body());
    stored = now;
    revision = now.revision;
    for (const field of fields) note(field, now);
    // What was typed while it was being saved is not saved.
    if (typed === JSON.stringify(mine)) take(now);
    tell("saved", `✓ Saved at ${new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`);
  } catch (refused) {
    if (refused.status === 412) await beaten();
    else {
      tell("failed", `✕ Not saved: ${refused.message}`);
      const field = fields.find(({ key }) => refused.detail?.includes(`\`${key}\``));
      if (field) {
        wrong(field, refused.message);
        field.area.focus();
      }
    }
  } finally {
    isSaving = false;
    changed(0);
  }
}

/** Somebody was faster. */
async function beaten() {
  tell("failed", "✕ Not saved: the prompts were changed in the meantime.");
  try {
    stored = await api("GET", path);
  } catch {
    // Shown when they are asked for.
  }
  conflict.hidden = false;
  conflict.querySelector("button").focus();
}

function showTheirs() {
  const button = document.getElementById("show-theirs");
  const place = document.getElementById("theirs");
  place.hidden = !place.hidden;
  button.setAttribute("aria-expanded", String(!place.hidden));
  button.textContent = place.hidden ? "Show theirs" : "Hide theirs";
  place.replaceChildren(...fields.flatMap((field) => {
    const own = stored.codeReview[field.key];
    const words = own ? (own.enabled ? "custom" : "switched off") : "not set";
    const head = Object.assign(document.createElement("h3"), { textContent: `${field.section.querySelector("h3").textContent}: ${words}` });
    const text = Object.assign(document.createElement("pre"), { textContent: own?.value ?? "", dir: "auto" });
    return own ? [head, text] : [head];
  }));
}

async function discard() {
  const answer = await ask({ title: "Discard your changes?", text: "What you wrote here is then gone.", action: "Discard", danger: true });
  if (answer === null) return;
  sessionStorage.removeItem(draftKey);
  conflict.hidden = true;
  take(stored);
  tell("", "No changes");
  changed(0);
}

function tell(kind, words) {
  state.dataset.state = kind;
  state.textContent = words;
}
