-- Which sessions somebody has or may read, and what their user makes of them.

-- name: list_own_sessions
-- A user's sessions with one binding, those that they pinned first, then the latest, behind a position; either those put
-- away or the rest, and of one entity if one is named. `last` is the beginning of what was said there last.
SELECT s.id, s.user_id, s.binding_id, s.entity_id, s.visibility, s.channel, s.title, s.is_main, s.pinned_at,
       s.archived_at, s.created_at, s.last_active_at, s.last_event_number,
       (SELECT left(m.body, %(letters)s) FROM messages m
         WHERE m.session_id = s.id AND m.state <> 'ignored' AND m.kind <> 'tool_result'
         ORDER BY m.position DESC LIMIT 1) AS last_message_preview
  FROM sessions s
 WHERE s.user_id = %(user_id)s AND s.binding_id = %(binding_id)s
   AND (%(entity_id)s::uuid IS NULL OR s.entity_id = %(entity_id)s)
   AND (s.archived_at IS NOT NULL) = %(archived)s
   AND (%(after_id)s::uuid IS NULL OR (s.pinned_at IS NOT NULL, s.last_active_at, s.id)
                                      < (%(after_pinned)s::boolean, %(after_at)s::timestamptz, %(after_id)s))
 ORDER BY s.pinned_at IS NOT NULL DESC, s.last_active_at DESC, s.id DESC
 LIMIT %(most)s;

-- name: list_readable_sessions
-- Sessions that somebody of the tenant may read, the latest first, behind a position, not those put away: of one entity, of one user, or
-- both. Read are those that were opened to whoever asks (`visibilities`), as far as their clearance goes: what a session
-- needs is what `session_clearance` says.
SELECT s.id, s.user_id, s.binding_id, s.entity_id, s.visibility, s.channel, s.title, s.is_main, s.pinned_at,
       s.archived_at, s.created_at, s.last_active_at, s.last_event_number,
       (SELECT left(m.body, %(letters)s) FROM messages m
         WHERE m.session_id = s.id AND m.state <> 'ignored' AND m.kind <> 'tool_result'
         ORDER BY m.position DESC LIMIT 1) AS last_message_preview
  FROM sessions s
 WHERE (%(entity_id)s::uuid IS NULL OR s.entity_id = %(entity_id)s)
   AND (%(user_id)s::uuid IS NULL OR s.user_id = %(user_id)s)
   AND (s.archived_at IS NOT NULL) = %(archived)s
   AND (%(after_id)s::uuid IS NULL OR (s.last_active_at, s.id) < (%(after_at)s::timestamptz, %(after_id)s))
   AND s.visibility = ANY(%(visibilities)s)
   AND session_clearance(s) <= %(clearance)s
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

-- name: list_conversations
-- plan: custom
-- The tenant's conversations for a viewer, newest activity first, behind a position; or one of them. What a conversation
-- needs to be read is what `tenancy.find_session` says. The page is chosen first; only its rows are counted and summed.
-- What the inbox says of a conversation comes before the state of its last turn. A tool counts as failed while its last
-- call in the conversation did not work; as a filter, each call counts.
WITH page AS (
    SELECT s.*, b.slug AS agent_slug, b.display_name AS agent_name, u.display_name AS person_name,
           right(u.phone, 4) AS phone_last_digits, y.key || '/' || e.key AS record_handle, e.name AS record_name
      FROM sessions s
      JOIN bindings b ON b.tenant_id = s.tenant_id AND b.id = COALESCE(s.answering_binding_id, s.binding_id)
      JOIN users u ON u.tenant_id = s.tenant_id AND u.id = s.user_id
      LEFT JOIN entities e ON (e.tenant_id, e.id) = (s.tenant_id, s.entity_id)
      LEFT JOIN entity_types y ON (y.tenant_id, y.id) = (e.tenant_id, e.type_id) AND e.deleted_at IS NULL
     WHERE (%(session_id)s::uuid IS NULL OR s.id = %(session_id)s)
       AND (%(after_id)s::uuid IS NULL OR (s.last_active_at, s.id) < (%(after_at)s::timestamptz, %(after_id)s))
       AND (%(agent)s::text IS NULL OR b.slug = %(agent)s)
       AND (%(channel)s::text IS NULL OR s.channel = %(channel)s)
       AND (%(user_id)s::uuid IS NULL OR s.user_id = %(user_id)s)
       AND (%(entity_id)s::uuid IS NULL OR s.entity_id = %(entity_id)s)
       AND (%(state)s::text = 'failed' OR ((%(since)s::timestamptz IS NULL OR s.last_active_at >= %(since)s)
                                           AND (%(until)s::timestamptz IS NULL OR s.last_active_at < %(until)s)))
       AND CASE %(state)s::text
               WHEN 'archived' THEN s.archived_at IS NOT NULL
               WHEN 'waiting' THEN s.id IN (SELECT i.session_id FROM inbox_threads i WHERE i.state = 'waiting'
                                            UNION ALL SELECT u.session_id FROM undecided_items u)
               WHEN 'with_person' THEN s.id IN (SELECT i.session_id FROM inbox_threads i
                                                 WHERE i.state IN ('person', 'snoozed'))
               WHEN 'waiting_for_user' THEN s.id IN (SELECT a.session_id FROM approvals a
                                                      WHERE a.state = 'asked' AND a.approver = 'user')
               WHEN 'running' THEN s.id IN (SELECT t.session_id FROM turns t WHERE t.state = 'open')
               WHEN 'failed' THEN s.id IN (
                   SELECT t.session_id FROM turns t
                    WHERE t.state = 'failed' AND (%(since)s::timestamptz IS NULL OR t.finished_at >= %(since)s)
                      AND (%(until)s::timestamptz IS NULL OR t.finished_at < %(until)s)
                   UNION ALL
                   SELECT t.session_id
                     FROM tool_calls c JOIN turns t ON (t.tenant_id, t.id) = (c.tenant_id, c.turn_id)
                    WHERE is_tool_failure(c) AND (%(since)s::timestamptz IS NULL OR c.finished_at >= %(since)s)
                      AND (%(until)s::timestamptz IS NULL OR c.finished_at < %(until)s))
               WHEN 'answered' THEN (
                   SELECT t.state FROM turns t WHERE (t.tenant_id, t.session_id) = (s.tenant_id, s.id)
                    ORDER BY t.number DESC LIMIT 1) IN ('answered', 'stopped')
                   AND NOT EXISTS (SELECT FROM inbox_threads i
                                    WHERE i.session_id = s.id AND i.state IN ('waiting', 'person', 'snoozed'))
                   AND NOT EXISTS (SELECT FROM undecided_items u WHERE u.session_id = s.id)
                   AND NOT EXISTS (SELECT FROM approvals a
                                    WHERE a.session_id = s.id AND a.state = 'asked' AND a.approver = 'user')
               ELSE true END
       AND (%(text)s::text IS NULL OR position(lower(%(text)s) IN lower(s.title)) > 0
            OR position(lower(%(text)s) IN lower(u.display_name)) > 0
            OR (%(digits)s::text <> '' AND (right(u.phone, 4) LIKE '%%' || %(digits)s::text
                                            OR regexp_replace(u.phone, '\D', '', 'g') = %(digits)s)))
       AND session_clearance(s) <= %(clearance)s
     ORDER BY s.last_active_at DESC, s.id DESC
     LIMIT %(most)s
)
SELECT p.id, p.title, p.user_id, p.person_name, p.phone_last_digits, p.agent_slug, p.agent_name, p.channel,
       p.record_handle, p.record_name, p.visibility, p.archived_at, p.created_at, p.last_active_at,
       (SELECT count(*) FROM messages m
         WHERE (m.tenant_id, m.session_id) = (p.tenant_id, p.id) AND m.state <> 'ignored' AND m.kind <> 'tool_result')
       AS message_count,
       (SELECT left(CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END, %(letters)s)
          FROM messages m
         WHERE (m.tenant_id, m.session_id) = (p.tenant_id, p.id) AND m.state <> 'ignored' AND m.kind <> 'tool_result'
         ORDER BY m.position DESC LIMIT 1) AS last_message_preview,
       (SELECT count(*) FROM turns t WHERE (t.tenant_id, t.session_id) = (p.tenant_id, p.id)) AS turn_count,
       (SELECT t.state FROM turns t WHERE (t.tenant_id, t.session_id) = (p.tenant_id, p.id)
         ORDER BY t.number DESC LIMIT 1) AS last_turn_state,
       (SELECT sum(l.cost_usd) FROM llm_calls l WHERE (l.tenant_id, l.session_id) = (p.tenant_id, p.id)) AS cost_usd,
       (SELECT count(*) FROM undecided_items u WHERE u.session_id = p.id) AS attention_count,
       (SELECT array_agg(l.name ORDER BY l.name)
          FROM (SELECT DISTINCT ON (c.name) c.name, is_tool_failure(c) AS is_failure
                  FROM turns t JOIN tool_calls c ON (c.tenant_id, c.turn_id) = (t.tenant_id, t.id)
                 WHERE (t.tenant_id, t.session_id) = (p.tenant_id, p.id) AND c.finished_at IS NOT NULL
                 ORDER BY c.name, c.finished_at DESC) l
         WHERE l.is_failure) AS failed_tools,
       i.state AS inbox_state, i.assignee_name,
       EXISTS (SELECT FROM approvals a
                WHERE (a.tenant_id, a.session_id) = (p.tenant_id, p.id) AND a.state = 'asked' AND a.approver = 'user')
       AS has_question_for_user
  FROM page p
  LEFT JOIN inbox_threads i ON (i.tenant_id, i.session_id) = (p.tenant_id, p.id)
 ORDER BY p.last_active_at DESC, p.id DESC;
