-- The inbox: conversations that people answer.

-- One row per session that was ever in the inbox. While state is waiting, person or snoozed, no turn begins.
-- claim: the fencing token of who answers; every change of state or assignee raises it. assignee: a principal's name,
-- member:<id> for people. instruction: what a person told the agent when handing back, until a turn has answered with it.
-- The three due times are those of the running clocks; null when a clock stopped, or its breach was recorded.
CREATE TABLE inbox_threads (
    tenant_id             uuid NOT NULL,
    session_id            uuid NOT NULL,
    state                 text NOT NULL CHECK (state IN ('agent', 'waiting', 'person', 'snoozed', 'done')),
    claim                 bigint NOT NULL DEFAULT 1,
    assignee              text,
    assignee_name         text,
    reason                text NOT NULL
        CHECK (reason IN ('asked', 'words', 'tool_failed', 'unknown_effect', 'approval', 'held_reply', 'failed_turn',
            'member')),
    reason_text           text NOT NULL DEFAULT '',
    priority              int NOT NULL DEFAULT 0,
    instruction           text,
    opened_by             text NOT NULL,
    opened_at             timestamptz NOT NULL,
    answered_at           timestamptz,
    closed_at             timestamptz,
    snoozed_until         timestamptz,
    first_response_due_at timestamptz,
    resolution_due_at     timestamptz,
    escalation_due_at     timestamptz,
    updated_at            timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('inbox_threads');
CREATE INDEX inbox_threads_list ON inbox_threads (tenant_id, priority DESC, opened_at, session_id);

-- What happened to a conversation in the inbox, in the order of `number`. body: a private note or an instruction.
-- message_id: the message that a `said` event is about. details: ids, states and reasons; no words of people.
CREATE TABLE inbox_events (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    number     bigint GENERATED ALWAYS AS IDENTITY,
    session_id uuid NOT NULL,
    kind       text NOT NULL
        CHECK (kind IN ('opened', 'said', 'taken', 'assigned', 'released', 'noted', 'snoozed', 'woken', 'handed_back',
            'closed', 'breached', 'escalated')),
    actor      text NOT NULL,
    actor_name text NOT NULL DEFAULT '',
    message_id uuid,
    body       text NOT NULL DEFAULT '',
    details    jsonb NOT NULL DEFAULT '{}',
    at         timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('inbox_events');
CREATE INDEX inbox_events_number ON inbox_events (tenant_id, number);
CREATE INDEX inbox_events_session ON inbox_events (tenant_id, session_id, number);

-- inbox: {"words": {language: [word]}, "service": {...}} of a binding whose conversations people answer; {} without.
ALTER TABLE bindings ADD COLUMN inbox jsonb NOT NULL DEFAULT '{}';

-- inbox: the session whose clocks run. The kinds before it stay as they are.
DO $$
DECLARE
    known text := (SELECT substr(pg_get_constraintdef(oid), 6) FROM pg_constraint WHERE conname = 'work_due_kind_check');
BEGIN
    ALTER TABLE work_due DROP CONSTRAINT work_due_kind_check;
    EXECUTE format('ALTER TABLE work_due ADD CONSTRAINT work_due_kind_check CHECK (%s OR kind = %L)', known, 'inbox');
END
$$;
