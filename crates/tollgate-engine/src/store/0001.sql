-- The first version of the memory. A released version never changes; the next one is another file.

CREATE TABLE run (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  repository   TEXT NOT NULL,
  subject      TEXT NOT NULL,
  scope        TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('completed', 'failed', 'cancelled')),
  started_ms   INTEGER NOT NULL,
  finished_ms  INTEGER NOT NULL,
  version      TEXT NOT NULL,
  head         TEXT NOT NULL,
  base         TEXT NOT NULL,
  compared     TEXT NOT NULL,
  title        TEXT,
  verdict      TEXT CHECK (verdict IN ('APPROVED', 'COMMENTED', 'CHANGES_REQUESTED')),
  gate         TEXT,
  problem      TEXT,
  n_added      INTEGER NOT NULL,
  reviewed     INTEGER NOT NULL,
  skipped      INTEGER NOT NULL,
  not_reviewed INTEGER NOT NULL,
  prior        INTEGER REFERENCES run (id),
  review       TEXT,
  snapshot     BLOB,
  snapshot_key BLOB NOT NULL,
  CHECK ((state = 'completed') = (review IS NOT NULL))
) STRICT;
CREATE INDEX run_by_subject ON run (repository, subject, scope, state, id);

CREATE TABLE finding (
  run         INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  id          TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  file        TEXT NOT NULL,
  line_start  INTEGER NOT NULL,
  line_end    INTEGER NOT NULL,
  severity    TEXT NOT NULL,
  category    TEXT NOT NULL,
  rule        TEXT,
  reviewer    TEXT,
  summary     TEXT NOT NULL,
  withheld    TEXT,
  since_last  TEXT CHECK (since_last IN ('new', 'still open')),
  PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX finding_by_fingerprint ON finding (fingerprint);

CREATE TABLE dismissal (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  repository   TEXT NOT NULL,
  fingerprint  TEXT NOT NULL,
  file         TEXT NOT NULL,
  title        TEXT NOT NULL,
  evidence     TEXT NOT NULL,
  reason       TEXT NOT NULL,
  made_ms      INTEGER NOT NULL,
  withdrawn_ms INTEGER
) STRICT;
CREATE INDEX dismissal_by_repository ON dismissal (repository);

CREATE TABLE scanned (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  key    BLOB NOT NULL UNIQUE,
  hits   BLOB NOT NULL
) STRICT;

-- A run is what it was when it ended.
CREATE TRIGGER run_is_final BEFORE UPDATE ON run
BEGIN SELECT RAISE(ABORT, 'a stored run does not change'); END;
CREATE TRIGGER finding_is_final BEFORE UPDATE ON finding
BEGIN SELECT RAISE(ABORT, 'a stored finding does not change'); END;
