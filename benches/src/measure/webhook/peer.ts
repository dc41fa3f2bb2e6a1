// The same endpoint on bun and hono: the signature in constant time, the body as JSON, the fields that mean something
// checked one by one, and, when it is told a file, the delivery kept in SQLite as durably as ours.
import { Database } from "bun:sqlite";
import { timingSafeEqual } from "node:crypto";
import { Hono } from "hono";

const [secret, file] = [process.env.SECRET ?? "", process.env.FILE ?? ""];
const db = file ? new Database(file) : null;
db?.run("PRAGMA journal_mode = WAL");
db?.run("PRAGMA synchronous = FULL");
db?.run("CREATE TABLE delivery (guid TEXT PRIMARY KEY, event TEXT NOT NULL, received_ms INTEGER NOT NULL) WITHOUT ROWID");
db?.run("CREATE TABLE pull (repo TEXT NOT NULL, number INTEGER NOT NULL, head TEXT, wanted INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (repo, number))");
const known = db?.query("INSERT OR IGNORE INTO delivery VALUES (?1, ?2, ?3)");
const owed = db?.query("INSERT INTO pull (repo, number, head) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET wanted = wanted + 1, head = ?3");
const keep = db?.transaction((guid: string, event: string, repo: string, number: number, head: string) => {
  if (known!.run(guid, event, Date.now()).changes > 0) owed!.run(repo, number, head);
});

const app = new Hono();
app.post("/webhooks/github", async (c) => {
  const body = new Uint8Array(await c.req.arrayBuffer());
  const said = c.req.header("x-hub-signature-256") ?? "";
  const hash = new Bun.CryptoHasher("sha256", secret).update(body).digest();
  const theirs = Buffer.from(said.slice(7), "hex");
  if (!said.startsWith("sha256=") || theirs.length !== 32 || !timingSafeEqual(hash, theirs)) return c.json({}, 401);
  const [guid, event] = [c.req.header("x-github-delivery"), c.req.header("x-github-event")];
  if (!guid || !event) return c.json({}, 400);
  const payload = JSON.parse(new TextDecoder().decode(body));
  const [action, number, head, repo] = [payload.action, payload.number, payload.pull_request?.head?.sha, payload.repository?.full_name];
  if (typeof action !== "string" || typeof number !== "number" || typeof head !== "string" || typeof repo !== "string") {
    return c.json({}, 422);
  }
  keep?.(guid, event, repo.toLowerCase(), number, head);
  return c.json({ accepted: true }, 202);
});
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: app.fetch });
console.log(`listening on http://127.0.0.1:${server.port}`);
