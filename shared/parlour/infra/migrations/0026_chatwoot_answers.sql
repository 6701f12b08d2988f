-- refused: what a person wrote in Chatwoot was not sent to the user. Chatwoot alone is told.
ALTER TABLE notifications DROP CONSTRAINT notifications_event_check;
ALTER TABLE notifications ADD CONSTRAINT notifications_event_check
    CHECK (event IN ('opened', 'said', 'taken', 'handed_back', 'closed', 'breached', 'escalated', 'refused'));
