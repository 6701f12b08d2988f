-- What a person has to decide in a conversation; reason: as inbox_threads has it.
CREATE VIEW undecided_items WITH (security_invoker = true) AS
    SELECT c.tenant_id, t.session_id, c.id, 'unknown_effect' AS reason, c.started_at AS since
      FROM tool_calls c JOIN turns t ON (t.tenant_id, t.id) = (c.tenant_id, c.turn_id)
     WHERE c.state = 'unknown'
    UNION ALL
    SELECT tenant_id, session_id, id, CASE state WHEN 'held' THEN 'held_reply' ELSE 'unknown_effect' END, created_at
      FROM outbox
     WHERE state IN ('unknown', 'held')
    UNION ALL
    SELECT tenant_id, session_id, id, 'failed_turn', finished_at
      FROM turns
     WHERE state = 'failed' AND dismissed_at IS NULL;
GRANT SELECT ON undecided_items TO parlour_app;
