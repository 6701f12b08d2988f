-- Facts as they are written: one live row a key, and what became of everything that was proposed.

-- name: find_scope
-- Whose memory a turn of a session writes to, and what its agent's policy says; nothing where others read along, or
-- could when it was said.
SELECT s.user_id, s.binding_id, a.memory_policy
  FROM sessions s
  JOIN bindings b ON b.id = s.binding_id
  JOIN agents a ON a.id = b.agent_id
 WHERE s.id = %(session_id)s AND s.visibility = 'private' AND s.shared_until_turn < %(turn)s;

-- name: lock_facts
-- Be the only one who changes what is known of a user with a binding, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended(u.id::text || b.id::text, 0))
  FROM users u, bindings b
 WHERE u.id = %(user_id)s AND b.id = %(binding_id)s;

-- name: find_latest_facts
-- The live facts of a user with a binding, and of some keys also those that ended last where no live one goes on.
WITH live AS MATERIALIZED (
    SELECT id, key, value, confidence, origin, valid_from, last_confirmed_at, valid_until, session_id, message_ids, member,
           holds_until
      FROM facts
     WHERE user_id = %(user_id)s AND binding_id = %(binding_id)s AND valid_until IS NULL
)
SELECT * FROM live
 UNION ALL
SELECT e.*
  FROM unnest(%(keys)s::text[]) AS wanted (key)
 CROSS JOIN LATERAL (
       SELECT DISTINCT ON (f.member)
              f.id, f.key, f.value, f.confidence, f.origin, f.valid_from, f.last_confirmed_at, f.valid_until, f.session_id,
              f.message_ids, f.member, f.holds_until
         FROM facts f
        WHERE f.user_id = %(user_id)s AND f.binding_id = %(binding_id)s AND f.key = wanted.key
          AND f.valid_until IS NOT NULL
        ORDER BY f.member, f.valid_until DESC, f.valid_from DESC) e
 WHERE NOT EXISTS (SELECT FROM live l WHERE l.key = wanted.key AND l.member IS NOT DISTINCT FROM e.member);

-- name: end_expired_facts
-- The facts of a user with a binding whose end date has passed end on it.
UPDATE facts
   SET valid_until = GREATEST(valid_from, holds_until), end_reason = 'expired'
 WHERE user_id = %(user_id)s AND binding_id = %(binding_id)s AND valid_until IS NULL AND holds_until <= %(now)s;

-- name: doubt_facts
-- It is unclear whether some live facts still hold; of each that is noted once.
UPDATE facts SET doubted_at = %(now)s
 WHERE id = ANY(%(ids)s::uuid[]) AND valid_until IS NULL AND doubted_at IS NULL;

-- name: read_merge_constraints
-- What keeps messages of a session from making facts of a user with a binding: those whose facts were forgotten, and when
-- all was; and what their user said just now, which are the messages themselves and those of the turn before.
WITH gone AS MATERIALIZED (
    SELECT key, reason, message_ids, decided_at FROM fact_decisions
     WHERE user_id = %(user_id)s AND binding_id = %(binding_id)s AND decision = 'erased'
), own AS (
    SELECT min(t.number) AS first
      FROM messages m JOIN turns t ON t.id = m.turn_id
     WHERE m.id = ANY(%(messages)s::uuid[]) AND m.session_id = %(session_id)s
)
SELECT ARRAY(SELECT DISTINCT one FROM gone g, unnest(g.message_ids) AS one WHERE one = ANY(%(messages)s::uuid[])) AS erased_message_ids,
       (SELECT max(g.decided_at) FROM gone g WHERE g.reason = 'all_retracted') AS all_retracted_at,
       ARRAY(SELECT m.id FROM messages m
              WHERE m.direction = 'inbound'
                AND m.turn_id = (SELECT t.id FROM turns t, own o
                                  WHERE t.session_id = %(session_id)s AND t.number < o.first
                                  ORDER BY t.number DESC LIMIT 1)) AS previous_turn_message_ids;

-- name: add_fact
-- A fact that is live from now on.
INSERT INTO facts (tenant_id, id, scope, user_id, binding_id, key, value, confidence, origin, valid_from, session_id,
                   turn_id, message_ids, last_confirmed_at, created_at, member, holds_until)
VALUES (current_tenant(), %(id)s, 'user', %(user_id)s, %(binding_id)s, %(key)s, %(value)s, %(confidence)s, %(origin)s,
        %(at)s, %(session_id)s, %(turn_id)s, %(messages)s, %(at)s, %(now)s, %(member)s, %(holds_until)s);

-- name: confirm_fact
-- A live fact was said again. Said earlier than it was known to be so, it was so then, but not before the last other value
-- of its key had ended.
UPDATE facts f
   SET confidence = %(confidence)s, last_confirmed_at = GREATEST(f.last_confirmed_at, %(at)s), message_ids = %(messages)s,
       valid_from = LEAST(f.valid_from, GREATEST(%(at)s,
           (SELECT max(e.valid_until) FROM facts e
             WHERE e.user_id = f.user_id AND e.binding_id = f.binding_id AND e.key = f.key
               AND e.member IS NOT DISTINCT FROM f.member AND e.valid_until IS NOT NULL)))
 WHERE f.id = %(id)s AND f.valid_until IS NULL;

-- name: end_fact
-- A live fact is so no longer; another one may have taken its place.
UPDATE facts
   SET valid_until = GREATEST(valid_from, %(at)s), end_reason = %(ended)s, superseded_by = %(superseded_by)s
 WHERE id = %(id)s AND valid_until IS NULL;

-- name: evict_facts
-- End the facts of a user with a binding that were of the least use, so many of them; none of some keys, and none that
-- somebody put right.
UPDATE facts f
   SET valid_until = GREATEST(f.valid_from, %(now)s), end_reason = 'evicted'
  FROM (SELECT id
          FROM facts
         WHERE user_id = %(user_id)s AND binding_id = %(binding_id)s AND valid_until IS NULL AND origin <> 'edited'
           AND key <> ALL(%(kept)s::text[])
         ORDER BY (use_count + 1.0) / (recall_count + 2.0), last_confirmed_at, id
         LIMIT %(most)s) gone
 WHERE f.id = gone.id AND f.valid_until IS NULL
RETURNING f.id, f.key, f.value, f.confidence, f.origin, f.valid_from, f.last_confirmed_at, f.valid_until, f.session_id,
          f.message_ids, f.member, f.holds_until;

-- name: add_decision
-- What became of something that was proposed.
INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, turn_id, fact_id, key, origin, decision,
                            reason, confidence, message_ids, decided_at, first_answer, second_answer)
VALUES (current_tenant(), %(id)s, %(user_id)s, %(binding_id)s, %(session_id)s, %(turn_id)s, %(fact_id)s, %(key)s,
        %(origin)s, %(decision)s, %(reason)s, %(confidence)s, %(messages)s, %(now)s, %(first_answer)s::jsonb,
        %(second_answer)s)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: find_owner
-- A persona or a team by its slug.
SELECT id FROM humans WHERE %(scope)s = 'human' AND slug = %(slug)s
 UNION ALL
SELECT id FROM teams WHERE %(scope)s = 'team' AND slug = %(slug)s;

-- name: lock_shared_fact
-- What is known under a key to a whole persona or team, kept as it is until the transaction ends.
SELECT id, value FROM facts
 WHERE scope = %(scope)s AND COALESCE(human_id, team_id) = %(whose)s AND key = %(key)s AND valid_until IS NULL
   FOR UPDATE;

-- name: add_shared_fact
-- Something is known to a whole persona or team from now on; nothing where somebody said otherwise at the same moment.
INSERT INTO facts (tenant_id, id, scope, human_id, team_id, key, value, confidence, origin, edited_by, valid_from,
                   last_confirmed_at, created_at)
VALUES (current_tenant(), %(id)s, %(scope)s, CASE WHEN %(scope)s = 'human' THEN %(whose)s::uuid END,
        CASE WHEN %(scope)s = 'team' THEN %(whose)s::uuid END, %(key)s, %(value)s, 1, 'edited', %(edited_by)s, %(now)s,
        %(now)s, %(now)s)
    ON CONFLICT (tenant_id, user_id, binding_id, human_id, team_id, key, member) WHERE valid_until IS NULL DO NOTHING;
