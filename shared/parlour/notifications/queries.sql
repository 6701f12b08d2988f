-- Notifications: who is told of a conversation, and whether that was delivered.

-- name: find_settings
-- Whom the binding of a conversation wants told.
SELECT b.notifications AS settings
  FROM sessions s
  JOIN bindings b ON b.tenant_id = s.tenant_id AND b.id = s.binding_id
 WHERE s.id = %(session_id)s;

-- name: list_member_addresses
-- The active members with an e-mail address.
SELECT id, email, roles FROM members WHERE active AND email IS NOT NULL ORDER BY id;

-- name: add_notification
-- One recipient of an event, due at once; a repeat changes nothing.
WITH stored AS (
    INSERT INTO notifications (tenant_id, id, event_id, event, reason, session_id, medium, recipient, secret, created_at)
    VALUES (current_tenant(), %(id)s, %(event_id)s, %(event)s, %(reason)s, %(session_id)s, %(medium)s, %(recipient)s,
            %(secret)s, %(now)s)
    ON CONFLICT (tenant_id, event_id, medium, recipient) DO NOTHING
    RETURNING id
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT current_tenant(), 'notification', id, %(now)s FROM stored;

-- name: list_pending
-- The notifications of a conversation that were never tried, with the time at which they are due.
SELECT w.tenant_id, w.kind, w.id, w.due_at
  FROM notifications n
  JOIN work_due w ON w.tenant_id = n.tenant_id AND w.kind = 'notification' AND w.id = n.id
 WHERE n.session_id = %(session_id)s AND n.state = 'pending' AND w.failures = 0;

-- name: lock_notification
-- A notification, locked, with what sending it needs: the binding's name and where the secret is kept.
SELECT n.tenant_id, n.id, n.event, n.reason, n.session_id, n.medium, n.recipient, n.state, b.display_name AS binding,
       t.slug AS tenant_slug, t.settings AS tenant_settings, s.reference AS secret_reference, n.created_at
  FROM notifications n
  JOIN sessions c ON c.tenant_id = n.tenant_id AND c.id = n.session_id
  JOIN bindings b ON b.tenant_id = c.tenant_id AND b.id = c.binding_id
  JOIN tenants t ON t.tenant_id = n.tenant_id
  LEFT JOIN secrets s ON s.tenant_id = n.tenant_id AND s.name = n.secret
 WHERE n.id = %(id)s
   FOR UPDATE OF n;

-- name: set_state
-- How far a notification is, and why it was not delivered.
UPDATE notifications
   SET state = %(state)s, problem = %(problem)s,
       ended_at = CASE WHEN %(state)s IN ('pending', 'sending') THEN NULL ELSE %(now)s END
 WHERE id = %(id)s;

-- name: list_problems
-- Notifications that were not delivered, or may not have been, oldest first; none of more clearance than the reader's.
SELECT n.id, n.session_id, n.medium, n.recipient, n.state, n.problem, n.created_at
  FROM notifications n
  JOIN sessions s ON s.tenant_id = n.tenant_id AND s.id = n.session_id
  JOIN users u ON u.tenant_id = s.tenant_id AND u.id = s.user_id
  JOIN bindings b ON b.tenant_id = s.tenant_id AND b.id = s.binding_id
 WHERE n.state IN ('failed', 'unknown') AND GREATEST(b.clearance, s.answering_clearance, u.clearance) <= %(clearance)s
   AND (%(session_id)s::uuid IS NULL OR n.session_id = %(session_id)s)
 ORDER BY n.created_at, n.id
 LIMIT %(limit)s;
