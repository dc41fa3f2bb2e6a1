-- The board of an agent pipeline: features, their reviews, what happened to them and what is owed to them.

CREATE TABLE project (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  path       TEXT NOT NULL UNIQUE,
  name       TEXT NOT NULL,
  added_ms   INTEGER NOT NULL,
  removed_ms INTEGER
) STRICT;

-- What a list of features shows; texts of any length are in feature_text, so that a list reads none of them.
CREATE TABLE feature (
  project       INTEGER NOT NULL REFERENCES project (id),
  id            TEXT NOT NULL,
  rev           INTEGER NOT NULL,
  projected_rev INTEGER NOT NULL,
  status        TEXT NOT NULL,
  work          TEXT NOT NULL,
  pause         TEXT,
  iteration     INTEGER NOT NULL,
  round         INTEGER NOT NULL,
  review        TEXT NOT NULL CHECK (review IN ('pending', 'reviewing', 'approved', 'rejected', 'failed')),
  tries         INTEGER NOT NULL,
  restarts      INTEGER NOT NULL,
  hook_failed   INTEGER NOT NULL,
  commit_id     TEXT,
  committed     INTEGER NOT NULL,
  stale         INTEGER NOT NULL,
  stepped       INTEGER NOT NULL,
  title         TEXT NOT NULL,
  first_line    TEXT NOT NULL,
  search        TEXT NOT NULL,
  priority      INTEGER NOT NULL,
  dependencies  TEXT NOT NULL,
  branch        TEXT,
  target        TEXT,
  base          TEXT,
  worktree      TEXT,
  problem       TEXT,
  broken        TEXT,
  file_hash     BLOB,
  cost_usd      REAL NOT NULL,
  n_tokens      INTEGER NOT NULL,
  created_ms    INTEGER NOT NULL,
  updated_ms    INTEGER NOT NULL,
  deleted_ms    INTEGER,
  PRIMARY KEY (project, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX feature_by_age ON feature (project, created_ms, id) WHERE deleted_ms IS NULL;
CREATE INDEX feature_by_status ON feature (project, status, created_ms, id) WHERE deleted_ms IS NULL;
CREATE INDEX feature_unprojected ON feature (project, id) WHERE projected_rev < rev AND deleted_ms IS NULL;

CREATE TABLE feature_text (
  project     INTEGER NOT NULL,
  feature     TEXT NOT NULL,
  rev         INTEGER NOT NULL,
  document    BLOB NOT NULL,
  note        TEXT,
  hook_output TEXT,
  PRIMARY KEY (project, feature),
  FOREIGN KEY (project, feature) REFERENCES feature (project, id)
) STRICT;

CREATE TABLE blob (
  hash  BLOB PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;

-- One row for each finished review. A number can be there twice: an outdated review, or one that failed and was made again.
CREATE TABLE iteration (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project    INTEGER NOT NULL,
  feature    TEXT NOT NULL,
  number     INTEGER NOT NULL,
  outcome    TEXT NOT NULL CHECK (outcome IN ('approved', 'rejected', 'failed')),
  commit_id  TEXT,
  outdated   INTEGER NOT NULL,
  n_critical INTEGER NOT NULL,
  n_high     INTEGER NOT NULL,
  n_medium   INTEGER NOT NULL,
  n_low      INTEGER NOT NULL,
  n_nit      INTEGER NOT NULL,
  diff       BLOB REFERENCES blob (hash),
  delta      BLOB REFERENCES blob (hash),
  run        INTEGER REFERENCES run (id),
  stored_ms  INTEGER NOT NULL,
  overridden TEXT,
  note       TEXT,
  record     TEXT NOT NULL,
  FOREIGN KEY (project, feature) REFERENCES feature (project, id)
) STRICT;
CREATE INDEX iteration_by_feature ON iteration
  (project, feature, id, number, outcome, n_critical, n_high, n_medium, n_low, n_nit);

-- What happened to a feature, who did it and when. The state before is missing where a feature begins.
CREATE TABLE transition (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project    INTEGER NOT NULL,
  feature    TEXT NOT NULL,
  rev        INTEGER NOT NULL,
  at_ms      INTEGER NOT NULL,
  who        TEXT NOT NULL,
  event      TEXT NOT NULL,
  note       TEXT,
  from_state TEXT,
  to_state   TEXT NOT NULL,
  iteration  INTEGER REFERENCES iteration (id),
  UNIQUE (project, feature, rev),
  FOREIGN KEY (project, feature) REFERENCES feature (project, id)
) STRICT;

-- The work that is owed to a feature, and who does it until when.
CREATE TABLE work (
  project        INTEGER NOT NULL,
  feature        TEXT NOT NULL,
  kind           TEXT NOT NULL,
  attempt        INTEGER NOT NULL,
  since_ms       INTEGER NOT NULL,
  not_before_ms  INTEGER NOT NULL,
  owner          TEXT,
  token          INTEGER UNIQUE,
  lease_until_ms INTEGER,
  PRIMARY KEY (project, feature),
  CHECK ((owner IS NULL) = (token IS NULL) AND (owner IS NULL) = (lease_until_ms IS NULL)),
  FOREIGN KEY (project, feature) REFERENCES feature (project, id)
) STRICT;
CREATE INDEX work_by_kind ON work (kind, lease_until_ms);

-- Numbers that are given out once.
CREATE TABLE counter (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT;
INSERT INTO counter (name, value) VALUES ('attempt', 0), ('token', 0);

-- Processes that may still run. A row stays until somebody has seen the end of its process, whatever became of the work.
CREATE TABLE process (
  token   INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  feature TEXT NOT NULL,
  mark    TEXT NOT NULL
) STRICT;

CREATE TABLE event (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms   INTEGER NOT NULL,
  project INTEGER,
  feature TEXT,
  kind    TEXT NOT NULL,
  payload TEXT NOT NULL
) STRICT;
CREATE INDEX event_by_project ON event (project, seq);
CREATE INDEX event_by_time ON event (at_ms);

-- What happened stays what it was.
CREATE TRIGGER transition_is_final BEFORE UPDATE ON transition
BEGIN SELECT RAISE(ABORT, 'what happened does not change'); END;
CREATE TRIGGER transition_stays BEFORE DELETE ON transition
BEGIN SELECT RAISE(ABORT, 'what happened is not forgotten'); END;
CREATE TRIGGER iteration_stays BEFORE DELETE ON iteration
BEGIN SELECT RAISE(ABORT, 'a stored iteration is not forgotten'); END;
CREATE TRIGGER iteration_is_final BEFORE UPDATE OF
  id, project, feature, number, outcome, commit_id, outdated, n_critical, n_high, n_medium, n_low, n_nit, diff, delta,
  run, stored_ms, record ON iteration
BEGIN SELECT RAISE(ABORT, 'a stored iteration does not change'); END;
-- What a person says of it is added once.
CREATE TRIGGER override_is_final BEFORE UPDATE OF overridden ON iteration WHEN OLD.overridden IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a stored iteration does not change'); END;
CREATE TRIGGER note_is_final BEFORE UPDATE OF note ON iteration WHEN OLD.note IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a stored iteration does not change'); END;
CREATE TRIGGER blob_is_final BEFORE UPDATE ON blob
BEGIN SELECT RAISE(ABORT, 'a stored text does not change'); END;
