-- The outbox: replies on their way out, and what became of them.

-- name: put
-- A reply that has to leave, written in the transaction that stores the reply. A repeat changes nothing.
INSERT INTO outbox (tenant_id, id, session_id, message_id, binding_id, channel, recipient, created_at)
VALUES (current_tenant(), %(outbox_id)s, %(session_id)s, %(message_id)s, %(binding_id)s, %(channel)s, %(recipient)s,
        %(now)s)
ON CONFLICT (tenant_id, message_id) DO NOTHING;

-- name: take
-- One outbox row, locked, with all that sending it needs: the text, its citations, the binding's settings of
-- the channel, and where the provider's key is kept (the reference, never the key).
SELECT o.id, o.session_id, o.state, o.attempts, o.parts, o.parts_sent, o.recipient, o.channel, m.body AS text,
       b.channels -> o.channel AS settings, s.reference AS secret,
       (SELECT COALESCE(jsonb_agg(jsonb_build_object('number', c.number, 'title', c.title, 'locator', c.locator)
                                  ORDER BY c.number), '[]')
          FROM citations c
         WHERE c.tenant_id = o.tenant_id AND c.message_id = o.message_id) AS citations
  FROM outbox o
  JOIN messages m ON m.tenant_id = o.tenant_id AND m.id = o.message_id
  JOIN bindings b ON b.tenant_id = o.tenant_id AND b.id = o.binding_id
  LEFT JOIN secrets s ON s.tenant_id = o.tenant_id AND s.name = b.channels -> o.channel ->> 'api_key'
 WHERE o.id = %(outbox_id)s
   FOR UPDATE OF o;

-- name: begin
-- The row is about to be sent: from here on a crash means that nobody knows.
UPDATE outbox
   SET state = 'sending', attempts = attempts + 1, parts = %(parts)s, problem = NULL
 WHERE id = %(outbox_id)s AND state = 'pending';

-- name: part_taken
-- The provider took one part under its id; the last one makes the row sent. Proof is proof: it counts even when
-- the row was given up as unknown in the meantime.
WITH part AS (
    INSERT INTO outbox_parts (tenant_id, outbox_id, number, provider_message_id, sent_at)
    SELECT current_tenant(), o.id, %(number)s, %(provider_message_id)s, %(now)s FROM outbox o WHERE o.id = %(outbox_id)s
    ON CONFLICT (tenant_id, outbox_id, number) DO NOTHING
)
UPDATE outbox
   SET parts_sent = %(number)s,
       state = CASE WHEN %(number)s = parts THEN 'sent' ELSE state END,
       sent_at = CASE WHEN %(number)s = parts THEN %(now)s ELSE sent_at END,
       problem = CASE WHEN %(number)s = parts THEN NULL ELSE problem END
 WHERE id = %(outbox_id)s AND state IN ('sending', 'unknown');

-- name: end
-- A try that did not send everything: back to pending, failed, or unknown, and why.
UPDATE outbox
   SET state = %(state)s, problem = %(problem)s, status_at = %(now)s
 WHERE id = %(outbox_id)s AND state IN ('pending', 'sending');

-- name: status
-- What the provider says became of a message of ours. A reply is where its last part is, but any part's failure
-- is the reply's; a row is moved only from the states named, so that late news never take it back.
UPDATE outbox o
   SET state = %(state)s, status_at = %(now)s, problem = %(problem)s
  FROM outbox_parts p
 WHERE p.tenant_id = o.tenant_id AND p.outbox_id = o.id AND p.provider_message_id = %(provider_message_id)s
   AND o.state = ANY(%(movable)s)
   AND (p.number = o.parts OR %(state)s = 'failed');

-- name: unsent
-- The session's replies that still wait to be sent, oldest first.
SELECT id, attempts FROM outbox WHERE session_id = %(session_id)s AND state = 'pending' ORDER BY created_at, id;

-- name: delivery
-- How far one reply got.
SELECT state, attempts, parts, parts_sent, problem, created_at, sent_at, status_at
  FROM outbox WHERE message_id = %(message_id)s;
