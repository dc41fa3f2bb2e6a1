-- A dismissal covers the finding that was dismissed: in its enclosing function, and not a more severe one. Both are unknown
-- for dismissals of earlier versions.
ALTER TABLE dismissal ADD COLUMN scope TEXT;
ALTER TABLE dismissal ADD COLUMN severity TEXT;
ALTER TABLE proposal ADD COLUMN scope TEXT;
ALTER TABLE proposal ADD COLUMN severity TEXT;
