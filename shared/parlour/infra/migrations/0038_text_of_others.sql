-- Whether others than the tenant wrote a file. What a model reads of it counts as untrusted text. The files that are
-- there already count as such until an editor uploads a version that is the tenant's own.
ALTER TABLE files ADD COLUMN written_by_others boolean NOT NULL DEFAULT true;
