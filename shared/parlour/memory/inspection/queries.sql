-- Memory as people read it: whose there is, what it says, where each part came from; and a fact that is put right.

-- name: list_users
-- The tenant's users, those heard of last first, behind a position, and how much is known of each; of none who may see more than the
-- reader. `text` leaves those whose name it is part of or whose number ends so.
SELECT u.id, COALESCE(u.display_name, '') AS name, COALESCE(right(u.phone, 4), '') AS phone_last_digits,
       count(s.id) AS session_count, max(s.last_active_at) AS last_active_at,
       ARRAY(SELECT DISTINCT i.channel FROM channel_identities i WHERE i.user_id = u.id ORDER BY 1) AS channels,
       (SELECT count(*) FROM facts f JOIN bindings o ON o.id = f.binding_id AND o.clearance <= %(clearance)s
         WHERE f.user_id = u.id AND f.valid_until IS NULL) AS fact_count,
       (SELECT count(*) FROM episodes e JOIN bindings o ON o.id = e.binding_id AND o.clearance <= %(clearance)s
         WHERE e.user_id = u.id) AS episode_count
  FROM users u
  JOIN sessions s ON s.user_id = u.id
  JOIN bindings b ON b.id = s.binding_id AND GREATEST(b.clearance, s.answering_clearance, u.clearance) <= %(clearance)s
 WHERE u.merged_into IS NULL
   AND (%(text)s = '' OR strpos(lower(u.display_name), lower(%(text)s)) > 0
        OR right(u.phone, length(%(text)s)) = %(text)s)
 GROUP BY u.id, u.display_name, u.phone
HAVING %(after_id)s::uuid IS NULL OR (max(s.last_active_at), u.id) < (%(after_at)s::timestamptz, %(after_id)s)
 ORDER BY max(s.last_active_at) DESC, u.id DESC
 LIMIT %(most)s;

-- name: find_user
-- One user, as the reader may see them: somebody who talks to a binding that sees no more than the reader, or to none.
SELECT u.id, COALESCE(u.display_name, '') AS name, COALESCE(right(u.phone, 4), '') AS phone_last_digits, u.clearance, u.created_at,
       ARRAY(SELECT DISTINCT i.channel FROM channel_identities i WHERE i.user_id = u.id ORDER BY 1) AS channels
  FROM users u
 WHERE u.id = %(user_id)s AND COALESCE(u.clearance, 0) <= %(clearance)s
   AND (NOT EXISTS (SELECT FROM sessions s WHERE s.user_id = u.id)
        OR EXISTS (SELECT FROM sessions s JOIN bindings b ON b.id = s.binding_id
                    WHERE s.user_id = u.id AND GREATEST(b.clearance, s.answering_clearance) <= %(clearance)s));

-- name: list_facts
-- What is known of a user, with one binding or with all of them: the live facts, each with the user's own words that it
-- was taken from, and with what it said before. Of bindings that see more than the reader nothing comes.
SELECT f.id, f.key, f.value, f.confidence, f.origin, split_part(COALESCE(f.edited_by, ''), ':', 1) AS edited_by,
       f.valid_from, f.last_confirmed_at, f.recall_count, f.use_count, f.last_used_at, f.session_id, f.binding_id, b.slug AS binding_slug, b.display_name AS agent_name,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('id', m.id, 'session_id', m.session_id, 'sent_at', m.sent_at,
                                                     'channel', m.channel, 'text',
                                                     left(CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END, %(letters)s),
                                                     'is_archived', m.archive_id IS NOT NULL) ORDER BY m.position)
                   FROM messages m WHERE m.id = ANY(f.message_ids)), '[]') AS evidence_messages,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('id', p.id, 'value', p.value, 'from', p.valid_from,
                                                     'until', p.valid_until, 'end_reason', p.end_reason)
                                  ORDER BY p.valid_until DESC)
                   FROM facts p
                  WHERE p.user_id = f.user_id AND p.binding_id = f.binding_id AND p.key = f.key
                    AND p.member IS NOT DISTINCT FROM f.member AND p.valid_until IS NOT NULL), '[]') AS previous_values
  FROM facts f
  JOIN bindings b ON b.id = f.binding_id
  JOIN users u ON u.id = f.user_id
 WHERE f.user_id = %(user_id)s AND f.valid_until IS NULL AND (f.holds_until IS NULL OR f.holds_until > now())
   AND (%(binding_id)s::uuid IS NULL OR f.binding_id = %(binding_id)s)
   AND (%(is_own)s OR GREATEST(b.clearance, u.clearance) <= %(clearance)s)
 ORDER BY b.display_name, f.key, f.id
 LIMIT %(most)s;

-- name: list_episodes
-- What a user lived through with one binding or with all of them, the latest first; also of their own nothing above the
-- clearance by now, nor of turns whose replies were drawn from what is deleted or above it.
WITH found AS MATERIALIZED (
    SELECT e.*, b.slug AS binding_slug, b.display_name AS agent_name
      FROM episodes e
      JOIN bindings b ON b.id = e.binding_id
      JOIN users u ON u.id = e.user_id
      LEFT JOIN context_rows r ON r.id = e.row_id
     WHERE e.user_id = %(user_id)s AND (%(binding_id)s::uuid IS NULL OR e.binding_id = %(binding_id)s)
       AND (%(is_own)s OR GREATEST(b.clearance, u.clearance) <= %(clearance)s)
       AND COALESCE(r.classification, 0) <= %(clearance)s
     ORDER BY e.until_at DESC, e.id DESC
     LIMIT %(most)s
), closed AS MATERIALIZED (
    SELECT DISTINCT source.turn_id
      FROM (SELECT array_agg(DISTINCT x.turn_id) AS turns
              FROM found f JOIN messages x ON x.id = ANY(f.message_ids)
            HAVING count(*) > 0) told, turn_source_status(told.turns) source
     WHERE source.classification > %(clearance)s OR source.is_deleted
)
SELECT f.id, f.text, f.from_at, f.until_at, f.merged_count, f.recall_count, f.use_count, f.session_id, f.binding_id, f.binding_slug, f.agent_name
  FROM found f
 WHERE NOT EXISTS (SELECT FROM messages x WHERE x.id = ANY(f.message_ids) AND x.turn_id IN (SELECT turn_id FROM closed))
 ORDER BY f.until_at DESC, f.id DESC;

-- name: list_shared_facts
-- What is known to a whole persona or team, and told to everybody whom it talks to.
SELECT f.id, f.scope, COALESCE(h.display_name, t.display_name) AS owner_name, f.key, f.value, f.confidence, f.origin,
       f.valid_from, f.last_confirmed_at, f.recall_count, f.use_count
  FROM facts f
  LEFT JOIN humans h ON h.id = f.human_id
  LEFT JOIN teams t ON t.id = f.team_id
 WHERE f.scope IN ('human', 'team') AND f.valid_until IS NULL
 ORDER BY f.scope, owner_name, f.key, f.id
 LIMIT %(most)s;

-- name: lock_fact
-- A live fact that the reader may see, held until the transaction ends: one's own with a binding, or any that their
-- clearance covers.
SELECT f.id, f.scope, f.key, f.value, f.user_id, f.binding_id
  FROM facts f
  LEFT JOIN bindings b ON b.id = f.binding_id
  LEFT JOIN users u ON u.id = f.user_id
 WHERE f.id = %(fact_id)s AND f.valid_until IS NULL
   AND CASE WHEN %(user_id)s::uuid IS NULL THEN COALESCE(GREATEST(b.clearance, u.clearance), 0) <= %(clearance)s
            ELSE f.user_id = %(user_id)s AND f.binding_id = %(binding_id)s END
   FOR UPDATE OF f;

-- name: find_previous_value_ids
-- What stood under a fact's key before it, the latest first.
SELECT p.id
  FROM facts f
  JOIN facts p ON (p.scope, p.key) = (f.scope, f.key) AND p.id <> f.id AND p.valid_until IS NOT NULL
       AND (p.user_id, p.binding_id, p.human_id, p.team_id, p.member)
           IS NOT DISTINCT FROM (f.user_id, f.binding_id, f.human_id, f.team_id, f.member)
 WHERE f.id = %(fact_id)s
 ORDER BY p.valid_until DESC, p.id;

-- name: replace_value
-- Somebody puts a fact right: the old value ends now, and the new one is sure. What it was taken from is theirs alone.
WITH old AS (
    UPDATE facts SET valid_until = GREATEST(%(now)s, valid_from), end_reason = 'edited', superseded_by = %(new_id)s
     WHERE id = %(fact_id)s AND valid_until IS NULL
    RETURNING *
), decided AS (
    INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, fact_id, key, origin, decision, confidence, decided_at)
    SELECT tenant_id, %(decision_id)s, user_id, binding_id, %(new_id)s, key, 'edited', 'contradicts', 1, %(now)s
      FROM old
)
INSERT INTO facts (tenant_id, id, scope, human_id, team_id, user_id, binding_id, key, value, confidence, origin,
                   edited_by, valid_from, last_confirmed_at, created_at, member)
SELECT tenant_id, %(new_id)s, scope, human_id, team_id, user_id, binding_id, key, %(value)s, 1, 'edited', %(edited_by)s,
       %(now)s, %(now)s, %(now)s, member
  FROM old;
