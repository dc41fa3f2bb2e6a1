-- Pull requests on a code host: what was delivered, what is owed to each, what people told us there, what is to be posted.

-- What was taken in, so that nothing is taken in twice; forgotten after a while.
CREATE TABLE delivery (
  guid        TEXT PRIMARY KEY,
  event       TEXT NOT NULL,
  received_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_by_time ON delivery (received_ms);

-- `wanted` counts what was asked, `done` says up to where it was carried out; `again` and `whole` are values of `wanted`
-- up to which somebody asked for another review, or for one of all of it. Models are asked again `ask_pause_ms` after
-- `asked_ms`; a review that has to wait for that is put off, whatever else is asked meanwhile.
CREATE TABLE pull (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_key       TEXT NOT NULL,
  repo           TEXT NOT NULL,
  number         INTEGER NOT NULL,
  installation   INTEGER,
  wanted         INTEGER NOT NULL DEFAULT 0,
  done           INTEGER NOT NULL DEFAULT 0,
  again          INTEGER NOT NULL DEFAULT 0,
  whole          INTEGER NOT NULL DEFAULT 0,
  since_ms       INTEGER NOT NULL DEFAULT 0,
  review_at_ms   INTEGER NOT NULL DEFAULT 0,
  not_before_ms  INTEGER NOT NULL DEFAULT 0,
  asked_ms       INTEGER NOT NULL DEFAULT 0,
  ask_pause_ms   INTEGER NOT NULL DEFAULT 0,
  put_off_to_ms  INTEGER NOT NULL DEFAULT 0,
  attempt        INTEGER NOT NULL DEFAULT 0,
  troubles       INTEGER NOT NULL DEFAULT 0,
  paused_by      TEXT,
  closed         INTEGER NOT NULL DEFAULT 0,
  base_branch    TEXT,
  head           TEXT,
  reviewed_head  TEXT,
  reviewed_as    TEXT,
  run            INTEGER REFERENCES run (id),
  problem        TEXT,
  owner          TEXT,
  token          INTEGER UNIQUE,
  lease_until_ms INTEGER,
  UNIQUE (repo_key, number),
  CHECK (done <= wanted),
  CHECK ((owner IS NULL) = (token IS NULL) AND (owner IS NULL) = (lease_until_ms IS NULL))
) STRICT;
CREATE INDEX pull_owed ON pull (review_at_ms) WHERE wanted > done;
CREATE INDEX pull_in_trouble ON pull (since_ms) WHERE problem IS NOT NULL;
CREATE INDEX pull_by_owner ON pull (owner) WHERE owner IS NOT NULL;

-- When a repository or an installation was served last, so that each has its turn.
CREATE TABLE pull_turn (
  name  TEXT PRIMARY KEY,
  taken INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counter (name, value) VALUES ('pull_token', 0);

-- Reviews for which models were asked, as long as they count; 0 is no installation.
CREATE TABLE asking (
  at_ms        INTEGER NOT NULL,
  repo_key     TEXT NOT NULL,
  installation INTEGER NOT NULL,
  author       TEXT NOT NULL
) STRICT;
CREATE INDEX asking_by_repository ON asking (repo_key, at_ms);
CREATE INDEX asking_by_author ON asking (installation, author, at_ms);
CREATE INDEX asking_by_time ON asking (at_ms);

-- What people told us, each once.
CREATE TABLE told (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  pull    INTEGER NOT NULL REFERENCES pull (id),
  kind    TEXT NOT NULL CHECK (kind IN ('conversation', 'thread', 'resolved')),
  comment INTEGER NOT NULL,
  root    INTEGER,
  who     TEXT NOT NULL,
  what    TEXT NOT NULL,
  at_ms   INTEGER NOT NULL,
  state   TEXT NOT NULL CHECK (state IN ('due', 'done')),
  UNIQUE (pull, kind, comment)
) STRICT;
CREATE INDEX told_due ON told (pull) WHERE state = 'due';

-- What is to be seen at the host. `final` is 0 for a check that is still going on there.
CREATE TABLE post (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  pull      INTEGER NOT NULL REFERENCES pull (id),
  head      TEXT NOT NULL,
  kind      TEXT NOT NULL,
  key       TEXT NOT NULL,
  body      TEXT NOT NULL,
  final     INTEGER NOT NULL,
  state     TEXT NOT NULL CHECK (state IN ('due', 'posting', 'done', 'cancelled')),
  since_ms  INTEGER NOT NULL,
  remote_id INTEGER,
  attempt   INTEGER NOT NULL,
  problem   TEXT,
  UNIQUE (pull, kind, key)
) STRICT;
CREATE INDEX post_due ON post (pull) WHERE state IN ('due', 'posting');
CREATE INDEX post_given_up ON post (since_ms) WHERE state = 'cancelled' AND problem IS NOT NULL;
