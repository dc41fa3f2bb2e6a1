// What people do to a feature, from a card: with words where words are needed.

import { api } from "./api.js";
import { ask, giveFocusBack, make } from "./dialog.js";
import { fragment } from "./fragment.js";
import { isLost } from "./live.js";
import { say, sayRefused } from "./toast.js";

const done = {
  start: "Started",
  stop: "Stopped",
  resume: "Goes on",
  approve: "Approved",
  reject: "Sent back",
  retry: "Tried again",
  move: "Moved",
};

/** What a drop on each column does: a map from the word of the column to the act. */
export function place(card) {
  return new Map(card.dataset.ways.split(" ").filter(Boolean).map((way) => way.split(":")));
}

/**
 * Does something to a feature. `begin` is called once it is certain that it is asked for, `refused` when the server says
 * no, `done` when it is done.
 */
export async function act({ project, feature, title, name, to, begin, refused, done: then }) {
  if (isLost()) return say("Nothing can be done while the connection is lost.", "error");
  const body = await words(name, title, to, `tollgate:${project}:${feature}:${name}`);
  if (body === null) return;
  begin();
  try {
    await api("POST", `/api/projects/${project}/features/${encodeURIComponent(feature)}/${name}`, body);
    say(`${done[name]}: ${title}`);
    then();
  } catch (problem) {
    refused();
    sayRefused(problem, `“${title}”: `);
  }
}

/** What is sent with an act; null when somebody changed their mind. */
async function words(name, title, to, draft) {
  const said = (field) => (text) => (text === null ? null : { [field]: text });
  switch (name) {
    case "approve":
      return ask({ title: "Approve anyway", text: title, label: "Reason", placeholder: "Why it may pass, whatever the review says. It is kept with your name.", action: "Approve", draft }).then(said("reason"));
    case "reject":
      return ask({ title: "Send back", text: title, label: "Note", placeholder: "What is to be done differently. The agent reads it first.", action: "Send back", draft }).then(said("note"));
    case "resume":
      return ask({ title: "Resume", text: title, label: "Note to the agent", placeholder: "If there is something to say. It may stay empty.", required: false, action: "Resume", draft }).then((text) => (text === null ? null : text ? { note: text } : {}));
    case "stop":
      // By a button it is meant; by a drop it may be news.
      if (!to) return undefined;
      return ask({ title: "Stop the work", text: `“${title}” is being worked on. Its agent is ended; what was done stays in its work tree.`, action: "Stop", danger: true }).then((text) => (text === null ? null : undefined));
    case "move":
      return { status: to };
    default:
      return undefined;
  }
}

/** Shows what can be done to a feature, and gives back what was chosen. */
export async function chooseAct(project, feature, title) {
  let part;
  try {
    part = await fragment(`/projects/${project}/features/${encodeURIComponent(feature)}/acts`);
  } catch (problem) {
    sayRefused(problem);
    return null;
  }
  const dialog = make("dialog", { "aria-labelledby": "acts-title", class: "acts-dialog" });
  const heading = Object.assign(make("h2", { id: "acts-title", dir: "auto" }), { textContent: title });
  const close = Object.assign(make("button", { type: "button", class: "button" }), { textContent: "Cancel" });
  const actions = make("div", { class: "actions" });
  actions.append(close);
  dialog.append(heading, part, actions);
  document.body.append(dialog);
  const before = document.activeElement;
  return new Promise((resolve) => {
    let chosen = null;
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) return dialog.close();
      const button = event.target.closest("button[data-act]");
      if (!button || button.disabled) return;
      chosen = { act: button.dataset.act, to: button.dataset.to };
      dialog.close();
    });
    dialog.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
      if (!step) return;
      const buttons = [...dialog.querySelectorAll("button:not(:disabled)")];
      const at = buttons.indexOf(document.activeElement);
      buttons[(at + step + buttons.length) % buttons.length].focus();
      event.preventDefault();
    });
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      giveFocusBack(before);
      resolve(chosen);
    });
    dialog.showModal();
    (dialog.querySelector("button[data-act]:not(:disabled)") ?? close).focus();
  });
}
