-- Who dismissed a finding; nobody asked before, and on one's own machine nobody asks.
ALTER TABLE dismissal ADD COLUMN who TEXT;
