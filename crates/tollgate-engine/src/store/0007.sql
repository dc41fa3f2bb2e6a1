-- Work that many machines share: whose turn it is, found without reading what is not owed; and what may be forgotten.

-- `ready_ms` says from when on a pull request can be claimed, and is empty when nothing is owed to it. `lane` is where it
-- stands in line, one for each repository of an installation; `taken` is the token of its last claim, so that the largest
-- of a lane says when that was served last. `priority` is 2 for what a person asked for, 1 for a push, 0 for what we found
-- out ourselves: each step is worth an hour of waiting, so that nothing waits for ever.
ALTER TABLE pull ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pull ADD COLUMN ready_ms INTEGER;
ALTER TABLE pull ADD COLUMN lane TEXT NOT NULL DEFAULT '';
ALTER TABLE pull ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;

UPDATE pull SET lane = coalesce(installation, 0) || ' ' || repo_key,
  taken = coalesce((SELECT t.taken FROM pull_turn t WHERE t.name = 'repository ' || pull.repo_key), 0),
  ready_ms = CASE
    WHEN EXISTS (SELECT 1 FROM told t WHERE t.pull = pull.id AND t.state = 'due')
      OR EXISTS (SELECT 1 FROM post t WHERE t.pull = pull.id AND t.state IN ('due', 'posting')) THEN not_before_ms
    WHEN wanted > done AND review_at_ms > not_before_ms THEN review_at_ms
    WHEN wanted > done THEN not_before_ms END;
UPDATE pull SET priority = CASE WHEN again > done THEN 2 ELSE 1 END WHERE ready_ms IS NOT NULL;

DROP INDEX pull_owed;
CREATE INDEX pull_ready ON pull (lane, ready_ms) WHERE ready_ms IS NOT NULL;
CREATE INDEX pull_queue ON pull (lane, (since_ms - 3600000 * priority), id, ready_ms) WHERE ready_ms IS NOT NULL;
CREATE INDEX pull_taken ON pull (lane, taken);
CREATE INDEX pull_taken_by_installation ON pull (coalesce(installation, 0), taken);
CREATE INDEX pull_held ON pull (repo_key) WHERE owner IS NOT NULL;
CREATE INDEX pull_held_by_installation ON pull (coalesce(installation, 0)) WHERE owner IS NOT NULL;
CREATE INDEX pull_by_base ON pull (repo_key, base_branch) WHERE closed = 0;

-- Whoever claims where there is a limit holds this row meanwhile, so that two never count the same claims.
DROP TABLE pull_turn;
CREATE TABLE pull_gate (
  name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Lists, searches and trends of a million findings.

-- Findings that count, by category: a trend then reads no finding.
ALTER TABLE run_figures ADD COLUMN n_compliance INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_figures ADD COLUMN n_security INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_figures ADD COLUMN n_logic INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_figures ADD COLUMN n_error INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_figures ADD COLUMN n_type INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_figures ADD COLUMN n_test INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_figures ADD COLUMN n_perf INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_figures ADD COLUMN n_architecture INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_figures ADD COLUMN n_style INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_figures ADD COLUMN n_doc INTEGER NOT NULL DEFAULT 0;

-- Each filter of the list, and each of its orders.
CREATE INDEX run_figures_by_result ON run_figures (result, run);
CREATE INDEX run_figures_by_gate ON run_figures (gate, run);
CREATE INDEX run_figures_by_origin ON run_figures (origin, run);
CREATE INDEX run_figures_by_findings ON run_figures ((n_critical + n_high + n_medium + n_low + n_nit), run);
CREATE INDEX run_figures_by_length ON run_figures (took_ms, run);
CREATE INDEX run_figures_by_cost ON run_figures ((coalesce(cost_usd, -1)), run);
DROP INDEX finding_by_rule;
CREATE INDEX finding_by_rule ON finding (rule, run) WHERE withheld IS NULL;
CREATE INDEX finding_by_severity ON finding (severity, category, run) WHERE withheld IS NULL;
CREATE INDEX finding_by_category ON finding (category, run) WHERE withheld IS NULL;
-- The first 500 characters of a path: an index of PostgreSQL takes no texts of any length.
CREATE INDEX finding_by_file ON finding (CAST(substr(file, 1, 500) AS TEXT), run) WHERE withheld IS NULL;

-- Files in which something was found, each once, with how many findings that count are in it: those with a text in their
-- path are looked for here, and only then among the findings.
CREATE TABLE finding_file (
  file TEXT PRIMARY KEY,
  n    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Names to choose from, and in how many runs each occurs.
CREATE TABLE run_name (
  kind TEXT NOT NULL CHECK (kind IN ('repository', 'reviewer', 'rule')),
  name TEXT NOT NULL,
  n    INTEGER NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- In which runs each three characters of run_search.text stand. Where in the text is not kept: who finds a run looks there.
CREATE VIRTUAL TABLE run_search_grams USING fts5
  (text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1');

-- Whoever forgets a run forgets what was counted of it. Before, for then its findings are still there.
CREATE TRIGGER run_is_not_counted BEFORE DELETE ON run
BEGIN
  UPDATE run_name SET n = n - 1 WHERE
    (kind = 'repository' AND name IN (SELECT repository FROM run_figures WHERE run = OLD.id))
    OR (kind = 'reviewer' AND name IN (SELECT name FROM run_reviewer WHERE run = OLD.id))
    OR (kind = 'rule' AND name IN (SELECT rule FROM finding WHERE run = OLD.id));
  DELETE FROM run_name WHERE n <= 0;
  UPDATE finding_file SET n = n - (
      SELECT count(*) FROM finding WHERE run = OLD.id AND withheld IS NULL AND substr(file, 1, 500) = finding_file.file)
    WHERE file IN (SELECT substr(file, 1, 500) FROM finding WHERE run = OLD.id AND withheld IS NULL);
  DELETE FROM finding_file
    WHERE n <= 0 AND file IN (SELECT substr(file, 1, 500) FROM finding WHERE run = OLD.id AND withheld IS NULL);
  DELETE FROM run_search_grams WHERE rowid = OLD.id;
END;

-- The machine whose folder a project is, where several share a database; nobody's in a file, which is on one machine.
ALTER TABLE project ADD COLUMN machine TEXT;

-- What is old may be forgotten, piece by piece: see `[retention]` in the settings. What stays does not change, but for what
-- pointed to something that is gone.
DROP TRIGGER run_is_final;
CREATE TRIGGER run_is_final BEFORE UPDATE OF
  id, repository, subject, scope, state, started_ms, finished_ms, version, head, base, compared, title, verdict, gate, problem,
  n_added, reviewed, skipped, not_reviewed, review, snapshot, snapshot_key ON run
BEGIN SELECT RAISE(ABORT, 'a stored run does not change'); END;
CREATE TRIGGER run_prior_is_final BEFORE UPDATE OF prior ON run WHEN NEW.prior IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a stored run does not change'); END;
DROP TRIGGER iteration_is_final;
CREATE TRIGGER iteration_is_final BEFORE UPDATE OF
  id, project, feature, number, outcome, commit_id, outdated, n_critical, n_high, n_medium, n_low, n_nit, run, stored_ms, record
  ON iteration
BEGIN SELECT RAISE(ABORT, 'a stored iteration does not change'); END;
CREATE TRIGGER iteration_diff_is_final BEFORE UPDATE OF diff, delta ON iteration
WHEN NEW.diff IS NOT NULL OR NEW.delta IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a stored iteration does not change'); END;

CREATE INDEX pull_by_run ON pull (run) WHERE run IS NOT NULL;
CREATE INDEX pull_closed ON pull (since_ms) WHERE closed = 1;
CREATE INDEX post_over ON post (since_ms) WHERE state IN ('done', 'cancelled');
CREATE INDEX iteration_with_diff ON iteration (stored_ms, id) WHERE diff IS NOT NULL;
CREATE INDEX iteration_by_diff ON iteration (diff) WHERE diff IS NOT NULL;
CREATE INDEX iteration_by_delta ON iteration (delta) WHERE delta IS NOT NULL;
