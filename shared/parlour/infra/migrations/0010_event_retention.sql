-- Streamed text, as events, is deleted a day after it was sent: the reply has it.

ALTER TABLE work_due DROP CONSTRAINT work_due_kind_check;
ALTER TABLE work_due ADD CONSTRAINT work_due_kind_check
    CHECK (kind IN ('session', 'outbox', 'tool_call', 'embedding', 'file', 'record_type', 'prompt_retention',
        'event_retention', 'pulse', 'extraction', 'summary', 'consolidation', 'archive', 'phone_link'));

CREATE INDEX events_streamed_text ON events (tenant_id, at) WHERE kind = 'text_delta';
