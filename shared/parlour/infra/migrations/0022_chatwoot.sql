-- Chatwoot as a medium of notifications, notifications of service times that passed, and a feed that skips nothing.

ALTER TABLE notifications DROP CONSTRAINT notifications_medium_check;
ALTER TABLE notifications ADD CONSTRAINT notifications_medium_check CHECK (medium IN ('email', 'webhook', 'chatwoot'));
ALTER TABLE notifications DROP CONSTRAINT notifications_event_check;
ALTER TABLE notifications ADD CONSTRAINT notifications_event_check
    CHECK (event IN ('opened', 'said', 'taken', 'handed_back', 'closed', 'breached', 'escalated'));

-- Where a conversation is in Chatwoot. inbox: the address of Chatwoot's inbox, as `notifications.recipient` has it.
-- conversation: Chatwoot's number of the conversation in its account. own_user: Chatwoot's id of the user whose token
-- Parlour posts with.
CREATE TABLE chatwoot_conversations (
    tenant_id    uuid NOT NULL,
    session_id   uuid NOT NULL,
    inbox        text NOT NULL,
    conversation bigint NOT NULL,
    own_user     bigint NOT NULL,
    PRIMARY KEY (tenant_id, session_id, inbox),
    UNIQUE (tenant_id, inbox, conversation),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('chatwoot_conversations');

-- Events are numbered when their transaction commits, one transaction of a tenant at a time. So a reader who has seen a
-- number has seen all smaller ones. No lock follows this one, and it cannot be part of a deadlock.
CREATE FUNCTION number_inbox_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('inbox_events:' || NEW.tenant_id, 0));
    UPDATE inbox_events SET number = DEFAULT WHERE tenant_id = NEW.tenant_id AND id = NEW.id;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER number_inbox_event AFTER INSERT ON inbox_events DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION number_inbox_event();
