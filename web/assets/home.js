// The list of projects, kept current.

import { elements } from "./fragment.js";
import { send } from "./api.js";
import { listen } from "./live.js";

let timer = 0;

/** Reads the page again and puts its list in place; several events at once cost one reading. */
function refresh() {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    try {
      const response = await send("/", { headers: { accept: "text/html" }, credentials: "same-origin" });
      const list = elements(await response.text()).querySelector("#projects-list");
      if (!list) return location.reload();
      document.getElementById("projects-list").replaceWith(list);
    } catch {
      // The banner says that the connection is lost; what comes next reads it again.
    }
  }, 300);
}

listen({ onEvent: (event) => { if (event.type !== "feature:agent-output") refresh(); }, onResync: refresh });
