-- Which sessions somebody has or may read, and what their user makes of them.

-- name: list_own_sessions
-- A user's sessions with one binding, those that they pinned first, then the latest; either those put away or the rest,
-- and of one entity if one is named. `last` is the beginning of what was said there last.
SELECT s.id, s.user_id, s.binding_id, s.entity_id, s.visibility, s.channel, s.title, s.is_main, s.pinned_at,
       s.archived_at, s.created_at, s.last_active_at, s.last_event_number,
       (SELECT left(m.body, %(letters)s) FROM messages m
         WHERE m.session_id = s.id AND m.state <> 'ignored' AND m.kind <> 'tool_result'
         ORDER BY m.position DESC LIMIT 1) AS last_message_preview
  FROM sessions s
 WHERE s.user_id = %(user_id)s AND s.binding_id = %(binding_id)s
   AND (%(entity_id)s::uuid IS NULL OR s.entity_id = %(entity_id)s)
   AND (s.archived_at IS NOT NULL) = %(archived)s
 ORDER BY s.pinned_at IS NULL, s.last_active_at DESC, s.id DESC
 LIMIT %(most)s;

-- name: list_readable_sessions
-- Sessions that somebody of the tenant may read, the latest first, not those put away: of one entity, of one user, or
-- both. Read are those that were opened to whoever asks (`visibilities`), as far as their clearance goes: what a session
-- needs is what `tenancy.session` says.
SELECT s.id, s.user_id, s.binding_id, s.entity_id, s.visibility, s.channel, s.title, s.is_main, s.pinned_at,
       s.archived_at, s.created_at, s.last_active_at, s.last_event_number,
       (SELECT left(m.body, %(letters)s) FROM messages m
         WHERE m.session_id = s.id AND m.state <> 'ignored' AND m.kind <> 'tool_result'
         ORDER BY m.position DESC LIMIT 1) AS last_message_preview
  FROM sessions s
  JOIN bindings b ON b.tenant_id = s.tenant_id AND b.id = s.binding_id
  JOIN users u ON u.tenant_id = s.tenant_id AND u.id = s.user_id
  LEFT JOIN entities e ON (e.tenant_id, e.id) = (s.tenant_id, s.entity_id)
 WHERE (%(entity_id)s::uuid IS NULL OR s.entity_id = %(entity_id)s)
   AND (%(user_id)s::uuid IS NULL OR s.user_id = %(user_id)s)
   AND (s.archived_at IS NOT NULL) = %(archived)s
   AND s.visibility = ANY(%(visibilities)s)
   AND GREATEST(b.clearance, u.clearance, e.classification,
                (SELECT max(r.classification)
                   FROM citation_numbers n
                   JOIN context_rows r ON (r.tenant_id, r.id) = (n.tenant_id, n.row_id)
                  WHERE (n.tenant_id, n.session_id) = (s.tenant_id, s.id))) <= %(clearance)s
 ORDER BY s.last_active_at DESC, s.id DESC
 LIMIT %(most)s;

-- name: find_latest_session
-- The session that a user of the web goes on with: the latest with the binding about that entity, or about none, that
-- is not put away.
SELECT s.id
  FROM sessions s
 WHERE s.user_id = %(user_id)s AND s.binding_id = %(binding_id)s AND s.entity_id IS NOT DISTINCT FROM %(entity_id)s::uuid
   AND s.archived_at IS NULL
 ORDER BY s.last_active_at DESC, s.id DESC
 LIMIT 1;

-- name: update_session
-- What a user makes of their own session: its title, whether it comes first, whether it is put away, who else may read
-- it; null leaves a part as it is. What an agent held in mind there goes when it is put away. Where others could read
-- along so far, what is said by then stays out of memory, also what waits to be answered.
WITH changed AS (
    UPDATE sessions s
       SET title = COALESCE(%(title)s::text, title),
           titled_by = CASE WHEN %(title)s::text IS NULL THEN titled_by ELSE 'user' END,
           pinned_at = CASE %(pinned)s::boolean WHEN true THEN COALESCE(pinned_at, %(now)s) WHEN false THEN NULL
                       ELSE pinned_at END,
           archived_at = CASE %(archived)s::boolean WHEN true THEN COALESCE(archived_at, %(now)s) WHEN false THEN NULL
                         ELSE archived_at END,
           visibility = COALESCE(%(visibility)s::text, visibility),
           shared_until_turn = CASE
               WHEN visibility <> 'private' AND %(visibility)s::text = 'private'
               THEN COALESCE((SELECT max(t.number) FROM turns t WHERE t.session_id = s.id), 0)
                    + EXISTS (SELECT FROM messages m WHERE m.session_id = s.id AND m.state = 'unanswered')::int
               ELSE shared_until_turn END
     WHERE id = %(session_id)s AND user_id = %(user_id)s
    RETURNING id
), cleared AS (
    DELETE FROM agent_states a USING changed c WHERE a.session_id = c.id AND %(archived)s::boolean
)
SELECT id FROM changed;
