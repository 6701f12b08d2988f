-- Notifications: who is told of a conversation, and whether that was delivered.

-- name: find_settings
-- Whom the binding that answers in a conversation wants told.
SELECT b.notifications AS settings
  FROM sessions s
  JOIN bindings b ON b.tenant_id = s.tenant_id AND b.id = answering_binding(s)
 WHERE s.id = %(session_id)s;

-- name: find_binding_settings
-- Whom a binding wants told.
SELECT notifications AS settings FROM bindings WHERE slug = %(slug)s;

-- name: list_member_addresses
-- The active members with an e-mail address.
SELECT id, email, roles FROM members WHERE active AND email IS NOT NULL ORDER BY id;

-- name: add_notification
-- One recipient of an event, and when they are told; a repeat changes nothing.
WITH stored AS (
    INSERT INTO notifications (tenant_id, id, event_id, event, reason, session_id, medium, recipient, secret, created_at)
    VALUES (current_tenant(), %(id)s, %(event_id)s, %(event)s, %(reason)s, %(session_id)s, %(medium)s, %(recipient)s,
            %(secret)s, %(now)s)
    ON CONFLICT (tenant_id, event_id, medium, recipient) DO NOTHING
    RETURNING id
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT current_tenant(), 'notification', id, %(due_at)s FROM stored;

-- name: list_pending
-- The notifications of a conversation that were never tried, with the time at which they are due.
SELECT w.tenant_id, w.kind, w.id, w.due_at
  FROM notifications n
  JOIN work_due w ON w.tenant_id = n.tenant_id AND w.kind = 'notification' AND w.id = n.id
 WHERE n.session_id = %(session_id)s AND n.state = 'pending' AND w.failures = 0;

-- name: lock_notification
-- A notification, locked, with what sending it needs: the name of the binding that answers and where the secret is kept.
SELECT n.tenant_id, n.id, n.event, n.reason, n.session_id, n.medium, n.recipient, n.state, b.display_name AS binding,
       t.slug AS tenant_slug, t.settings AS tenant_settings, s.reference AS secret_reference, n.created_at,
       COALESCE(n.problem, '') AS problem
  FROM notifications n
  JOIN sessions c ON c.tenant_id = n.tenant_id AND c.id = n.session_id
  JOIN bindings b ON b.tenant_id = c.tenant_id AND b.id = answering_binding(c)
  JOIN tenants t ON t.tenant_id = n.tenant_id
  LEFT JOIN secrets s ON s.tenant_id = n.tenant_id AND s.name = n.secret
 WHERE n.id = %(id)s
   FOR UPDATE OF n;

-- name: lock_mails
-- Whoever else begins a mail to the same recipient waits until the transaction ends: mails begin one at a time.
SELECT pg_advisory_xact_lock(hashtextextended('mails:' || tenant_id || recipient, 0)) FROM notifications
 WHERE id = %(id)s;

-- name: list_joined_mails
-- The mails to one recipient about waiting conversations of anonymous visitors with one binding: those beside the given
-- one, if that is such a mail.
SELECT o.id, o.state, o.ended_at
  FROM notifications n
  JOIN sessions s ON s.id = n.session_id
  JOIN notifications o ON o.medium = 'email' AND o.recipient = n.recipient AND o.event = ANY(%(events)s) AND o.id <> n.id
       AND (o.state IN ('pending', 'sending') OR o.state IN ('sent', 'unknown') AND o.ended_at > %(since)s)
  JOIN sessions t ON t.id = o.session_id AND answering_binding(t) = answering_binding(s)
 WHERE n.id = %(id)s AND is_stranger(s) AND is_stranger(t)
 ORDER BY o.id;

-- name: count_waiting
-- How many conversations wait for a person at the binding of a notification; null where it is of no anonymous visitor.
SELECT (SELECT count(*) FROM inbox_threads i JOIN sessions t ON t.id = i.session_id
         WHERE i.state = 'waiting' AND answering_binding(t) = answering_binding(s)) AS waiting_count
  FROM notifications n
  JOIN sessions s ON s.id = n.session_id
 WHERE n.id = %(id)s AND is_stranger(s);

-- name: end_joined_mails
-- A mail was sent that says how many conversations wait: these have nothing to add. One that a worker has just now stays.
WITH told AS (
    SELECT w.id
      FROM work_due w
      JOIN notifications o ON o.tenant_id = w.tenant_id AND o.id = w.id AND o.state = 'pending'
     WHERE w.kind = 'notification' AND w.id = ANY(%(ids)s) AND (w.leased_until IS NULL OR w.leased_until <= %(now)s)
       FOR UPDATE OF w SKIP LOCKED
), ended AS (
    UPDATE notifications SET state = 'sent', problem = '', ended_at = %(now)s WHERE id IN (SELECT id FROM told)
)
DELETE FROM work_due
 WHERE tenant_id = current_tenant() AND kind = 'notification' AND id IN (SELECT id FROM told);

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
 WHERE n.state IN ('failed', 'unknown') AND session_clearance(s) <= %(clearance)s
   AND (%(session_id)s::uuid IS NULL OR n.session_id = %(session_id)s)
 ORDER BY n.created_at, n.id
 LIMIT %(limit)s;

-- name: find_predecessor
-- The first notification of an earlier event of the same conversation that the same recipient has not got yet.
SELECT other.state, COALESCE(w.due_at, other.created_at) AS due_at
  FROM notifications n
  JOIN inbox_events e ON e.id = n.event_id
  JOIN notifications other ON other.session_id = n.session_id AND other.medium = n.medium
       AND other.recipient = n.recipient AND other.state IN ('pending', 'sending')
  JOIN inbox_events before ON before.id = other.event_id AND before.number < e.number
  LEFT JOIN work_due w ON w.tenant_id = other.tenant_id AND w.kind = 'notification' AND w.id = other.id
 WHERE n.id = %(id)s
 ORDER BY before.number
 LIMIT 1;

-- name: expedite_successor
-- The next notification of the same conversation to the same recipient is due at once, unless a worker has it.
UPDATE work_due
   SET due_at = %(now)s
 WHERE tenant_id = current_tenant() AND kind = 'notification' AND (leased_until IS NULL OR leased_until <= %(now)s)
   AND id = (SELECT other.id
               FROM notifications n
               JOIN notifications other ON other.session_id = n.session_id AND other.medium = n.medium
                    AND other.recipient = n.recipient AND other.state = 'pending'
               JOIN inbox_events after ON after.id = other.event_id
              WHERE n.id = %(id)s
              ORDER BY after.number
              LIMIT 1)
RETURNING tenant_id, kind, id, due_at;

-- name: read_chatwoot_event
-- An event with its message, its user, and the summary that Chatwoot may have. The level of the conversation counts now,
-- and so does the setting of the binding whose inbox it goes to.
SELECT c.level, c.allowed_level, COALESCE(e.actor_name, '') AS actor_name, COALESCE(e.details ->> 'by', '') AS by,
       COALESCE(m.body, e.body, '') AS text, COALESCE(m.metadata -> 'cited_numbers', '[]') AS cited_numbers, COALESCE(t.reason_text, '') AS reason_text,
       t.assignee_name, a.email AS assignee_email,
       (SELECT q.body FROM messages q
         WHERE q.session_id = s.id AND q.direction = 'inbound' AND q.kind <> 'tool_result' AND q.state <> 'ignored'
           AND q.received_at <= e.at
         ORDER BY q.position DESC LIMIT 1) AS last_question,
       (SELECT y.text FROM summaries y, source_status(y.source_ids) f
         WHERE y.session_id = s.id AND f.classification <= c.allowed_level AND NOT f.is_deleted
         ORDER BY y.version DESC LIMIT 1) AS summary,
       u.id AS user_id, u.display_name AS user_name, w.conversation, w.own_user,
       EXISTS (SELECT FROM inbox_events later
                WHERE later.session_id = e.session_id AND later.number > e.number
                  AND later.kind IN ('opened', 'handed_back', 'closed')) AS is_superseded
  FROM notifications n
  LEFT JOIN inbox_events e ON e.id = n.event_id
  JOIN sessions s ON s.id = n.session_id
  JOIN users u ON u.id = s.user_id
 CROSS JOIN LATERAL (SELECT session_clearance(s) AS level,
                            COALESCE(chatwoot_clearance(s, n.recipient), 0) AS allowed_level) c
  LEFT JOIN messages m ON m.id = e.message_id
  LEFT JOIN inbox_threads t ON t.session_id = s.id
  LEFT JOIN members a ON 'member:' || a.id = e.details ->> 'assignee'
  LEFT JOIN chatwoot_conversations w ON w.session_id = s.id AND w.inbox = n.recipient
 WHERE n.id = %(id)s;

-- name: save_chatwoot_address
-- The address of an inbox in Chatwoot: the one that there is, or a new one.
INSERT INTO chatwoot_addresses (tenant_id, inbox, address_id) VALUES (current_tenant(), %(inbox)s, %(address_id)s)
ON CONFLICT (tenant_id, inbox) DO UPDATE
   SET address_id = CASE WHEN %(rotates)s THEN excluded.address_id ELSE chatwoot_addresses.address_id END
RETURNING address_id;

-- name: find_chatwoot_address
-- The address of an inbox in Chatwoot that is good now.
SELECT address_id FROM chatwoot_addresses WHERE inbox = %(inbox)s;

-- name: save_chatwoot_conversation
-- Where a conversation is in Chatwoot.
INSERT INTO chatwoot_conversations (tenant_id, session_id, inbox, conversation, own_user)
VALUES (current_tenant(), %(session_id)s, %(inbox)s, %(conversation)s, %(own_user)s)
ON CONFLICT (tenant_id, session_id, inbox) DO UPDATE SET conversation = excluded.conversation,
    own_user = excluded.own_user;

-- name: delete_chatwoot_conversation
-- The conversation is not in Chatwoot any more.
DELETE FROM chatwoot_conversations WHERE session_id = %(session_id)s AND inbox = %(inbox)s;

-- name: find_chatwoot_session
-- The session of a conversation in Chatwoot, one of whose bindings still has that inbox; the binding's level for
-- Chatwoot, the user whose token Parlour posts with, whether Chatwoot has all that was said, and when the user wrote what
-- waits.
SELECT w.session_id, w.own_user, c.level, c.allowed_level,
       NOT EXISTS (SELECT FROM notifications n
                    WHERE n.session_id = w.session_id AND n.medium = 'chatwoot' AND n.recipient = w.inbox
                      AND n.state IN ('pending', 'sending') AND n.event IN ('opened', 'said')) AS has_all,
       (SELECT max(m.received_at) FROM messages m
         WHERE m.session_id = w.session_id AND m.state = 'unanswered' AND m.kind <> 'tool_result') AS unanswered_at
  FROM chatwoot_conversations w
  JOIN sessions s ON s.id = w.session_id
 CROSS JOIN LATERAL (SELECT session_clearance(s) AS level, chatwoot_clearance(s, w.inbox) AS allowed_level) c
 WHERE w.inbox = %(inbox)s AND w.conversation = %(conversation)s AND c.allowed_level IS NOT NULL;

-- name: list_members_by_email
-- The active members with an e-mail address.
SELECT id, roles, clearance FROM members WHERE active AND lower(email) = lower(%(email)s) ORDER BY id LIMIT 2;

-- name: find_member_of_chatwoot
-- An active member.
SELECT id, roles, clearance FROM members WHERE active AND id = %(member_id)s;

-- name: drop_chatwoot_message
-- A message that a person wrote in Chatwoot is there already.
DELETE FROM notifications n USING inbox_events e
 WHERE e.id = n.event_id AND e.message_id = %(message_id)s AND n.medium = 'chatwoot';

-- name: has_notification
-- Whether a notification was stored.
SELECT true FROM notifications WHERE id = %(id)s;
