-- A turn may be stopped: it ends with what it has of a reply, and its state says so.
-- stop_requested_at, stop_cause: set by whoever wants it to end; the worker that runs the turn reads them.
ALTER TABLE turns
    ADD COLUMN stop_requested_at timestamptz,
    ADD COLUMN stop_cause        text CHECK (stop_cause IN ('user', 'member', 'word', 'message')),
    DROP CONSTRAINT turns_state_check,
    ADD CONSTRAINT turns_state_check CHECK (state IN ('open', 'answered', 'failed', 'stopped'));

ALTER TABLE llm_calls
    DROP CONSTRAINT llm_calls_outcome_check,
    ADD CONSTRAINT llm_calls_outcome_check CHECK (outcome IN ('ok', 'unavailable', 'rejected', 'stopped'));

-- queue: {"mode": "collect" | "interrupt", "stop_words": {language: [word]}}: what happens to a message that
-- comes while a turn runs; {}: as by default.
ALTER TABLE bindings ADD COLUMN queue jsonb NOT NULL DEFAULT '{}';
