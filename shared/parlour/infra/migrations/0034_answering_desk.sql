-- What an inbox in Chatwoot may read of a conversation: the lowest level that one of its bindings gives that inbox, the
-- one with the number or page or the one that answers; null where neither has it.
CREATE FUNCTION chatwoot_clearance(session sessions, chatwoot_inbox text) RETURNS int
    LANGUAGE sql STABLE
    RETURN (SELECT min(COALESCE((c.settings ->> 'clearance')::int, 0))
              FROM bindings b
             CROSS JOIN LATERAL (SELECT b.notifications -> 'chatwoot' AS settings) c
             WHERE b.tenant_id = session.tenant_id AND b.id IN (session.binding_id, answering_binding(session))
               AND rtrim(c.settings ->> 'url', '/') || '/api/v1/accounts/' || (c.settings ->> 'account') || '/inboxes/'
                   || (c.settings ->> 'inbox') = chatwoot_inbox);

-- Whether a tool did not work: what the model got wrong, what a rule of Parlour or of the pack's code refused, and what a
-- person did not agree to does not count; what the tool's own system rejected does.
CREATE FUNCTION is_tool_failure(call tool_calls) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN call.state = 'failed'
       AND call.code NOT IN ('invalid_arguments', 'unknown_tool', 'not_available', 'cancelled', 'approval_asked',
                             'approval_refused', 'refused', 'expired', 'changed');
CREATE INDEX tool_calls_failed ON tool_calls (tenant_id, finished_at) WHERE state = 'failed';

-- Conversations that wait for a person of whom nobody hears: no member brought them to the inbox, the binding that answers has no `inbox` setting, and nobody
-- was notified since the conversation came to the inbox.
CREATE VIEW unheard_threads WITH (security_invoker = true) AS
    SELECT t.tenant_id, t.session_id, b.slug AS binding, t.opened_at
      FROM inbox_threads t
      JOIN sessions s ON (s.tenant_id, s.id) = (t.tenant_id, t.session_id)
      JOIN bindings b ON b.tenant_id = s.tenant_id AND b.id = answering_binding(s)
     WHERE t.state = 'waiting' AND t.reason <> 'member' AND COALESCE(b.inbox, '{}') = '{}'
       AND NOT EXISTS (SELECT FROM notifications n
                        WHERE (n.tenant_id, n.session_id) = (t.tenant_id, t.session_id) AND n.created_at >= t.opened_at);
GRANT SELECT ON unheard_threads TO parlour_app;
