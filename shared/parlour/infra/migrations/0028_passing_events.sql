-- Events that only show progress are deleted with the streamed text. A transaction of its own: one that also locks
-- embeddings could wait for an erasure that waits for it. The old index goes first, since that takes the stronger lock.
DROP INDEX events_streamed_text;
CREATE INDEX events_passing ON events (tenant_id, at)
    WHERE kind IN ('text_delta', 'text_reset', 'reasoning_delta', 'agent_state', 'operation', 'context_usage', 'entity_patch');
