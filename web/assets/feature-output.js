// What an agent says, as it says it. The page keeps the end of it; what came before can be had.

import { send } from "./api.js";

/** So many characters stay on the page while it follows. */
const most = 200000;
/** So many bytes come with each press on "Show earlier". */
const step = 64 * 1024;
const bytes = new TextEncoder();

/** The output on the page; `base` is where the feature is in the API. */
export class Output {
  constructor(base) {
    this.base = base;
    this.queue = Promise.resolve();
  }

  /** Takes over what the server put on the page, or keeps what was there when it is of the same iteration. */
  adopt(kept) {
    const place = document.getElementById("output-text");
    if (!place) return;
    if (kept && kept.dataset.iteration === place.dataset.iteration && kept !== place) {
      const scroll = kept.scrollTop;
      place.replaceWith(kept);
      kept.scrollTop = scroll;
    } else if (kept !== place) {
      place.scrollTop = place.scrollHeight;
      place.addEventListener("scroll", () => this.scrolled(place));
    }
    const earlier = document.getElementById("earlier");
    if (earlier) {
      earlier.hidden = this.from === 0;
      earlier.onclick = () => this.later(() => this.earlier());
    }
    const follow = document.getElementById("follow");
    if (follow) {
      follow.checked = this.follows ?? true;
      follow.onchange = () => {
        this.follows = follow.checked;
        this.stay();
      };
    }
  }

  get place() { return document.getElementById("output-text"); }
  get from() { return Number(this.place?.dataset.from ?? 0); }
  get next() { return Number(this.place?.dataset.next ?? 0); }

  /** One after the other: what comes while something is fetched waits for it. */
  later(work) {
    this.queue = this.queue.then(work).catch(() => this.say("Some of it could not be read; it comes with the next line."));
    return this.queue;
  }

  /** An event brought a piece; false when it is of an iteration that is not on the page. */
  push({ iterationNumber, offset, text }) {
    if (!this.place || Number(this.place.dataset.iteration) !== iterationNumber) return false;
    this.later(async () => {
      if (offset > this.next) await this.fill(offset);
      const data = bytes.encode(text);
      const known = this.next - offset;
      if (known < 0 || known >= data.length) return;
      this.append(new TextDecoder().decode(data.slice(known)), offset + data.length);
    });
    return true;
  }

  /** Reads what is missing up to a place. */
  async fill(until = Infinity) {
    for (;;) {
      const place = this.place;
      if (!place) return;
      const before = this.next;
      const response = await send(`${this.base}/iterations/${place.dataset.iteration}/output?from=${before}`, { credentials: "same-origin" });
      const next = Number(response.headers.get("tollgate-next-offset"));
      const text = await response.text();
      if (!(next > before)) return;
      this.append(text, next);
      if (next >= until) return;
    }
  }

  append(text, next) {
    const place = this.place;
    place.append(visible(text));
    place.dataset.next = next;
    place.normalize();
    if (this.follows !== false && place.textContent.length > most) {
      const whole = place.textContent;
      const cut = whole.indexOf("\n", whole.length - most / 2) + 1;
      // What goes was shown with marks, so its length in bytes is not known any more: it comes anew from where it began.
      place.dataset.from = Math.max(0, next - bytes.encode(whole.slice(cut)).length);
      place.textContent = whole.slice(cut);
      document.getElementById("earlier")?.removeAttribute("hidden");
    }
    this.stay();
  }

  async earlier() {
    const place = this.place;
    const end = this.from;
    const start = Math.max(0, end - step);
    const response = await send(`${this.base}/iterations/${place.dataset.iteration}/output?from=${start}`, { credentials: "same-origin" });
    const data = new Uint8Array(await response.arrayBuffer()).slice(0, end - start);
    const skip = start === 0 ? 0 : data.indexOf(10) + 1;
    this.follows = false;
    const follow = document.getElementById("follow");
    if (follow) follow.checked = false;
    const before = place.scrollHeight;
    place.prepend(visible(new TextDecoder().decode(data.slice(skip))));
    place.dataset.from = start + skip;
    place.scrollTop += place.scrollHeight - before;
    document.getElementById("earlier").hidden = start + skip === 0;
    this.say("");
  }

  scrolled(place) {
    const atEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 24;
    const follow = document.getElementById("follow");
    if (!follow || follow.checked === atEnd) return;
    follow.checked = atEnd;
    this.follows = atEnd;
  }

  stay() {
    if (this.follows !== false && this.place) this.place.scrollTop = this.place.scrollHeight;
  }

  say(words) {
    const state = document.getElementById("output-state");
    if (state) state.textContent = words;
  }
}

/** Text as the server shows it: nothing in it is hidden. */
export function visible(text) {
  return text.replace(/[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu, (character) => {
    if (character === "\n" || character === "\t") return character;
    return character === "\r" ? "\\r" : `\\u{${character.codePointAt(0).toString(16)}}`;
  });
}
