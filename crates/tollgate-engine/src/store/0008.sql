-- Lanes are served round robin, so the index of due jobs alone finds the next one; and leases are so few that one index
-- has them all. Every index less is one less to write for each claim, heartbeat and release.
DROP INDEX pull_taken;
DROP INDEX pull_taken_by_installation;
DROP INDEX pull_held;
DROP INDEX pull_held_by_installation;
