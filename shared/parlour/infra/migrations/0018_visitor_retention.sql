-- Visitors who wrote nothing are deleted after 30 days. The index comes first: what writes a user and its work locks the
-- two tables in this order.

CREATE INDEX users_visitors ON users (tenant_id, created_at) WHERE phone IS NULL;

ALTER TABLE work_due
    DROP CONSTRAINT work_due_kind_check,
    ADD CONSTRAINT work_due_kind_check
        CHECK (kind IN ('session', 'outbox', 'tool_call', 'embedding', 'file', 'record_type', 'prompt_retention',
            'event_retention', 'visitor_retention', 'pulse', 'extraction', 'summary', 'consolidation', 'archive',
            'phone_link', 'approval', 'inbox', 'inbox_event', 'notification'));
