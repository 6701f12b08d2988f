-- Facts as they are written: one live row a key, and what became of everything that was proposed.

-- name: scope_of_session
-- Whose memory a session writes to, and what its agent's policy says; nothing where others read along.
SELECT s.user_id, s.binding_id, a.memory_policy
  FROM sessions s
  JOIN bindings b ON b.id = s.binding_id
  JOIN agents a ON a.id = b.agent_id
 WHERE s.id = %(session_id)s AND s.visibility = 'private';

-- name: lock_facts
-- Be the only one who changes what is known of a user with a binding, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended(u.id::text || b.id::text, 0))
  FROM users u, bindings b
 WHERE u.id = %(user_id)s AND b.id = %(binding_id)s;

-- name: latest_facts
-- What is live of a user with a binding, and of some keys also what ended last where nothing is.
SELECT DISTINCT ON (key) id, key, value, confidence, origin, valid_from, sure_at, valid_until, session_id, messages
  FROM facts
 WHERE user_id = %(user_id)s AND binding_id = %(binding_id)s AND (valid_until IS NULL OR key = ANY(%(keys)s))
 ORDER BY key, valid_until DESC NULLS FIRST, valid_from DESC;

-- name: insert_fact
-- A fact that is live from now on.
INSERT INTO facts (tenant_id, id, scope, user_id, binding_id, key, value, confidence, origin, valid_from, session_id,
                   turn_id, messages, sure_at, created_at)
VALUES (current_tenant(), %(id)s, 'user', %(user_id)s, %(binding_id)s, %(key)s, %(value)s, %(confidence)s, %(origin)s,
        %(at)s, %(session_id)s, %(turn_id)s, %(messages)s, %(at)s, %(now)s);

-- name: confirm_fact
-- A live fact was said again.
UPDATE facts
   SET confidence = %(confidence)s, valid_from = LEAST(valid_from, %(at)s), sure_at = GREATEST(sure_at, %(at)s),
       messages = %(messages)s
 WHERE id = %(id)s AND valid_until IS NULL;

-- name: end_fact
-- A live fact is so no longer; another one may have taken its place.
UPDATE facts
   SET valid_until = GREATEST(valid_from, %(at)s), ended = %(ended)s, superseded_by = %(superseded_by)s
 WHERE id = %(id)s AND valid_until IS NULL;

-- name: note_decision
-- What became of something that was proposed.
INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, turn_id, fact_id, key, origin, decision,
                            reason, confidence, messages, at)
VALUES (current_tenant(), %(id)s, %(user_id)s, %(binding_id)s, %(session_id)s, %(turn_id)s, %(fact_id)s, %(key)s,
        %(origin)s, %(decision)s, %(reason)s, %(confidence)s, %(messages)s, %(now)s)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: whose_common
-- A persona or a team by its slug.
SELECT id FROM humans WHERE %(scope)s = 'human' AND slug = %(slug)s
 UNION ALL
SELECT id FROM teams WHERE %(scope)s = 'team' AND slug = %(slug)s;

-- name: hold_common
-- What is known under a key to a whole persona or team, kept as it is until the transaction ends.
SELECT id, value FROM facts
 WHERE scope = %(scope)s AND COALESCE(human_id, team_id) = %(whose)s AND key = %(key)s AND valid_until IS NULL
   FOR UPDATE;

-- name: insert_common
-- Something is known to a whole persona or team from now on; nothing where somebody said otherwise at the same moment.
INSERT INTO facts (tenant_id, id, scope, human_id, team_id, key, value, confidence, origin, edited_by, valid_from,
                   sure_at, created_at)
VALUES (current_tenant(), %(id)s, %(scope)s, CASE WHEN %(scope)s = 'human' THEN %(whose)s::uuid END,
        CASE WHEN %(scope)s = 'team' THEN %(whose)s::uuid END, %(key)s, %(value)s, 1, 'edited', %(edited_by)s, %(now)s,
        %(now)s, %(now)s)
    ON CONFLICT (tenant_id, user_id, binding_id, human_id, team_id, key) WHERE valid_until IS NULL DO NOTHING;
