// Cuts GitHub's description of its API to the parts that tollgate uses, so that Prism starts in seconds.
//
//   node contract-cut.mjs api.github.com.json cut.json
//
// Every `$ref` that is left leads somewhere; GraphQL, which that description does not have, is let through as JSON.
import { readFileSync, writeFileSync } from "node:fs";

const repository = "/repos/{owner}/{repo}";
const used = {
  "/app": ["get"],
  "/app/hook/deliveries": ["get"],
  "/app/hook/deliveries/{delivery_id}/attempts": ["post"],
  "/app/installations/{installation_id}/access_tokens": ["post"],
  "/app-manifests/{code}/conversions": ["post"],
  "/user": ["get"],
  [repository]: ["get"],
  [`${repository}/installation`]: ["get"],
  [`${repository}/collaborators/{username}/permission`]: ["get"],
  [`${repository}/pulls`]: ["get"],
  [`${repository}/pulls/{pull_number}`]: ["get"],
  [`${repository}/pulls/{pull_number}/commits`]: ["get"],
  [`${repository}/pulls/{pull_number}/files`]: ["get"],
  [`${repository}/pulls/{pull_number}/reviews`]: ["get", "post"],
  [`${repository}/pulls/{pull_number}/comments`]: ["get", "post"],
  [`${repository}/pulls/{pull_number}/comments/{comment_id}/replies`]: ["post"],
  [`${repository}/pulls/comments/{comment_id}`]: ["delete"],
  [`${repository}/issues/{issue_number}/comments`]: ["get", "post"],
  [`${repository}/issues/comments/{comment_id}`]: ["patch", "delete"],
  [`${repository}/commits/{ref}/check-runs`]: ["get"],
  [`${repository}/check-runs`]: ["post"],
  [`${repository}/check-runs/{check_run_id}`]: ["get", "patch"],
};

const [from, to] = process.argv.slice(2);
const whole = JSON.parse(readFileSync(from, "utf8"));
const cut = {
  openapi: whole.openapi,
  info: whole.info,
  servers: [{ url: "/" }],
  paths: {},
  components: {},
};

const at = (reference) =>
  reference.slice(2).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
const known = new Set();
const follow = (value) => {
  if (value === null || typeof value !== "object") return;
  if (typeof value.$ref === "string" && !known.has(value.$ref)) {
    known.add(value.$ref);
    const [, kind, name] = at(value.$ref);
    cut.components[kind] ??= {};
    cut.components[kind][name] = whole.components[kind][name];
    follow(cut.components[kind][name]);
  }
  Object.values(value).forEach(follow);
};

for (const [path, methods] of Object.entries(used)) {
  const described = whole.paths[path];
  if (!described) throw new Error(`GitHub does not describe ${path}`);
  cut.paths[path] = {};
  if (described.parameters) cut.paths[path].parameters = described.parameters;
  for (const method of methods) {
    if (!described[method]) throw new Error(`GitHub does not describe ${method} ${path}`);
    cut.paths[path][method] = described[method];
  }
  follow(cut.paths[path]);
}

const json = (schema) => ({ content: { "application/json": { schema } } });
const query = { type: "object", required: ["query"], properties: { query: { type: "string" }, variables: { type: "object" } } };
cut.paths["/graphql"] = {
  post: {
    operationId: "graphql",
    requestBody: { required: true, ...json(query) },
    responses: { default: { description: "What was asked for.", ...json({ type: "object" }) } },
  },
};
writeFileSync(to, JSON.stringify(cut));
console.log(`${Object.keys(cut.paths).length} paths, ${Object.keys(cut.components.schemas).length} schemas`);
