-- Notifications of the inbox: who is told by e-mail or webhook that a conversation needs a person.

-- email: where a member is told of conversations; null for members who are not told.
ALTER TABLE members ADD COLUMN email text;

-- notifications: {"email": [...], "roles": [...], "webhook": {"url", "secret"}, "events": [...]}, as the pack has it.
ALTER TABLE bindings ADD COLUMN notifications jsonb NOT NULL DEFAULT '{}';

-- One row per event and recipient. It holds no text of the user. recipient: an e-mail address or a URL.
-- secret: the name of the webhook's signing secret. problem: why it was not delivered.
CREATE TABLE notifications (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id         uuid NOT NULL,
    event_id   uuid NOT NULL,
    event      text NOT NULL CHECK (event IN ('opened', 'said', 'taken', 'handed_back', 'closed')),
    reason     text NOT NULL,
    session_id uuid NOT NULL,
    medium     text NOT NULL CHECK (medium IN ('email', 'webhook')),
    recipient  text NOT NULL,
    secret     text,
    state      text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'unknown', 'dismissed')),
    problem    text,
    created_at timestamptz NOT NULL,
    ended_at   timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, event_id, medium, recipient),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('notifications');
CREATE INDEX notifications_problem ON notifications (tenant_id, created_at) WHERE state IN ('failed', 'unknown');
CREATE INDEX notifications_session ON notifications (tenant_id, session_id);

-- notification: the notification that is to be sent. The kinds before it stay as they are.
DO $$
DECLARE
    known text := (SELECT substr(pg_get_constraintdef(oid), 6) FROM pg_constraint WHERE conname = 'work_due_kind_check');
BEGIN
    ALTER TABLE work_due DROP CONSTRAINT work_due_kind_check;
    EXECUTE format(
        'ALTER TABLE work_due ADD CONSTRAINT work_due_kind_check CHECK (%s OR kind = %L)', known, 'notification');
END
$$;
