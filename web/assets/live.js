// What happens, as it happens: one socket per page, which comes back by itself and misses nothing.

import { api } from "./api.js";

const first = 500;
const most = 15000;

/**
 * Calls `onEvent({type, payload, seq, timestamp})` for everything that happens (in one project, if given) since the page
 * was made; `onResync()` when too much was missed and everything is to be read anew.
 */
export function listen({ project, onEvent, onResync }) {
  let seq = Number(document.body.dataset.seq ?? 0);
  let wait = first;
  let timer = 0;
  let isLeaving = false;

  async function open() {
    let ticket;
    try {
      ({ ticket } = await api("POST", "/api/events/ticket"));
    } catch (refused) {
      if (refused.status === 401) return signedOut();
      return later();
    }
    const query = new URLSearchParams({ since: seq });
    if (project) query.set("project", project);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/api/events?${query}`, ["tollgate.events", `tollgate.ticket.${ticket}`]);
    socket.addEventListener("message", ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === "hello") {
        wait = first;
        // A server that begins anew counts anew: what the page knows is of another time.
        if (event.seq !== undefined && event.seq < seq) {
          seq = event.seq;
          onResync();
        }
        return found();
      }
      if (event.type === "resync") {
        seq = event.seq ?? seq;
        return onResync();
      }
      if (event.type === "goodbye") return;
      if (event.seq !== undefined) {
        if (event.seq <= seq) return;
        seq = event.seq;
      }
      onEvent(event);
    });
    socket.addEventListener("close", later);
  }

  function later() {
    if (isLeaving) return;
    lost();
    clearTimeout(timer);
    timer = setTimeout(open, wait * (0.75 + Math.random() / 2));
    wait = Math.min(wait * 2, most);
  }

  addEventListener("pagehide", () => { isLeaving = true; });
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  addEventListener("online", () => { if (isLost()) { clearTimeout(timer); wait = first; open(); } });
  open();
}

/** True while nothing can be done because nobody answers. */
export function isLost() {
  return "lost" in document.body.dataset;
}

function lost() {
  document.body.dataset.lost = "";
  disable();
  state("lost", "offline");
  const banner = document.getElementById("lost");
  banner.hidden = false;
  banner.textContent = "The connection to the server is lost. What you see may be out of date; trying again …";
  document.dispatchEvent(new CustomEvent("tollgate:lost"));
}

/** Says to screen readers, too, what cannot be used now. */
function disable() {
  for (const element of document.querySelectorAll("[data-act]:not([aria-disabled]), form[data-api] [type=submit]:not([aria-disabled])")) {
    element.setAttribute("aria-disabled", "true");
    element.dataset.lostAct = "";
  }
}

function found() {
  delete document.body.dataset.lost;
  for (const element of document.querySelectorAll("[data-lost-act]")) {
    element.removeAttribute("aria-disabled");
    delete element.dataset.lostAct;
  }
  state("live", "live");
  document.getElementById("lost").hidden = true;
  document.dispatchEvent(new CustomEvent("tollgate:found"));
}

function signedOut() {
  document.body.dataset.lost = "";
  disable();
  state("lost", "signed out");
  const banner = document.getElementById("lost");
  banner.hidden = false;
  banner.textContent = "You are signed out. ";
  const link = document.createElement("a");
  link.href = location.href;
  link.textContent = "Sign in again";
  banner.append(link);
}

function state(name, words) {
  const element = document.getElementById("link-state");
  if (!element) return;
  element.hidden = false;
  element.dataset.state = name;
  element.textContent = words;
}

// What has `data-act` cannot be used while the connection is lost.
document.addEventListener("click", (event) => {
  if (isLost() && event.target instanceof Element && event.target.closest("[data-act]")) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);
