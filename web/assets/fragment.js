// Parts of pages, made by the server. The only place where markup becomes elements.

import { send } from "./api.js";

const policy = globalThis.trustedTypes?.createPolicy("tollgate", { createHTML: (markup) => markup }) ?? {
  createHTML: (markup) => markup,
};

/** The elements of a fragment of ours. The parser runs no scripts, and the policy of the page allows no others. */
export async function fragment(path) {
  const response = await send(path, { headers: { accept: "text/vnd.tollgate.fragment" }, credentials: "same-origin" });
  return elements(await response.text());
}

/** Markup of this server as elements. */
export function elements(markup) {
  const parsed = new DOMParser().parseFromString(policy.createHTML(markup), "text/html");
  const part = document.createDocumentFragment();
  part.append(...parsed.body.childNodes);
  return document.adoptNode(part);
}
