-- What models say of facts, facts beside each other under one key, and facts with an end.

-- member: null for the one value of a key; the id of the first row of a value that stands beside others, kept by the
-- rows that take its place. holds_until: when the fact ends by itself. doubted_at: when a model could not tell whether
-- the fact still holds; asked_at: when a turn was told to ask the user, which happens once.
ALTER TABLE facts
    ADD COLUMN member      uuid,
    ADD COLUMN holds_until timestamptz,
    ADD COLUMN doubted_at  timestamptz,
    ADD COLUMN asked_at    timestamptz,
    DROP CONSTRAINT facts_end_reason_check,
    ADD CONSTRAINT facts_end_reason_check CHECK (
        end_reason IN ('refined', 'contradicted', 'corrected', 'retracted', 'expired', 'edited', 'deleted', 'merged',
                       'evicted'));
DROP INDEX facts_live;
CREATE UNIQUE INDEX facts_live ON facts (tenant_id, user_id, binding_id, human_id, team_id, key, member)
    NULLS NOT DISTINCT WHERE valid_until IS NULL;
CREATE INDEX facts_ending ON facts (tenant_id, user_id, binding_id, holds_until)
    WHERE valid_until IS NULL AND holds_until IS NOT NULL;

-- first_answer: {subject, polarity, duration, certainty} of the proposal, where a model made it. second_answer: what the
-- second look said of it. Neither holds words of the user.
ALTER TABLE fact_decisions
    ADD COLUMN first_answer  jsonb,
    ADD COLUMN second_answer text
        CHECK (second_answer IN ('supports', 'other person', 'temporary', 'not said', 'unclear'));
