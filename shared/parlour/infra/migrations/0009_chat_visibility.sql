-- Who else of the tenant reads a conversation about a record: what the record's kind said when it was opened. What was
-- private then stays so when the kind's settings change.
ALTER TABLE sessions ADD COLUMN visibility text NOT NULL DEFAULT 'private'
    CHECK (visibility IN ('private', 'role_gated', 'shared'));
