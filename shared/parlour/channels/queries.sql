-- The outbox: replies on their way out, and what became of them.

-- name: add_reply
-- A reply that has to leave, written in the transaction that stores the reply, and looked after from due_at on should
-- its wake-up get lost. A repeat changes nothing.
WITH stored AS (
    INSERT INTO outbox (tenant_id, id, session_id, message_id, binding_id, channel, recipient, created_at)
    VALUES (current_tenant(), %(outbox_id)s, %(session_id)s, %(message_id)s, %(binding_id)s, %(channel)s,
            %(recipient)s, %(now)s)
    ON CONFLICT (tenant_id, message_id) DO NOTHING
    RETURNING id
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT current_tenant(), 'outbox', id, %(due_at)s FROM stored
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at;

-- name: lock_reply
-- One outbox row, locked, with all that sending it needs: the text, its citations, buttons and template, the binding's
-- settings of the channel, where the provider's key is kept (the reference, never the key), and when the user last wrote there.
SELECT o.id, o.session_id, o.state, o.attempts, o.part_count, o.parts_sent, o.attempt_id, o.recipient, o.channel,
       COALESCE(o.resolved_at, o.created_at) AS waiting_since, m.body AS text,
       (SELECT heard.sent_at
          FROM messages heard
         WHERE heard.tenant_id = o.tenant_id AND heard.session_id = o.session_id AND heard.channel = o.channel
           AND heard.direction = 'inbound' AND heard.kind IN ('text', 'media')
         ORDER BY heard.position DESC
         LIMIT 1) AS last_inbound_at,
       b.channels -> o.channel AS channel_settings, s.reference AS secret_reference,
       (SELECT COALESCE(jsonb_agg(jsonb_build_object('number', c.number, 'title', c.title, 'locator', c.locator)
                                  ORDER BY c.number), '[]')
          FROM citations c
         WHERE c.tenant_id = o.tenant_id AND c.message_id = o.message_id) AS citations,
       COALESCE(m.metadata -> 'cited_numbers', '[]') AS cited_numbers,
       COALESCE(m.metadata -> 'buttons', '[]') AS buttons, m.metadata -> 'template' AS template,
       m.metadata ? 'interim_turn_id' AS is_interim,
       m.metadata ? 'interim_turn_id'
       AND NOT EXISTS (SELECT FROM turns t
                        WHERE t.tenant_id = o.tenant_id AND t.id = (m.metadata ->> 'interim_turn_id')::uuid
                          AND t.state = 'open') AS is_obsolete
  FROM outbox o
  JOIN messages m ON m.tenant_id = o.tenant_id AND m.id = o.message_id
  JOIN bindings b ON b.tenant_id = o.tenant_id AND b.id = o.binding_id
  LEFT JOIN secrets s ON s.tenant_id = o.tenant_id AND s.name = b.channels -> o.channel ->> 'api_key'
 WHERE o.id = %(outbox_id)s
   FOR UPDATE OF o;

-- name: begin_attempt
-- The row is about to be sent, by one sender: from here on a crash means that nobody knows.
UPDATE outbox
   SET state = 'sending', attempt_id = %(sender)s, attempts = attempts + 1, part_count = %(parts)s, problem = NULL
 WHERE id = %(outbox_id)s AND state = 'pending';

-- name: renew_lease
-- The sender of a row is still at it.
UPDATE work_due w
   SET leased_until = %(until)s, due_at = %(until)s
  FROM outbox o
 WHERE w.tenant_id = o.tenant_id AND w.kind = 'outbox' AND w.id = o.id
   AND o.id = %(outbox_id)s AND o.state = 'sending' AND o.attempt_id = %(sender)s;

-- name: record_part_sent
-- The provider took one part under its id; the last one makes the row sent. Proof is proof: it counts even when
-- the row was given up as unknown in the meantime; then the inbox looks at it. Returns nothing when the row is not this
-- sender's any more.
WITH part AS (
    INSERT INTO outbox_parts (tenant_id, outbox_id, number, provider_message_id, sent_at)
    SELECT current_tenant(), o.id, %(number)s, %(provider_message_id)s, %(now)s FROM outbox o WHERE o.id = %(outbox_id)s
    ON CONFLICT (tenant_id, outbox_id, number) DO NOTHING
), moved AS (
    UPDATE outbox o
       SET parts_sent = GREATEST(o.parts_sent, %(number)s),
           state = CASE WHEN %(number)s = o.part_count THEN 'sent' ELSE o.state END,
           sent_at = CASE WHEN %(number)s = o.part_count THEN %(now)s ELSE o.sent_at END,
           problem = CASE WHEN %(number)s = o.part_count THEN NULL ELSE o.problem END
      FROM (SELECT id, state FROM outbox WHERE id = %(outbox_id)s FOR NO KEY UPDATE) prior
     WHERE o.id = prior.id AND o.state IN ('sending', 'unknown') AND o.attempt_id = %(sender)s
    RETURNING o.id, o.session_id, o.state, prior.state AS prior_state
), inbox AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'inbox', session_id, %(now)s FROM moved WHERE prior_state = 'unknown' AND state = 'sent'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, EXCLUDED.due_at)
), settled AS (
    DELETE FROM work_due w USING moved
     WHERE w.tenant_id = current_tenant() AND w.kind = 'outbox' AND w.id = moved.id AND moved.state = 'sent'
)
SELECT state FROM moved;

-- name: confirm_part
-- What we gave along with a part came back from the provider: the part was taken, under this id, whatever its sender
-- found out. The last part makes the row sent. After an earlier one the next is sent, if the row was given up
-- (unknown) and this is good news; that is due now. Bad news of an earlier try says nothing of the one that somebody
-- has ordered since. A row that was moved before, and is due since, is told again: nobody may have been woken. The inbox
-- looks at what was unknown.
WITH part AS (
    INSERT INTO outbox_parts (tenant_id, outbox_id, number, provider_message_id, sent_at)
    SELECT current_tenant(), o.id, %(number)s, %(provider_message_id)s, %(now)s
      FROM outbox o
     WHERE o.id = %(outbox_id)s AND %(number)s <= o.part_count AND (%(is_good)s OR o.resolved_at IS NULL)
    ON CONFLICT (tenant_id, outbox_id, number) DO NOTHING
), moved AS (
    UPDATE outbox o
       SET parts_sent = %(number)s,
           state = CASE WHEN %(number)s = o.part_count THEN 'sent'
                        WHEN o.state = 'unknown' AND %(is_good)s THEN 'pending' ELSE o.state END,
           sent_at = CASE WHEN %(number)s = o.part_count THEN %(now)s ELSE o.sent_at END,
           problem = CASE WHEN %(number)s = o.part_count THEN NULL ELSE o.problem END
      FROM (SELECT id, state FROM outbox WHERE id = %(outbox_id)s FOR NO KEY UPDATE) prior
     WHERE o.id = prior.id AND o.state IN ('pending', 'sending', 'unknown', 'failed')
       AND (%(is_good)s OR o.resolved_at IS NULL)
       AND o.parts_sent = %(number)s - 1 AND %(number)s <= o.part_count
    RETURNING o.id, o.session_id, o.state, prior.state AS prior_state
), inbox AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'inbox', session_id, %(now)s FROM moved WHERE prior_state = 'unknown'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, EXCLUDED.due_at)
), settled AS (
    DELETE FROM work_due w USING moved
     WHERE w.tenant_id = current_tenant() AND w.kind = 'outbox' AND w.id = moved.id AND moved.state = 'sent'
), due AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'outbox', id, %(now)s FROM moved WHERE state = 'pending'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at
)
SELECT session_id, state, true AS is_new FROM moved
UNION ALL
SELECT o.session_id, o.state, false
  FROM outbox o JOIN work_due w ON w.tenant_id = current_tenant() AND w.kind = 'outbox' AND w.id = o.id
 WHERE o.id = %(outbox_id)s AND o.state = 'pending' AND o.parts_sent = %(number)s AND w.due_at <= %(now)s
   AND NOT EXISTS (SELECT FROM moved);

-- name: end_attempt
-- A try that did not send everything: back to pending, failed, held, or unknown, and why. Only whoever made the row
-- `sending` says so, or found it as they left it. The part after those taken is in doubt: if the provider's news have
-- settled it in the meantime, what comes after it is sent instead. The inbox looks at a held reply. A row that nobody has
-- to see to is dismissed along, as resolve_dismissed has it. The message of a row that is pending comes again by itself:
-- until due_at the sweep leaves the row to it.
WITH moved AS (
    UPDATE outbox
       SET state = CASE WHEN %(state)s = 'unknown' AND parts_sent > %(taken)s THEN 'pending' ELSE %(state)s END,
           problem = %(problem)s, status_at = %(now)s,
           resolved_by = CASE WHEN %(is_dismissed)s THEN 'system' ELSE resolved_by END,
           resolved_at = CASE WHEN %(is_dismissed)s THEN %(now)s ELSE resolved_at END
     WHERE id = %(outbox_id)s AND state IN ('pending', 'sending') AND attempt_id IS NOT DISTINCT FROM %(sender)s
    RETURNING id, session_id, state
), settled AS (
    DELETE FROM work_due w USING moved
     WHERE w.tenant_id = current_tenant() AND w.kind = 'outbox' AND w.id = moved.id AND moved.state <> 'pending'
), due AS (
    UPDATE work_due w SET due_at = %(due_at)s, leased_until = NULL FROM moved
     WHERE w.tenant_id = current_tenant() AND w.kind = 'outbox' AND w.id = moved.id AND moved.state = 'pending'
), inbox AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'inbox', session_id, %(now)s FROM moved WHERE state = 'held'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, EXCLUDED.due_at)
)
SELECT state FROM moved;

-- name: reschedule_blocked
-- The provider did not admit us: the try counts for nothing, and the row is due again later. Like the end of a try,
-- only of the sender's own row.
WITH moved AS (
    UPDATE outbox
       SET state = 'pending', attempts = %(attempts)s, problem = %(problem)s, status_at = %(now)s
     WHERE id = %(outbox_id)s AND state IN ('pending', 'sending') AND attempt_id IS NOT DISTINCT FROM %(sender)s
    RETURNING id
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT current_tenant(), 'outbox', id, %(due_at)s FROM moved
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at, leased_until = NULL;

-- name: apply_update
-- What the provider says became of a message of ours. A reply is where its last part is, but any part's failure
-- is the reply's; a row is moved only from the states named, so that late news never take it back. The inbox looks at a
-- reply that is held now, or was unknown.
WITH found AS (
    SELECT o.id, o.session_id, o.state
      FROM outbox o JOIN outbox_parts p ON p.tenant_id = o.tenant_id AND p.outbox_id = o.id
     WHERE p.provider_message_id = %(provider_message_id)s AND o.state = ANY(%(movable)s)
       AND (p.number = o.part_count OR %(state)s = 'failed')
       FOR NO KEY UPDATE OF o
), inbox AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'inbox', session_id, %(now)s FROM found WHERE %(state)s = 'held' OR state = 'unknown'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, EXCLUDED.due_at)
)
UPDATE outbox o SET state = %(state)s, status_at = %(now)s, problem = %(problem)s FROM found f WHERE o.id = f.id;

-- name: add_pending_update
-- News of a message that is not known, kept while anything of the tenant's is on its way: its sending may not be
-- committed yet. News that nothing came of within a day go.
WITH stale AS (
    DELETE FROM pending_delivery_updates WHERE tenant_id = current_tenant() AND at < %(now)s::timestamptz - interval '1 day'
)
INSERT INTO pending_delivery_updates (tenant_id, provider_message_id, status, problem, at)
SELECT current_tenant(), %(provider_message_id)s, %(state)s, %(problem)s, %(now)s
 WHERE EXISTS (SELECT 1 FROM work_due w WHERE w.tenant_id = current_tenant() AND w.kind = 'outbox')
   AND NOT EXISTS (SELECT 1 FROM outbox_parts p WHERE p.provider_message_id = %(provider_message_id)s)
ON CONFLICT (tenant_id, provider_message_id, status) DO UPDATE SET at = EXCLUDED.at;

-- name: pop_pending_updates
-- The news that were kept of a part, now that it is known whose it is.
DELETE FROM pending_delivery_updates e
 WHERE e.provider_message_id = %(provider_message_id)s
   AND EXISTS (SELECT 1 FROM outbox_parts p
                WHERE p.tenant_id = e.tenant_id AND p.provider_message_id = e.provider_message_id)
RETURNING e.status AS state, e.problem, e.at;

-- name: list_pending
-- The session's replies that still wait to be sent, oldest first.
SELECT id, session_id, attempts
  FROM outbox WHERE session_id = %(session_id)s AND state = 'pending' ORDER BY created_at, id;

-- name: list_stuck
-- The replies that a person has to see to, oldest first: of an unknown fate, or held because the channel takes no free
-- text any more; none of a session that needs more clearance than the reader's. A code is for whoever has the phone:
-- nobody else is told it.
SELECT o.id, m.turn_id, o.session_id, o.state, o.channel, o.recipient,
       CASE WHEN m.kind = 'code' THEN '' ELSE m.body END AS text, o.problem, o.created_at
  FROM outbox o
  JOIN messages m ON m.tenant_id = o.tenant_id AND m.id = o.message_id
  JOIN sessions s ON s.tenant_id = o.tenant_id AND s.id = o.session_id
 WHERE o.state IN ('unknown', 'held') AND session_clearance(s) <= %(clearance)s
   AND (%(session_id)s::uuid IS NULL OR o.session_id = %(session_id)s)
 ORDER BY o.created_at, o.id
 LIMIT %(most)s;

-- name: list_waiting
-- The replies that are not sent yet: an attempt failed and another one follows, or none has ended since the given time.
-- Oldest first, and with the rules of list_stuck. Every such reply has a row in work_due.
SELECT o.id, m.turn_id, o.session_id, o.state, o.channel, o.recipient,
       CASE WHEN m.kind = 'code' THEN '' ELSE m.body END AS text, o.problem, o.created_at,
       b.channels -> o.channel ->> 'api_key' AS secret_name, o.attempts, w.due_at AS next_attempt_by
  FROM work_due w
  JOIN outbox o ON o.tenant_id = w.tenant_id AND o.id = w.id
  JOIN messages m ON m.tenant_id = o.tenant_id AND m.id = o.message_id
  JOIN bindings b ON b.tenant_id = o.tenant_id AND b.id = o.binding_id
  JOIN sessions s ON s.tenant_id = o.tenant_id AND s.id = o.session_id
 WHERE w.kind = 'outbox' AND o.state IN ('pending', 'sending')
   AND (o.problem IS NOT NULL OR COALESCE(o.resolved_at, o.created_at) <= %(since)s)
   AND session_clearance(s) <= %(clearance)s
   AND (%(session_id)s::uuid IS NULL OR o.session_id = %(session_id)s)
 ORDER BY o.created_at, o.id
 LIMIT %(most)s;

-- name: get_state
-- Where a row is, how often it was tried, and the clearance that its session needs.
SELECT o.session_id, o.state, o.attempts, session_clearance(s) AS clearance
  FROM outbox o
  JOIN sessions s ON s.tenant_id = o.tenant_id AND s.id = o.session_id
 WHERE o.id = %(outbox_id)s;

-- name: resolve_arrived
-- A person found the part in doubt on the user's phone. What comes after it is sent, and that is due.
WITH moved AS (
    UPDATE outbox
       SET parts_sent = parts_sent + 1,
           state = CASE WHEN parts_sent + 1 >= part_count THEN 'sent' ELSE 'pending' END,
           sent_at = CASE WHEN parts_sent + 1 >= part_count THEN %(now)s ELSE sent_at END,
           problem = NULL, resolved_by = %(by)s, resolved_at = %(now)s
     WHERE id = %(outbox_id)s AND state = 'unknown'
    RETURNING id, state
), due AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'outbox', id, %(due_at)s FROM moved WHERE state = 'pending'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at
)
SELECT state FROM moved;

-- name: resolve_send_again
-- A person wants it sent: from the part in doubt on, or all of it when the provider took every part and failed later.
WITH moved AS (
    UPDATE outbox
       SET state = 'pending', parts_sent = CASE WHEN parts_sent = part_count THEN 0 ELSE parts_sent END,
           problem = NULL, resolved_by = %(by)s, resolved_at = %(now)s
     WHERE id = %(outbox_id)s AND state IN ('unknown', 'held')
    RETURNING id, parts_sent
), gone AS (
    DELETE FROM outbox_parts p USING moved
     WHERE p.tenant_id = current_tenant() AND p.outbox_id = moved.id AND p.number > moved.parts_sent
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT current_tenant(), 'outbox', id, %(due_at)s FROM moved
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at;

-- name: resolve_dismissed
-- A person lets it be: it counts as failed.
UPDATE outbox
   SET state = 'failed', status_at = %(now)s, resolved_by = %(by)s, resolved_at = %(now)s
 WHERE id = %(outbox_id)s AND state IN ('unknown', 'held');

-- name: list_failed
-- The replies that failed and that nobody has let be, latest first, behind a position; none of a session that needs more
-- clearance than the reader's. Letting be is told from a failure after a decision by its time: it is the last news.
-- No code is told.
SELECT o.id, m.turn_id, o.session_id, o.state, o.channel, o.recipient,
       CASE WHEN m.kind = 'code' THEN '' ELSE m.body END AS text, o.problem, o.created_at
  FROM outbox o
  JOIN messages m ON m.tenant_id = o.tenant_id AND m.id = o.message_id
  JOIN sessions s ON s.tenant_id = o.tenant_id AND s.id = o.session_id
 WHERE o.state = 'failed' AND (o.resolved_at IS NULL OR o.status_at IS DISTINCT FROM o.resolved_at)
   AND o.created_at > %(since)s AND session_clearance(s) <= %(clearance)s
   AND (%(after_id)s::uuid IS NULL OR (o.created_at, o.id) < (%(after_at)s::timestamptz, %(after_id)s))
 ORDER BY o.created_at DESC, o.id DESC
 LIMIT %(most)s;

-- name: redrive_reply
-- A failed reply is sent after all, with as many tries as a new one: from the part that failed on, or all of it when
-- the provider took every part and failed later. Not one that a person let be: that one may have arrived.
WITH moved AS (
    UPDATE outbox
       SET state = 'pending', parts_sent = CASE WHEN parts_sent = part_count THEN 0 ELSE parts_sent END, attempts = 0,
           problem = NULL, resolved_by = %(by)s, resolved_at = %(now)s
     WHERE id = %(outbox_id)s AND state = 'failed'
       AND (resolved_at IS NULL OR status_at IS DISTINCT FROM resolved_at)
    RETURNING id, parts_sent
), gone AS (
    DELETE FROM outbox_parts p USING moved
     WHERE p.tenant_id = current_tenant() AND p.outbox_id = moved.id AND p.number > moved.parts_sent
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT current_tenant(), 'outbox', id, %(due_at)s FROM moved
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at;

-- name: lock_unsent
-- A reply that is not sent yet, kept as it is until the transaction ends, and whether its session has none before it.
SELECT o.session_id, o.created_at,
       NOT EXISTS (SELECT FROM outbox earlier
                    WHERE earlier.session_id = o.session_id AND earlier.state IN ('pending', 'sending')
                      AND (earlier.created_at, earlier.id) < (o.created_at, o.id)) AS is_oldest
  FROM outbox o
 WHERE o.id = %(outbox_id)s AND o.state IN ('pending', 'sending')
   FOR UPDATE OF o;

-- name: find_message_media
-- What a stored message came with beside text, through whom, and where the key to the provider is kept.
SELECT m.id AS message_id, m.media, m.received_at, split_part(m.provider_message_id, ':', 1) AS provider,
       s.reference AS secret_reference
  FROM messages m
  JOIN bindings b ON b.tenant_id = m.tenant_id AND b.id = m.binding_id
  LEFT JOIN secrets s ON s.tenant_id = m.tenant_id AND s.name = b.channels -> m.channel ->> 'api_key'
 WHERE m.id = %(message_id)s AND m.media IS NOT NULL;

-- name: mark_media_blocked
-- A message's file cannot be had for longer than its answer would wait.
UPDATE messages
   SET media = media || '{"is_blocked": true}'
 WHERE id = %(message_id)s AND media IS NOT NULL AND NOT media ?| ARRAY['stored', 'refused', 'is_blocked'];

-- name: record_media
-- Where a message's file is kept, or why it is not, and what of it models are given. What was noted first stays.
WITH noted AS (
    UPDATE messages
       SET media = media || %(outcome)s
     WHERE id = %(message_id)s AND media IS NOT NULL AND NOT media ? 'stored' AND NOT media ? 'refused'
    RETURNING tenant_id, id, session_id, media -> 'stored' AS stored
)
INSERT INTO attachments (tenant_id, id, session_id, message_id, kind, name, media_type, size_bytes, object_key, sha256, body,
                         problem, created_at)
SELECT tenant_id, id, session_id, id, %(kind)s, %(name)s, %(media_type)s, COALESCE((stored ->> 'bytes')::bigint, 0),
       stored ->> 'key', stored ->> 'sha256', %(body)s, %(problem)s, %(now)s
  FROM noted
ON CONFLICT (tenant_id, id) DO NOTHING;
