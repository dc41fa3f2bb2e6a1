-- A dismissal holds for the change it was made on. Without a subject, as all dismissals of earlier versions are, it holds
-- for the whole repository, and reviews say so.
ALTER TABLE dismissal ADD COLUMN subject TEXT;
-- The agent that proposed it, for a dismissal that a person confirmed.
ALTER TABLE dismissal ADD COLUMN proposed_by TEXT;

-- Dismissals that agents propose. They have no effect until a person confirms them, so they are not among the dismissals,
-- where a program of an earlier version would find and apply them.
CREATE TABLE proposal (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  repository  TEXT NOT NULL,
  subject     TEXT,
  fingerprint TEXT NOT NULL,
  file        TEXT NOT NULL,
  title       TEXT NOT NULL,
  evidence    TEXT NOT NULL,
  reason      TEXT NOT NULL,
  who         TEXT NOT NULL,
  made_ms     INTEGER NOT NULL,
  settled_ms  INTEGER,
  settled_by  TEXT,
  outcome     TEXT CHECK (outcome IN ('confirmed', 'rejected'))
) STRICT;
CREATE INDEX proposal_by_repository ON proposal (repository);

-- Agents dismissed by themselves before: each of these needs a person now.
INSERT INTO proposal (repository, fingerprint, file, title, evidence, reason, who, made_ms)
SELECT repository, fingerprint, file, title, evidence, reason, who, made_ms FROM dismissal
WHERE who = 'an agent over MCP' AND withdrawn_ms IS NULL ORDER BY id;
UPDATE dismissal SET withdrawn_ms = made_ms WHERE who = 'an agent over MCP' AND withdrawn_ms IS NULL;
