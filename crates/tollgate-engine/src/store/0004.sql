-- What lists and trends of reviews show, in small rows of its own, so that neither reads a review.

CREATE TABLE run_figures (
  run        INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
  repository TEXT NOT NULL,
  origin     TEXT NOT NULL CHECK (origin IN ('command-line', 'pipeline', 'pull-request')),
  ended_ms   INTEGER NOT NULL,
  took_ms    INTEGER NOT NULL,
  result     TEXT NOT NULL CHECK (result IN ('APPROVED', 'COMMENTED', 'CHANGES_REQUESTED', 'FAILED')),
  gate       TEXT,
  n_critical INTEGER NOT NULL,
  n_high     INTEGER NOT NULL,
  n_medium   INTEGER NOT NULL,
  n_low      INTEGER NOT NULL,
  n_nit      INTEGER NOT NULL,
  n_praise   INTEGER NOT NULL,
  n_withheld INTEGER NOT NULL,
  n_new      INTEGER,
  n_prior    INTEGER,
  n_resolved INTEGER,
  cost_usd   REAL,
  n_tokens   INTEGER
) STRICT;
CREATE INDEX run_figures_by_time ON run_figures (ended_ms);
CREATE INDEX run_figures_by_repository ON run_figures (repository, ended_ms);

-- What can be searched for, in lower case.
CREATE TABLE run_search (
  run  INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE run_reviewer (
  run  INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_reviewer_by_name ON run_reviewer (name, run);

CREATE INDEX run_by_prior ON run (prior) WHERE prior IS NOT NULL;
CREATE INDEX iteration_by_run ON iteration (run) WHERE run IS NOT NULL;
CREATE INDEX finding_by_kind ON finding (run, category, withheld, rule, fingerprint);
CREATE INDEX finding_by_rule ON finding (rule, run);
CREATE INDEX dismissal_by_fingerprint ON dismissal (fingerprint, repository);
