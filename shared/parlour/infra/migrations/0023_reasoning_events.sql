-- What a model thought is deleted with the pieces of streamed text.
DROP INDEX events_streamed_text;
CREATE INDEX events_streamed_text ON events (tenant_id, at) WHERE kind IN ('text_delta', 'reasoning_delta');
