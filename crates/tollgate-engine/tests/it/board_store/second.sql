-- A board as the second version of the schema left it: one feature with two reviews and one whose file is no JSON.
PRAGMA application_id = 0x746f6c6c;
PRAGMA user_version = 2;
PRAGMA journal_mode = WAL;

INSERT INTO project (id, path, name, added_ms) VALUES (1, '/p', 'p', 1);
INSERT INTO feature (project, id, rev, projected_rev, status, work, pause, iteration, round, review, tries, restarts,
  hook_failed, committed, stale, stepped, title, first_line, search, priority, dependencies, cost_usd, n_tokens, created_ms,
  updated_ms)
VALUES
  (1, 'known', 3, 3, 'in_progress', 'nothing', 'stopped', 2, 2, 'rejected', 0, 0, 0, 1, 0, 0, 'Known', '', 'known', 2, '[]',
   0, 0, 1, 300),
  (1, 'broken', 1, 1, 'backlog', 'nothing', NULL, 0, 0, 'pending', 0, 0, 0, 0, 0, 0, '', '', 'broken', 2, '[]', 0, 0, 1, 7);
INSERT INTO feature_text (project, feature, rev, document) VALUES
  (1, 'known', 3, CAST('{"category": "Core", "model": "small", "skipTests": false}' AS BLOB)),
  (1, 'broken', 1, x'7b22636174');
INSERT INTO transition (project, feature, rev, at_ms, who, event, from_state, to_state) VALUES
  (1, 'known', 1, 100, 'p', 'added', NULL, '{"status":"backlog","work":"nothing","pause":null}'),
  (1, 'known', 2, 200, 'p', 'stop', '{"status":"in_progress","work":"queued","pause":null}',
   '{"status":"in_progress","work":"nothing","pause":"stopped"}'),
  (1, 'known', 3, 300, 'p', 'edited', '{"status":"in_progress","work":"nothing","pause":"stopped"}',
   '{"status":"in_progress","work":"nothing","pause":"stopped"}');
INSERT INTO iteration (project, feature, number, outcome, outdated, n_critical, n_high, n_medium, n_low, n_nit, stored_ms, record)
VALUES
  (1, 'known', 1, 'rejected', 0, 0, 3, 0, 0, 0, 1, '{"findings": [{"title": "a", "identity": {"fingerprint": "1"}},
     {"title": "b", "identity": {"fingerprint": "2"}}, {"title": "c", "file": "x"}], "late": []}'),
  (1, 'known', 1, 'failed', 0, 0, 0, 0, 0, 0, 2, '{"findings": [], "late": []}'),
  (1, 'known', 2, 'rejected', 0, 0, 2, 0, 0, 0, 3, '{"findings": [{"title": "other words", "identity": {"fingerprint": "2"}},
     {"title": "c", "file": "y", "identity": null}], "late": [{}]}');
