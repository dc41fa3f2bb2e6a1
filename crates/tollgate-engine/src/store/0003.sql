-- What a card shows besides: its group and model, since when it is where it is, and what changed between two reviews.

ALTER TABLE feature ADD COLUMN category TEXT;
ALTER TABLE feature ADD COLUMN model TEXT;
ALTER TABLE feature ADD COLUMN skip_tests INTEGER NOT NULL DEFAULT 1;
-- Since when its column, the work that is owed to it, and what it waits for are what they are.
ALTER TABLE feature ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0;

UPDATE feature SET category = d.category, model = d.model, skip_tests = d.skip_tests FROM (
  SELECT project, feature,
    CASE json_type(text, '$.category') WHEN 'text' THEN nullif(json_extract(text, '$.category'), '') END AS category,
    CASE json_type(text, '$.model') WHEN 'text' THEN nullif(json_extract(text, '$.model'), '') END AS model,
    json_type(text, '$.skipTests') IS NOT 'false' AS skip_tests
  FROM (
    -- A file that cannot be read says nothing.
    SELECT project, feature,
      CASE WHEN json_valid(CAST(document AS TEXT)) THEN CAST(document AS TEXT) ELSE '{}' END AS text
    FROM feature_text
  )
) AS d WHERE d.project = feature.project AND d.feature = feature.id;

UPDATE feature SET since_ms = coalesce((
  SELECT max(t.at_ms) FROM transition t WHERE t.project = feature.project AND t.feature = feature.id
    AND (t.from_state IS NULL OR json_extract(t.from_state, '$.status', '$.work', '$.pause')
      IS NOT json_extract(t.to_state, '$.status', '$.work', '$.pause'))
), updated_ms);

-- What is new and what is gone since the review before; nothing where there was none.
ALTER TABLE iteration ADD COLUMN n_new INTEGER;
ALTER TABLE iteration ADD COLUMN n_resolved INTEGER;
ALTER TABLE iteration ADD COLUMN n_late INTEGER NOT NULL DEFAULT 0;

CREATE TEMP TABLE remark_key AS
  SELECT i.id AS iteration, coalesce(json_extract(f.value, '$.identity.fingerprint'),
    coalesce(json_extract(f.value, '$.file'), '') || char(10) || json_extract(f.value, '$.title')) AS key
  FROM iteration i, json_each(i.record, '$.findings') f;
CREATE INDEX temp.remark_key_by_iteration ON remark_key (iteration, key);
CREATE TEMP TABLE prior AS
  SELECT i.id AS iteration, (
    SELECT max(p.id) FROM iteration p WHERE p.project = i.project AND p.feature = i.feature AND p.id < i.id
      AND p.outcome <> 'failed' AND p.outdated = 0
  ) AS prior FROM iteration i WHERE i.outcome <> 'failed';

UPDATE iteration SET n_late = json_array_length(record, '$.late');
UPDATE iteration SET
  n_new = (SELECT count(*) FROM remark_key k WHERE k.iteration = p.iteration
    AND NOT EXISTS (SELECT 1 FROM remark_key o WHERE o.iteration = p.prior AND o.key = k.key)),
  n_resolved = (SELECT count(*) FROM remark_key k WHERE k.iteration = p.prior
    AND NOT EXISTS (SELECT 1 FROM remark_key o WHERE o.iteration = p.iteration AND o.key = k.key))
FROM prior p WHERE p.iteration = iteration.id AND p.prior IS NOT NULL;

DROP TABLE remark_key;
DROP TABLE prior;

CREATE TRIGGER iteration_figures_are_final BEFORE UPDATE OF n_new, n_resolved, n_late ON iteration
BEGIN SELECT RAISE(ABORT, 'a stored iteration does not change'); END;

DROP INDEX iteration_by_feature;
CREATE INDEX iteration_by_feature ON iteration (project, feature, id, number, outcome, n_critical, n_high, n_medium, n_low,
  n_nit, n_new, n_resolved, n_late);
