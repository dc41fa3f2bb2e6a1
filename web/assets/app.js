// What every page has: signing in, light and dark, times, menus, the keys that lead somewhere.

import { api } from "./api.js";
import * as keys from "./keys.js";
import * as palette from "./palette.js";

signIn();
theme();
times();
menus();
if ("signedIn" in document.body.dataset) shortcuts();

/** The address that the server prints has the token behind `#`, which is never sent anywhere but in this request. */
async function signIn() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  const form = document.getElementById("sign-in-form");
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      await api("POST", "/api/auth/login", { token });
      location.replace(location.href);
    } catch (refused) {
      problem(refused);
    }
    return;
  }
  if (!form) return;
  // A link on another site leads here without our cookie; from here it is sent.
  const key = "tollgate:looked";
  if (!sessionStorage.getItem(key)) {
    sessionStorage.setItem(key, "1");
    const response = await fetch("/api/settings", { credentials: "same-origin" }).catch(() => null);
    if (response?.ok) return location.replace(location.href);
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await api("POST", "/api/auth/login", { token: form.elements.token.value.trim() });
      location.replace(form.elements.next.value);
    } catch (refused) {
      problem(refused);
    }
  });
}

function problem(refused) {
  const place = document.getElementById("sign-in-problem");
  if (!place) return;
  const isWrong = refused.status === 401;
  place.textContent = isWrong ? "This is not the server's token. `tollgate serve` tells where its file is." : refused.message;
  place.hidden = false;
  document.getElementById("token")?.select();
}

function theme() {
  const button = document.getElementById("theme-button");
  const words = document.getElementById("theme-words");
  button.hidden = false;
  const next = { auto: "light", light: "dark", dark: "auto" };
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    words.textContent = `Theme: ${name === "auto" ? "as the system" : name}`;
    button.title = words.textContent;
  };
  set(document.documentElement.dataset.theme);
  button.addEventListener("click", () => {
    const name = next[document.documentElement.dataset.theme] ?? "auto";
    const age = name === "auto" ? 0 : 31536000;
    document.cookie = `tollgate_theme=${name}; path=/; max-age=${age}; samesite=strict`;
    set(name);
  });
}

/** `<time datetime="…">` says how long ago, and `<time data-since="…">` how long since; both go on. */
function times() {
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const update = () => {
    for (const element of document.querySelectorAll("time[datetime]")) {
      const at = Date.parse(element.dateTime);
      if (Number.isNaN(at)) continue;
      const seconds = (Date.now() - at) / 1000;
      let text;
      if ("since" in element.dataset) {
        text = elapsed(seconds);
      } else if (seconds > 30 * 86400) {
        text = local.format(at);
      } else {
        const [unit, size] = units.find(([, size]) => seconds >= size) ?? units.at(-1);
        text = seconds < 5 ? "just now" : words.format(-Math.floor(seconds / size), unit);
      }
      if (element.textContent !== text) element.textContent = text;
      element.title = local.format(at);
    }
  };
  update();
  setInterval(update, 1000);
  document.addEventListener("tollgate:times", update);
}

function elapsed(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

function menus() {
  const open = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => {
    for (const menu of open()) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of open()) {
      menu.open = false;
      menu.querySelector("summary").focus();
      event.preventDefault();
    }
  });
}

function shortcuts() {
  const button = document.getElementById("help-button");
  button.hidden = false;
  button.addEventListener("click", keys.help);
  const everywhere = "Everywhere";
  const go = (selector) => () => document.querySelector(selector)?.click();
  keys.add("?", "Show this list", keys.help, everywhere);
  document.addEventListener("keydown", (event) => {
    const isCalled = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!isCalled || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    palette.open();
  });
  keys.add(":", "Commands (also Ctrl-K)", palette.open, everywhere);
  keys.add("/", "Search", () => {
    const search = document.querySelector("input[type=search]");
    search?.focus();
    search?.select();
  }, everywhere);
  keys.add("g", "Go to: then b board, r reviews, t trends, s settings", () => {
    const targets = { b: 1, r: 2, t: 3, s: 4 };
    const then = (event) => {
      document.removeEventListener("keydown", then, true);
      clearTimeout(timer);
      const place = targets[event.key];
      if (!place) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      go(`.bar nav a:nth-child(${place})`)();
    };
    const timer = setTimeout(() => document.removeEventListener("keydown", then, true), 1500);
    document.addEventListener("keydown", then, true);
  }, everywhere);
}
