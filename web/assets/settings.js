// What the settings and the first steps have in common: copying, projects, the demo, agents, GitHub, access.

import { api } from "./api.js";
import { ask } from "./dialog.js";
import { listen } from "./live.js";
import { say } from "./toast.js";

// Nothing here changes by itself, but whether the server is there is to be seen.
listen({ onEvent: () => {}, onResync: () => {} });
tabs();
copying();
addProject();
removeProjects();
demo();
agents();
github();
troubled();
access();

/** Says what went wrong, with what to do about it. */
function sorry(refused) {
  say(refused.detail ?? String(refused), "error", { hint: refused.hint });
}

/** Does something once at a time, with the button that asked for it out of reach meanwhile. */
async function once(button, work) {
  if (button.getAttribute("aria-disabled") === "true" || "lost" in document.body.dataset) return;
  button.setAttribute("aria-disabled", "true");
  try {
    await work();
  } catch (refused) {
    sorry(refused);
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

/** Where the tabs do not fit, the current one is in the middle, also once a phone is turned. */
function tabs() {
  const bar = document.querySelector(".tabs");
  const current = bar?.querySelector("[aria-current]");
  if (!current) return;
  const show = () => {
    const [all, one] = [bar.getBoundingClientRect(), current.getBoundingClientRect()];
    bar.scrollLeft += one.left + one.width / 2 - (all.left + all.width / 2);
  };
  new ResizeObserver(show).observe(bar);
}

function copying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("pre").textContent;
      try {
        await navigator.clipboard.writeText(text);
        say("Copied.");
      } catch {
        // Without TLS a browser may not copy by itself; what is to be copied is selected then.
        getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
        say("Press Ctrl+C to copy what is selected.");
      }
    });
  }
}

function addProject() {
  const form = document.querySelector("[data-add-project]");
  if (!form) return;
  form.hidden = false;
  const { path, name } = form.elements;
  const draft = "tollgate:project-path";
  path.value = sessionStorage.getItem(draft) ?? "";
  path.addEventListener("input", () => {
    sessionStorage.setItem(draft, path.value);
    wrong(path, "");
  });
  name.addEventListener("input", () => wrong(name, ""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    wrong(path, "");
    wrong(name, "");
    const place = path.value.trim();
    if (!place) return wrong(path, "Name the folder of the project.");
    once(form.querySelector("[type=submit]"), async () => {
      try {
        const project = await api("POST", "/api/projects", { path: place, name: name.value.trim() || undefined });
        sessionStorage.removeItem(draft);
        location.assign(`/projects/${project.id}`);
      } catch (refused) {
        if (![409, 422].includes(refused.status)) throw refused;
        wrong(/`name`/.test(refused.detail) ? name : path, refused.message);
      }
    });
  });
}

/** Says what is wrong with a field, at the field. */
function wrong(field, words) {
  const error = document.getElementById(`${field.id}-error`);
  error.textContent = words && words[0].toUpperCase() + words.slice(1);
  error.hidden = !words;
  if (words) {
    field.setAttribute("aria-invalid", "true");
    field.focus();
  } else {
    field.removeAttribute("aria-invalid");
  }
}

function removeProjects() {
  for (const button of document.querySelectorAll("[data-remove]")) {
    const row = button.closest("[data-project-row]");
    // What was made for the demo alone is removed as a whole, below.
    if ("demo" in row.dataset) continue;
    button.hidden = false;
    button.addEventListener("click", () => once(button, async () => {
      const answer = await ask({
        title: `Remove ${row.dataset.name} from the board?`,
        text: "Its folder, its branches and its features stay as they are, and so does what is stored of its reviews. Adding it again brings everything back.",
        action: "Remove",
        danger: true,
      });
      if (answer === null) return;
      await api("DELETE", `/api/projects/${row.dataset.projectRow}`);
      location.reload();
    }));
  }
}

function demo() {
  const panel = document.getElementById("demo-panel");
  if (!panel) return;
  panel.hidden = false;
  const load = document.getElementById("load-demo");
  load?.addEventListener("click", () => once(load, async () => {
    load.textContent = "Loading …";
    try {
      const { project } = await api("POST", "/api/demo");
      location.assign(`/projects/${project.id}`);
    } finally {
      load.textContent = "Load the demo";
    }
  }));
  const remove = document.getElementById("remove-demo");
  remove?.addEventListener("click", () => once(remove, async () => {
    const answer = await ask({
      title: "Remove the demo?",
      text: "Its agent is stopped, its project leaves the board, and its folder is deleted. Your own projects are not touched.",
      action: "Remove the demo",
      danger: true,
    });
    if (answer === null) return;
    await api("DELETE", "/api/demo");
    location.reload();
  }));
}

function agents() {
  for (const acts of document.querySelectorAll(".agent-acts")) {
    acts.hidden = false;
    const card = acts.closest("[data-agent]");
    const result = card.querySelector(".result");
    for (const button of acts.querySelectorAll("[data-trial]")) {
      button.addEventListener("click", () => once(button, async () => {
        const started = Date.now();
        delete result.dataset.passed;
        result.hidden = false;
        result.classList.add("loading");
        result.textContent = button.dataset.trial === "hands" ? "asking it to write where it must not …" : "asking …";
        try {
          const tried = await api("POST", `/api/agents/${encodeURIComponent(card.dataset.agent)}/test`, { trial: button.dataset.trial });
          const sign = tried.passed ? "✓ " : "✕ ";
          const took = `${((tried.tookMs ?? Date.now() - started) / 1000).toFixed(1)} s`;
          result.dataset.passed = tried.passed ? "yes" : "no";
          result.textContent = `${sign}${tried.words}${tried.hint ? `. ${tried.hint}` : ""} (${took})`;
        } catch (refused) {
          result.dataset.passed = "no";
          result.textContent = `✕ ${refused.message}`;
        } finally {
          result.classList.remove("loading");
        }
      }));
    }
  }
}

function github() {
  const form = document.getElementById("github-form");
  if (!form) return;
  form.hidden = false;
  const { publicUrl, organization, githubUrl, replace } = form.elements;
  const fields = [publicUrl, organization, githubUrl];
  for (const field of fields) field.addEventListener("input", () => wrong(field, ""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    for (const field of fields) wrong(field, "");
    once(form.querySelector("[type=submit]"), async () => {
      try {
        const wanted = { publicUrl: publicUrl.value.trim(), githubUrl: githubUrl.value.trim() || undefined };
        const name = organization.value.trim();
        if (name) wanted.organization = name;
        if (replace?.checked) wanted.replace = true;
        const { page } = await api("POST", "/api/github/setup", wanted);
        location.assign(page);
      } catch (refused) {
        if (refused.status === 409 && replace) return sorry({ detail: "there is an app already", hint: "Tick the box to put it aside." });
        // The server names the field that it means.
        const [, name, why] = /^`(\w+)`: (.*)$/.exec(refused.detail ?? "") ?? [];
        const field = fields.find((it) => it.name === name);
        if (refused.status !== 422 || !field) throw refused;
        wrong(field, why);
      }
    });
  });
}

// Pull requests in trouble, tried again at once.
function troubled() {
  for (const button of document.querySelectorAll("[data-retry]")) {
    button.hidden = false;
    button.addEventListener("click", () => once(button, async () => {
      await api("POST", `/api/jobs/${encodeURIComponent(button.dataset.retry)}/retry`);
      const row = button.closest("tr");
      row.cells[3].textContent = "now";
      button.remove();
      say("It is in the queue again.");
    }));
  }
}

function access() {
  const signOut = document.getElementById("sign-out");
  if (!signOut) return;
  signOut.parentElement.hidden = false;
  signOut.addEventListener("click", () => once(signOut, async () => {
    await api("POST", "/api/auth/logout");
    location.assign("/");
  }));
  const rotate = document.getElementById("rotate");
  rotate.addEventListener("click", () => once(rotate, async () => {
    const answer = await ask({
      title: "Make a new token?",
      text: "Everybody is signed out at once, programs too, and what they listen to ends. This browser is signed in again; the new token is in the server's file.",
      action: "Make a new token",
      danger: true,
    });
    if (answer === null) return;
    await api("POST", "/api/auth/rotate");
    say("There is a new token, and everybody else is signed out.");
  }));
}
