-- In this order: a conversation and its moves, events, lists.

-- name: lock_session
-- Keep a session as it is: turns begin and messages arrive under the same lock. The thread is read afterwards, in a
-- statement of its own: one that waited for the lock has not seen what the holder wrote.
SELECT id FROM sessions WHERE id = %(session_id)s FOR UPDATE;

-- name: read_thread
-- A session's binding's inbox settings and its thread; null when it never was in the inbox.
SELECT s.id AS session_id, b.inbox AS settings, to_jsonb(t) AS thread
  FROM sessions s
  JOIN bindings b ON b.id = answering_binding(s)
  LEFT JOIN inbox_threads t ON t.session_id = s.id
 WHERE s.id = %(session_id)s;

-- name: save_thread
-- A thread as a move leaves it.
INSERT INTO inbox_threads (tenant_id, session_id, state, claim, assignee, assignee_name, reason, reason_text, priority,
                           instruction, opened_by, opened_at, answered_at, closed_at, snoozed_until,
                           first_response_due_at, resolution_due_at, escalation_due_at, updated_at)
VALUES (current_tenant(), %(session_id)s, %(state)s, %(claim)s, %(assignee)s, %(assignee_name)s, %(reason)s,
        %(reason_text)s, %(priority)s, %(instruction)s, %(opened_by)s, %(opened_at)s, %(answered_at)s, %(closed_at)s,
        %(snoozed_until)s, %(first_response_due_at)s, %(resolution_due_at)s, %(escalation_due_at)s, %(now)s)
ON CONFLICT (tenant_id, session_id) DO UPDATE
   SET state = excluded.state, claim = excluded.claim, assignee = excluded.assignee,
       assignee_name = excluded.assignee_name, reason = excluded.reason, reason_text = excluded.reason_text,
       priority = excluded.priority, instruction = excluded.instruction, opened_by = excluded.opened_by,
       opened_at = excluded.opened_at, answered_at = excluded.answered_at, closed_at = excluded.closed_at,
       snoozed_until = excluded.snoozed_until, first_response_due_at = excluded.first_response_due_at,
       resolution_due_at = excluded.resolution_due_at, escalation_due_at = excluded.escalation_due_at,
       updated_at = excluded.updated_at;

-- name: find_member
-- Who a member is, and whether they may be given a conversation.
SELECT id, display_name, roles, clearance, active FROM members WHERE id = %(member_id)s;

-- name: list_answerers
-- The active members of at least a clearance who may answer, by name.
SELECT id, display_name, roles, clearance, active FROM members
 WHERE active AND clearance >= %(clearance)s AND ('admin' = ANY(roles) OR roles @> %(roles)s::text[])
 ORDER BY display_name, id
 LIMIT %(most)s;

-- name: list_unheard
-- Conversations, or one, that wait for a person while nobody was notified, oldest first; none of more clearance than the
-- reader's.
SELECT t.session_id, t.binding, t.opened_at
  FROM unheard_threads t
  JOIN sessions s ON s.id = t.session_id
 WHERE session_clearance(s) <= %(clearance)s AND (%(session_id)s::uuid IS NULL OR t.session_id = %(session_id)s)
 ORDER BY t.opened_at, t.session_id
 LIMIT %(most)s;

-- name: clear_instruction
-- The turn that read the instruction has answered.
UPDATE inbox_threads SET instruction = NULL WHERE session_id = %(session_id)s AND instruction = %(instruction)s;

-- name: insert_event
-- What happened to a conversation, once per id.
INSERT INTO inbox_events (tenant_id, id, session_id, kind, actor, actor_name, message_id, body, details, at)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(kind)s, %(actor)s, %(actor_name)s, %(message_id)s, %(body)s,
        %(details)s, %(at)s)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: list_events_after
-- Events after a number, oldest first, of one session or of all; none of more clearance than the reader's.
SELECT e.id, e.number, e.session_id, e.kind, e.actor, e.actor_name, e.message_id, e.body, e.details, e.at
  FROM inbox_events e
  JOIN sessions s ON s.id = e.session_id
 WHERE session_clearance(s) <= %(clearance)s AND e.number > %(number)s
   AND (%(session_id)s::uuid IS NULL OR e.session_id = %(session_id)s)
 ORDER BY e.number
 LIMIT %(most)s;

-- name: list_threads
-- Conversations of the inbox, the most urgent and the oldest first; none of more clearance than the reader's. One in
-- which a person has to decide something is among them: outside of a stay in the inbox with the reason and the time of
-- what is undecided.
WITH undecided AS (
    SELECT session_id, count(*) AS amount, min(since) AS since, (array_agg(reason ORDER BY since, id))[1] AS reason
      FROM undecided_items
     WHERE %(session_id)s::uuid IS NULL OR session_id = %(session_id)s
     GROUP BY session_id
), threads AS (
    SELECT t.session_id,
           to_jsonb(t) || CASE WHEN u.amount > 0 AND t.state IN ('agent', 'done')
                               THEN jsonb_build_object('reason', u.reason, 'reason_text', '', 'opened_at', u.since)
                               ELSE '{}' END AS thread,
           COALESCE(u.amount, 0) AS undecided_count
      FROM inbox_threads t
      LEFT JOIN undecided u ON u.session_id = t.session_id
    UNION ALL
    SELECT u.session_id,
           jsonb_build_object('session_id', u.session_id, 'state', 'agent', 'claim', 0, 'reason', u.reason,
                              'reason_text', '', 'priority', 0, 'opened_by', 'system', 'opened_at', u.since),
           u.amount
      FROM undecided u
     WHERE NOT EXISTS (SELECT FROM inbox_threads t WHERE t.session_id = u.session_id)
), listed AS (
    SELECT session_id, thread, undecided_count, thread ->> 'state' AS state, thread ->> 'assignee' AS assignee,
           thread ->> 'reason' AS reason, (thread ->> 'priority')::int AS priority,
           (thread ->> 'opened_at')::timestamptz AS opened_at
      FROM threads
)
SELECT t.thread, t.undecided_count, s.title, s.channel, b.slug AS binding, b.display_name AS binding_name,
       u.id AS user_id, u.display_name AS user_name,
       (SELECT jsonb_build_object('text', left(m.body, 160), 'direction', m.direction, 'at', m.received_at)
          FROM messages m
         WHERE m.session_id = s.id AND m.state <> 'ignored' AND m.kind <> 'tool_result'
         ORDER BY m.position DESC LIMIT 1) AS last_message,
       (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.state = 'unanswered') AS unanswered_count,
       (SELECT max(m.sent_at) FROM messages m WHERE m.session_id = s.id AND m.direction = 'inbound'
           AND m.kind <> 'tool_result') AS last_inbound_at
  FROM listed t
  JOIN sessions s ON s.id = t.session_id
  JOIN users u ON u.id = s.user_id
  JOIN bindings b ON b.id = answering_binding(s)
 WHERE session_clearance(s) <= %(clearance)s
   AND (%(states)s::text[] IS NULL OR t.state = ANY(%(states)s) OR %(undecided)s AND t.undecided_count > 0)
   AND (%(assignee)s::text IS NULL OR t.assignee = %(assignee)s)
   AND (%(binding)s::text IS NULL OR b.slug = %(binding)s)
   AND (%(reason)s::text IS NULL OR t.reason = %(reason)s)
   AND (%(session_id)s::uuid IS NULL OR t.session_id = %(session_id)s)
   AND (%(after_id)s::uuid IS NULL
        OR (-t.priority, t.opened_at, t.session_id) > (-%(after_priority)s::int, %(after_at)s::timestamptz, %(after_id)s))
 ORDER BY t.priority DESC, t.opened_at, t.session_id
 LIMIT %(most)s;

-- name: count_threads
-- How many conversations of the inbox the reader may see by state; those of one assignee, those that waited too long,
-- and those that no person has although something in them is undecided. No row where there is none.
SELECT count(*) FILTER (WHERE t.state = 'waiting') AS waiting, count(*) FILTER (WHERE t.state = 'person') AS person,
       count(*) FILTER (WHERE t.state = 'snoozed') AS snoozed,
       count(*) FILTER (WHERE t.state = 'person' AND t.assignee = %(assignee)s) AS mine,
       count(*) FILTER (WHERE t.state IN ('waiting', 'person', 'snoozed') AND t.priority > 0) AS escalated,
       count(*) FILTER (WHERE i.session_id IS NOT NULL AND COALESCE(t.state, 'agent') IN ('agent', 'done'))
           AS undecided
  FROM (SELECT session_id FROM inbox_threads WHERE state IN ('waiting', 'person', 'snoozed')
         UNION SELECT session_id FROM undecided_items) listed
  JOIN sessions s ON s.id = listed.session_id AND session_clearance(s) <= %(clearance)s
  LEFT JOIN inbox_threads t ON t.session_id = s.id
  LEFT JOIN (SELECT DISTINCT session_id FROM undecided_items) i ON i.session_id = s.id
HAVING count(*) > 0;

-- name: find_undecided_reason
-- Why a person has to look at a conversation: its oldest undecided item; null when there is none. With a time in
-- held_after, only replies count that were held after it.
SELECT i.reason
  FROM undecided_items i
 WHERE i.session_id = %(session_id)s
   AND (%(held_after)s::timestamptz IS NULL
        OR EXISTS (SELECT FROM outbox o WHERE o.id = i.id AND o.state = 'held' AND o.status_at > %(held_after)s))
 ORDER BY i.since, i.id
 LIMIT 1;

-- name: read_context
-- What a person needs to know of a session: its newest summary that the reader may see, else the last question and
-- answer; the tool calls of its last turns; and its effects that run or whose outcome is unknown.
SELECT COALESCE(
           (SELECT s.text FROM summaries s, source_status(s.source_ids) f
             WHERE s.session_id = %(session_id)s AND f.classification <= %(clearance)s AND NOT f.is_deleted
             ORDER BY s.version DESC LIMIT 1),
           (SELECT string_agg(left(last.body, 500), E'\n' ORDER BY last.position)
              FROM (SELECT m.body, m.position FROM messages m
                     WHERE m.session_id = %(session_id)s AND m.state <> 'ignored' AND m.kind <> 'tool_result'
                     ORDER BY m.position DESC LIMIT 2) last)) AS summary,
       (SELECT jsonb_agg(jsonb_build_object('name', c.name, 'state', c.state, 'code', c.code, 'at', c.started_at)
                         ORDER BY c.started_at DESC)
          FROM tool_calls c
         WHERE c.turn_id IN (SELECT t.id FROM turns t WHERE t.session_id = %(session_id)s
                              ORDER BY t.number DESC LIMIT 5)) AS tried,
       (SELECT jsonb_agg(jsonb_build_object('name', c.name, 'state', c.state, 'code', c.code, 'at', c.started_at)
                         ORDER BY c.started_at DESC)
          FROM tool_calls c JOIN turns t ON t.id = c.turn_id
         WHERE t.session_id = %(session_id)s AND c.writes
           AND c.state IN ('reserved', 'running', 'unknown')) AS open_effects
  FROM sessions o
 WHERE o.id = %(session_id)s;
