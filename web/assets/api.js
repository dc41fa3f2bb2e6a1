// The API, from a page. What the server refuses is thrown with its words.

export class Refused extends Error {
  constructor(status, detail, hint) {
    super(hint ? `${detail}. ${hint}` : detail);
    this.status = status;
    this.detail = detail;
    this.hint = hint ?? "";
  }
}

/** Asks the API and gives back what it says: JSON, a text, or nothing. `headers` may hold `if-match`. */
export async function api(method, path, body, headers = {}) {
  const request = { method, headers: { accept: "application/json", ...headers }, credentials: "same-origin" };
  if (body !== undefined) {
    request.headers["content-type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  const response = await send(path, request);
  if (response.status === 204) return null;
  const kind = response.headers.get("content-type") ?? "";
  return kind.includes("json") ? response.json() : response.text();
}

/** A request that either succeeds or is thrown as `Refused`. */
export async function send(path, request) {
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new Refused(0, "the server does not answer", "Is it running? The page connects again by itself.");
  }
  if (response.ok) return response;
  if (response.status === 401) {
    throw new Refused(401, "you are signed out", "Reload the page to sign in again; what you typed stays until then.");
  }
  const problem = await response.json().catch(() => ({}));
  throw new Refused(response.status, problem.detail ?? `the server answered ${response.status}`, problem.hint);
}
