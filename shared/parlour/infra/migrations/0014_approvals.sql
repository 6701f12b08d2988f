-- Approvals: questions to a person before a tool call runs, and the permissions that make a question unnecessary.

-- needs_approval: "never", "writes", "always", or a JSON Schema of the arguments that ask.
-- approver: the user of the conversation, or members with a role. approval_hours: how long the question stays open.
ALTER TABLE tools ALTER COLUMN needs_approval DROP DEFAULT;
ALTER TABLE tools ALTER COLUMN needs_approval TYPE jsonb
    USING CASE WHEN needs_approval THEN '"always"'::jsonb ELSE '"never"'::jsonb END;
ALTER TABLE tools ALTER COLUMN needs_approval SET DEFAULT '"never"';
ALTER TABLE tools
    ADD COLUMN approver text NOT NULL DEFAULT 'user' CHECK (approver IN ('user', 'viewer', 'editor', 'admin')),
    ADD COLUMN approval_hours int NOT NULL DEFAULT 24 CHECK (approval_hours BETWEEN 1 AND 720);
ALTER TABLE bindings ADD COLUMN needs_approval jsonb NOT NULL DEFAULT '"never"';

-- One question about one tool call. approver: as in tools; user_id: whose conversation it is.
-- bound: what was asked about, as `bound_call.py` reads it; bound_hash: its digest, compared again before the call runs.
-- shown_level: the highest classification that the conversation had shown.
-- posted_at: when the question was last put to the user; a typed answer counts only as their next message after that.
CREATE TABLE approvals (
    tenant_id    uuid NOT NULL,
    id           uuid NOT NULL,
    session_id   uuid NOT NULL,
    binding_id   uuid NOT NULL,
    user_id      uuid NOT NULL,
    tool_call_id uuid NOT NULL,
    approver     text NOT NULL CHECK (approver IN ('user', 'viewer', 'editor', 'admin')),
    tool         text NOT NULL,
    arguments    jsonb NOT NULL,
    question     text NOT NULL,
    options      text[] NOT NULL,
    channel      text NOT NULL,
    bound        jsonb NOT NULL,
    bound_hash   text NOT NULL,
    shown_level  int NOT NULL DEFAULT 0 CHECK (shown_level BETWEEN 0 AND 3),
    state        text NOT NULL
        CHECK (state IN ('asked', 'approved', 'refused', 'expired', 'superseded', 'claimed', 'done')),
    reason       text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL,
    posted_at    timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    answered_at  timestamptz,
    answered_by  text,
    done_at      timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, tool_call_id) REFERENCES tool_calls (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('approvals');
CREATE INDEX approvals_open ON approvals (tenant_id, session_id) WHERE state = 'asked';
CREATE INDEX approvals_list ON approvals (tenant_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX approvals_call ON approvals (tenant_id, tool_call_id) WHERE state <> 'superseded';

-- "Always allow": calls of matching tools run without a question for one user and binding, until a time.
-- tool: a tool's name, or a pattern with * such as `create_*`.
CREATE TABLE approval_grants (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    user_id    uuid NOT NULL,
    binding_id uuid NOT NULL,
    tool       text NOT NULL,
    granted_by text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('approval_grants');
CREATE INDEX approval_grants_user ON approval_grants (tenant_id, user_id, binding_id);

ALTER TABLE work_due
    DROP CONSTRAINT work_due_kind_check,
    ADD CONSTRAINT work_due_kind_check
        CHECK (kind IN ('session', 'outbox', 'tool_call', 'embedding', 'file', 'record_type', 'prompt_retention',
            'event_retention', 'pulse', 'extraction', 'summary', 'consolidation', 'archive', 'phone_link', 'approval',
            'inbox', 'inbox_event', 'notification'));
