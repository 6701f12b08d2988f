-- name: acquire_lease
-- Take the session for one turn, unless another worker holds it; the token fences off everybody before. A lease that
-- the same worker took by a statement whose answer was lost is its own. The turn reads all that waits, so that wakes
-- of before are served. The worker is counted until its deadline; who is over by now is not.
UPDATE sessions
   SET lease_token = lease_token + 1, lease_until = %(until)s, lease_holder = %(holder)s, has_pending_wake = false,
       worker_deadlines = (SELECT COALESCE(jsonb_object_agg(w.key, w.value), '{}') FROM jsonb_each_text(worker_deadlines) w
                            WHERE w.value::timestamptz > %(now)s)
                          || jsonb_strip_nulls(jsonb_build_object(%(holder)s::text, %(deadline)s::timestamptz))
 WHERE id = %(session_id)s AND (lease_until IS NULL OR lease_until <= %(now)s OR lease_holder = %(holder)s)
RETURNING id, user_id, binding_id, channel, lease_token AS token, lease_until AS expires_at, lease_holder AS holder_id,
          last_event_number, entity_id, COALESCE(address, '') AS address,
          is_main OR channel <> 'web' AS is_by_phone,
          EXISTS (SELECT FROM handoffs h WHERE h.session_id = sessions.id) AS was_handed_over,
          (SELECT t.instruction FROM inbox_threads t WHERE t.session_id = sessions.id) AS instruction,
          EXISTS (SELECT FROM approvals a
                   WHERE a.tenant_id = sessions.tenant_id AND a.session_id = sessions.id AND a.state = 'asked')
              AS has_open_questions;

-- name: leave_wake
-- Leave a wake to the worker that holds the session, if one still does: it looks for messages again when its turn ends.
-- No row for a session that is gone.
UPDATE sessions
   SET has_pending_wake = COALESCE(lease_until > %(now)s, false)
 WHERE id = %(session_id)s
RETURNING has_pending_wake AS is_held;

-- name: renew_lease
-- Hold the session for longer, if it is still ours and was not let go.
UPDATE sessions
   SET lease_until = GREATEST(lease_until, %(until)s)
 WHERE id = %(session_id)s AND lease_token = %(token)s AND lease_until IS NOT NULL;

-- name: lock_session
-- Keep a session as it is until the transaction ends: whoever stores a message or runs a turn in it waits.
SELECT channel, lease_until FROM sessions WHERE id = %(session_id)s FOR UPDATE;

-- name: open_wake_group
-- Let the session be woken in a FIFO group of its own: a dead worker's message may hold the one before.
UPDATE sessions SET wake_group = wake_group + 1 WHERE id = %(session_id)s RETURNING wake_group;

-- name: lock_approval_session
-- Keep the session of a question as it is: a turn locks its session before it looks at questions.
SELECT s.id FROM approvals a JOIN sessions s ON s.id = a.session_id WHERE a.id = %(approval_id)s FOR UPDATE OF s;

-- name: find_unanswered_since
-- Since when a session has something to answer: an unanswered message, or a turn that is open; null when it has not.
-- What waits for a person is no worker's.
SELECT LEAST((SELECT min(m.received_at) FROM messages m WHERE m.session_id = s.id AND m.state = 'unanswered'
                 AND NOT EXISTS (SELECT FROM inbox_threads t WHERE t.session_id = s.id
                                    AND t.state IN ('waiting', 'person', 'snoozed'))),
             (SELECT min(t.frozen_at) FROM turns t WHERE t.session_id = s.id AND t.state = 'open')) AS unanswered_since
  FROM sessions s
 WHERE s.id = %(session_id)s;

-- name: pass_fence
-- Pass only with the session's current token; notes the number of the feed's last event. Whoever holds the lease is
-- the only one who numbers, so that repeating the write gives the same events the same numbers. Whether somebody wants
-- the turn to end is read along.
UPDATE sessions
   SET last_event_number = %(last_event)s
 WHERE id = %(session_id)s AND lease_token = %(token)s
RETURNING (SELECT t.stop_cause FROM turns t WHERE t.id = %(turn_id)s) AS stop_cause;

-- name: find_stop_cause
-- Why a turn is to end; null when nobody wants that.
SELECT stop_cause FROM turns WHERE id = %(turn_id)s;

-- name: request_stop_of_open_turn
-- The turn of a session that is open is to end, if there is one; unless `spares_questions` and a person is asked.
UPDATE turns t
   SET stop_requested_at = COALESCE(t.stop_requested_at, %(now)s), stop_cause = COALESCE(t.stop_cause, %(cause)s)
 WHERE t.session_id = %(session_id)s AND t.state = 'open'
   AND NOT (%(spares_questions)s AND EXISTS (SELECT FROM approvals a
                                              WHERE a.tenant_id = t.tenant_id AND a.session_id = t.session_id
                                                AND a.state = 'asked'))
RETURNING t.id;

-- name: request_stop
-- A turn of a session is to end, if it is open or a heavy call of it is under way; asked twice, the first time counts.
WITH asked AS (
    UPDATE turns t
       SET stop_requested_at = COALESCE(t.stop_requested_at, %(now)s), stop_cause = COALESCE(t.stop_cause, %(cause)s)
     WHERE t.id = %(turn_id)s AND t.session_id = %(session_id)s
       AND (t.state = 'open' OR EXISTS (SELECT FROM tool_calls c
                                         WHERE c.turn_id = t.id AND c.heavy AND c.state IN ('reserved', 'running')))
)
SELECT t.state,
       COALESCE((SELECT c.name FROM tool_calls c
                  WHERE c.turn_id = t.id AND c.writes AND c.state = 'running' ORDER BY c.started_at LIMIT 1), '')
           AS running_write
  FROM turns t
 WHERE t.id = %(turn_id)s AND t.session_id = %(session_id)s;

-- name: release_lease
-- Let the session go, if it is still ours; the worker counts no longer, whosever the session is.
UPDATE sessions
   SET lease_until = CASE WHEN lease_token <> %(token)s THEN lease_until END,
       worker_deadlines = worker_deadlines - %(holder)s::text
 WHERE id = %(session_id)s;

-- name: resume_turn
-- The session's open turn, one attempt on; the same worker's attempt is counted once.
UPDATE turns
   SET attempt_count = attempt_count + (attempt_id IS DISTINCT FROM %(holder)s)::int, attempt_id = %(holder)s
 WHERE session_id = %(session_id)s AND state = 'open'
RETURNING id, number, attempt_count, frozen_at, false AS is_new, binding_id, stop_cause;

-- name: refund_attempt
-- An attempt that never got to the turn's own doing (the database or a queue was away) does not count.
UPDATE turns
   SET attempt_count = attempt_count - 1, attempt_id = NULL
 WHERE id = %(turn_id)s AND state = 'open' AND attempt_id = %(holder)s;

-- name: open_turn
-- A new turn over what is to be answered, if anything is; its messages, moment and configuration versions are frozen
-- here. A message whose file is still being fetched is left to the wake that follows the file, unless it came before
-- `awaited_since`. A burst that is too large is answered in parts: the rest waits for a turn of its own. While the
-- conversation waits for a person, or a person has it, nothing is ready.
WITH ready AS (
    SELECT id
      FROM (SELECT id, row_number() OVER arrival AS place, sum(octet_length(body)) OVER arrival AS bytes
              FROM messages
             WHERE session_id = %(session_id)s AND state = 'unanswered'
               AND NOT EXISTS (SELECT FROM inbox_threads t
                                WHERE t.session_id = %(session_id)s AND t.state IN ('waiting', 'person', 'snoozed'))
               AND (media IS NULL OR media ?| ARRAY['stored', 'refused', 'is_blocked'] OR received_at < %(awaited_since)s
                    OR COALESCE(media ->> 'url', '') = '' AND COALESCE(media ->> 'id', '') = '')
            WINDOW arrival AS (ORDER BY position)) waiting
     WHERE place = 1 OR place <= %(max_messages)s AND bytes <= %(max_bytes)s
), opened AS (
    INSERT INTO turns (tenant_id, id, session_id, binding_id, number, attempt_count, attempt_id, frozen_at, config)
    SELECT current_tenant(), %(turn_id)s, s.id, b.id,
           1 + (SELECT COALESCE(max(t.number), 0) FROM turns t WHERE t.session_id = s.id), 1, %(holder)s, %(now)s,
           jsonb_build_object('binding', b.version, 'human', h.version, 'team', m.version, 'agent', a.version)
      FROM sessions s
      JOIN bindings b ON b.id = answering_binding(s)
      JOIN humans h ON h.id = b.human_id
      JOIN teams m ON m.id = b.team_id
      JOIN agents a ON a.id = b.agent_id
     WHERE s.id = %(session_id)s AND EXISTS (SELECT FROM ready)
    RETURNING id, number, attempt_count, frozen_at, binding_id
), frozen AS (
    UPDATE messages SET state = 'in_turn', turn_id = opened.id FROM opened WHERE messages.id IN (SELECT id FROM ready)
)
SELECT id, number, attempt_count, frozen_at, true AS is_new, binding_id FROM opened;

-- name: open_person_turn
-- A turn that a person answers, or the inbox itself, over the kinds of messages in `answers` that are unanswered; none
-- while the agent's own is open.
WITH opened AS (
    INSERT INTO turns (tenant_id, id, session_id, binding_id, number, attempt_count, frozen_at, config)
    SELECT current_tenant(), %(turn_id)s, s.id, s.binding_id,
           1 + (SELECT COALESCE(max(t.number), 0) FROM turns t WHERE t.session_id = s.id), 1, %(now)s,
           jsonb_build_object('binding', b.version, 'human', h.version, 'team', m.version, 'agent', a.version)
      FROM sessions s
      JOIN bindings b ON b.id = s.binding_id
      JOIN humans h ON h.id = b.human_id
      JOIN teams m ON m.id = b.team_id
      JOIN agents a ON a.id = b.agent_id
     WHERE s.id = %(session_id)s
       AND NOT EXISTS (SELECT FROM turns o WHERE o.session_id = s.id AND o.state = 'open')
    RETURNING id, session_id, binding_id, number, attempt_count, frozen_at
), answered AS (
    UPDATE messages SET state = 'in_turn', turn_id = opened.id
      FROM opened
     WHERE messages.session_id = opened.session_id AND messages.state = 'unanswered' AND messages.kind = ANY(%(answers)s)
)
SELECT id, number, attempt_count, frozen_at, true AS is_new, binding_id FROM opened;

-- name: delete_empty_turn
-- A turn that was opened over nothing is as if it had never been.
DELETE FROM turns WHERE id = %(turn_id)s AND state = 'open'
   AND NOT EXISTS (SELECT FROM messages m WHERE m.turn_id = %(turn_id)s);

-- name: has_reply
-- Whether a message is there that was sent to the user.
SELECT true AS is_there FROM messages WHERE id = %(message_id)s AND direction = 'outbound';

-- name: find_reply_address
-- Where a session's user is reached: on the channel that they wrote on last, else on the session's.
SELECT s.tenant_id, s.binding_id, s.channel AS session_channel, s.wake_group,
       COALESCE(heard.channel, s.channel) AS channel, i.address, heard.at AS last_inbound_at,
       b.channels -> COALESCE(heard.channel, s.channel) AS channel_settings
  FROM sessions s
  JOIN bindings b ON b.id = s.binding_id
  LEFT JOIN LATERAL (
       SELECT m.channel, m.sent_at AS at FROM messages m
        WHERE m.session_id = s.id AND m.direction = 'inbound' AND m.kind IN ('text', 'media')
        ORDER BY m.position DESC LIMIT 1) heard ON true
  LEFT JOIN channel_identities i ON i.user_id = s.user_id AND i.channel = COALESCE(heard.channel, s.channel)
 WHERE s.id = %(session_id)s
 LIMIT 1;

-- name: find_inbox_trigger
-- What of a turn's tool calls needs a person: that the model asked for one, an effect of unknown outcome, a question to
-- members, or a tool that did not work for the second time since the conversation was last in the inbox. A late result
-- counts in the turn that answers it.
WITH own AS (
    SELECT c.id FROM tool_calls c WHERE c.turn_id = %(turn_id)s
    UNION
    SELECT (m.metadata ->> 'tool_call_id')::uuid FROM messages m
     WHERE m.turn_id = %(turn_id)s AND m.kind = 'tool_result'
), broken AS (
    SELECT c.name, c.id IN (SELECT o.id FROM own o) AS is_own
      FROM turns t
      JOIN tool_calls c ON c.turn_id = t.id
     WHERE t.session_id = %(session_id)s AND is_tool_failure(c)
       AND c.finished_at > COALESCE((SELECT i.closed_at FROM inbox_threads i WHERE i.session_id = %(session_id)s),
                                    '-infinity')
)
SELECT (SELECT COALESCE(c.arguments ->> 'reason', '') FROM tool_calls c
         WHERE c.turn_id = t.id AND c.name = 'ask_a_person' AND c.state = 'done' LIMIT 1) AS asked_reason,
       (SELECT c.name FROM tool_calls c JOIN own o ON o.id = c.id WHERE c.state = 'unknown' LIMIT 1) AS unknown_tool,
       (SELECT a.tool FROM approvals a JOIN own o ON o.id = a.tool_call_id
         WHERE a.state = 'asked' AND a.approver <> 'user' LIMIT 1) AS approval_tool,
       (SELECT b.name FROM broken b GROUP BY b.name HAVING count(*) >= 2 AND bool_or(b.is_own) LIMIT 1) AS failed_tool
  FROM turns t
 WHERE t.id = %(turn_id)s;

-- name: count_running_turns
-- How many workers the tenant's turns hold, besides this session's: those whose invocation may not be over, whether
-- their lease holds or not. No row where there is none.
SELECT count(*)
  FROM sessions s CROSS JOIN jsonb_each_text(s.worker_deadlines) w
 WHERE s.worker_deadlines <> '{}' AND s.id <> %(session_id)s AND w.value::timestamptz > %(now)s
HAVING count(*) > 0;

-- name: insert_notice
-- A line that tells somebody to wait. It belongs to no turn and is no speech: no prompt, list, search or memory has it.
-- An interim line names the turn that it announces: it is not sent after that.
INSERT INTO messages (tenant_id, id, session_id, binding_id, direction, state, channel, kind, body, sent_at,
                      received_at, indexed, metadata)
VALUES (current_tenant(), %(message_id)s, %(session_id)s, %(binding_id)s, 'outbound', 'ignored', %(channel)s, 'notice',
        %(body)s, %(now)s, %(now)s, true, jsonb_strip_nulls(jsonb_build_object('interim_turn_id', %(interim_turn_id)s::uuid)))
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: list_input_messages
-- The turn's frozen messages in order of arrival, with the address that a reply on their channel goes to, and with what
-- came with each: `current_classification` and `is_file_deleted` are those of the file that its text was read from.
SELECT m.id, m.channel, m.kind, m.body, m.received_at, m.joined_step, i.address AS reply_address,
       (SELECT jsonb_agg(to_jsonb(a) || jsonb_build_object(
                  'current_classification', GREATEST(a.classification, COALESCE(f.classification, 0)),
                  'is_file_deleted', a.file_id IS NOT NULL AND COALESCE(f.object_key, '') = '') ORDER BY a.position, a.id)
          FROM attachments a LEFT JOIN files f ON (f.tenant_id, f.id) = (a.tenant_id, a.file_id)
          WHERE a.message_id = m.id) AS attachments
  FROM messages m
  JOIN sessions s ON s.id = m.session_id
  LEFT JOIN channel_identities i ON i.user_id = s.user_id AND i.channel = m.channel
 WHERE m.turn_id = %(turn_id)s AND m.direction = 'inbound'
 ORDER BY m.position;

-- name: find_newest_received
-- The newest of a turn's messages that a provider delivered, with the settings of the number that it came to.
SELECT m.provider_message_id, m.channel, b.channels -> m.channel AS channel_settings, k.reference AS secret_reference
  FROM messages m
  JOIN bindings b ON b.id = m.binding_id
  LEFT JOIN secrets k ON k.name = b.channels -> m.channel ->> 'api_key'
 WHERE m.turn_id = %(turn_id)s AND m.direction = 'inbound' AND m.channel <> 'web' AND m.kind IN ('text', 'media')
 ORDER BY m.position DESC
 LIMIT 1;

-- name: list_waiting_texts
-- The texts of a session that no turn has read yet, in order of arrival.
SELECT jsonb_agg(body ORDER BY position) AS texts
  FROM messages WHERE session_id = %(session_id)s AND state = 'unanswered' AND kind = 'text'
HAVING count(*) > 0;

-- name: join_messages
-- The texts of a session that wait for an answer on a channel join the turn that runs, after a step; not while the
-- conversation waits for a person, nor where the turn is to end. What is too long with all that joined before waits, and
-- so does what came after it.
UPDATE messages
   SET state = 'in_turn', turn_id = %(turn_id)s, joined_step = %(step)s
 WHERE id IN (SELECT id
                FROM (SELECT m.id, row_number() OVER arrival AS place, sum(octet_length(m.body)) OVER arrival AS bytes
                        FROM messages m
                       WHERE m.session_id = %(session_id)s AND m.state = 'unanswered' AND m.kind = 'text'
                         AND m.channel = %(channel)s
                         AND NOT EXISTS (SELECT FROM turns t
                                          WHERE t.id = %(turn_id)s AND t.stop_cause IS NOT NULL)
                         AND NOT EXISTS (SELECT FROM attachments a WHERE a.message_id = m.id)
                         AND NOT EXISTS (SELECT FROM inbox_threads t
                                          WHERE t.session_id = %(session_id)s
                                            AND t.state IN ('waiting', 'person', 'snoozed'))
                      WINDOW arrival AS (ORDER BY m.position)) waiting
               WHERE place <= %(max_messages)s
                 AND bytes + (SELECT COALESCE(sum(octet_length(j.body)), 0) FROM messages j
                               WHERE j.turn_id = %(turn_id)s AND j.joined_step IS NOT NULL) <= %(max_bytes)s);

-- name: list_steps
-- The turn's model inferences so far.
SELECT number, blocks, stop_reason
  FROM steps
 WHERE turn_id = %(turn_id)s
 ORDER BY number;

-- name: list_finished_calls
-- The turn's tool calls that the model has been answered: with a result, or with what it was told meanwhile of a
-- call that the dispatcher carries out, also when its result has come since.
SELECT step, call_id, COALESCE(interim, result) AS result
  FROM tool_calls
 WHERE turn_id = %(turn_id)s AND (interim IS NOT NULL OR state IN ('done', 'failed', 'unknown'))
 ORDER BY step, call_id;

-- name: complete_step
-- The model's answer, as the raw content blocks it gave.
UPDATE steps
   SET blocks = %(blocks)s, stop_reason = %(stop_reason)s, provider = %(provider)s, model = %(model)s,
       completed_at = %(now)s
 WHERE turn_id = %(turn_id)s AND number = %(number)s AND completed_at IS NULL;

-- name: insert_llm_call
-- One call to a provider, answered or not.
INSERT INTO llm_calls (tenant_id, id, session_id, turn_id, step, binding_id, purpose, provider, model, outcome,
                       input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, tokens_by_layer, cost_usd,
                       cache_miss, first_token_ms, latency_ms, at)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(turn_id)s, %(step)s, %(binding_id)s, 'turn', %(provider)s, %(model)s,
        %(outcome)s, %(input_tokens)s, %(output_tokens)s, %(cache_read_tokens)s, %(cache_write_tokens)s,
        %(tokens_by_layer)s, %(cost_usd)s, %(cache_miss)s, %(first_token_ms)s, %(latency_ms)s, %(at)s)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: insert_tool_call
-- A finished tool call with its result; the same call of the same step is kept once.
INSERT INTO tool_calls (tenant_id, id, turn_id, step, call_id, name, arguments, writes, state, idempotency_key, result,
                        code, detail, latency_ms, started_at, finished_at)
VALUES (current_tenant(), %(id)s, %(turn_id)s, %(step)s, %(call_id)s, %(name)s, %(arguments)s, %(writes)s, %(state)s,
        %(idempotency_key)s, %(result)s, %(code)s, %(detail)s, %(latency_ms)s, %(started_at)s, %(finished_at)s)
ON CONFLICT (tenant_id, turn_id, step, call_id) DO NOTHING;

-- name: insert_event
-- One numbered event of the session's feed.
INSERT INTO events (tenant_id, session_id, number, turn_id, kind, payload, at)
VALUES (current_tenant(), %(session_id)s, %(number)s, %(turn_id)s, %(kind)s, %(payload)s, %(at)s)
ON CONFLICT (tenant_id, session_id, number) DO NOTHING;

-- name: insert_first_event
-- The event with which an attempt of a turn begins, unless the one before it is the same.
INSERT INTO events (tenant_id, session_id, number, turn_id, kind, payload, at)
SELECT current_tenant(), %(session_id)s, %(number)s, %(turn_id)s, %(kind)s, %(payload)s, %(at)s
 WHERE NOT EXISTS (SELECT FROM events e
                    WHERE e.session_id = %(session_id)s AND e.number = %(number)s - 1 AND e.turn_id = %(turn_id)s
                      AND e.kind = %(kind)s AND e.at = %(at)s);

-- name: delete_passing_events
-- The pieces of streamed text and the signs of progress that were sent before a time, a bounded number at a time; those of
-- an open turn stay.
DELETE FROM events
 WHERE (tenant_id, session_id, number) IN (
       SELECT e.tenant_id, e.session_id, e.number
         FROM events e
        WHERE e.tenant_id = current_tenant() AND e.at < %(before)s
          AND e.kind IN ('text_delta', 'text_reset', 'reasoning_delta', 'agent_state', 'operation', 'context_usage', 'entity_patch')
          AND NOT EXISTS (SELECT FROM turns t WHERE t.id = e.turn_id AND t.state = 'open')
        LIMIT %(most)s);

-- name: find_oldest_passing_event
-- When the oldest piece of streamed text or sign of progress was sent.
SELECT at FROM events
 WHERE kind IN ('text_delta', 'text_reset', 'reasoning_delta', 'agent_state', 'operation', 'context_usage', 'entity_patch')
 ORDER BY at LIMIT 1;

-- name: list_events_after
-- The feed after a number, in order; a user_id limits it to that user's sessions, else clearance to what it covers:
-- the binding's, and the user's own where that is more, since the replies hold what they may see. What a model thought is
-- for readers who may see it (`sees_reasoning`): it may tell of the tenant's own instructions.
SELECT e.number, e.kind, e.payload, e.turn_id, e.at
  FROM events e
  JOIN sessions s ON s.id = e.session_id
  JOIN users u ON u.id = s.user_id
  JOIN bindings b ON b.id = s.binding_id
       AND (GREATEST(b.clearance, s.answering_clearance, u.clearance) <= %(clearance)s OR s.user_id = %(user_id)s)
 WHERE e.session_id = %(session_id)s AND e.number > %(number)s
   AND (%(user_id)s::uuid IS NULL OR s.user_id = %(user_id)s)
   AND (%(sees_reasoning)s OR e.kind NOT IN ('reasoning_delta', 'reasoning_end'))
 ORDER BY e.number
 LIMIT %(most)s;

-- name: find_newest_numbers
-- The number of the newest event of each of these sessions.
SELECT id AS session_id, last_event_number FROM sessions WHERE id = ANY (%(session_ids)s);

-- name: list_answering_turns
-- The turns that answer a session's message, or the results of its tool calls; the id is null before a turn took it.
-- `tool_call_id` is of a result, `answers` the call that a message answered a question about: it has no turn then, and
-- the call's result is among the rows.
SELECT m.metadata ->> 'tool_call_id' AS tool_call_id, m.metadata ->> 'answers' AS answers, m.turn_id,
       COALESCE(t.state, '') AS turn_state
  FROM messages m
  LEFT JOIN turns t ON t.id = m.turn_id
 WHERE m.session_id = %(session_id)s AND m.direction = 'inbound'
   AND (m.id = %(message_id)s
        OR m.kind = 'tool_result'
           AND m.metadata ->> 'tool_call_id'
               = ANY (%(tool_call_ids)s || ARRAY(SELECT a.metadata ->> 'answers' FROM messages a
                                                  WHERE a.id = %(message_id)s AND a.session_id = m.session_id)))
 ORDER BY m.position;

-- name: find_first_event
-- The first event of a turn.
SELECT number, kind, payload, turn_id, at FROM events WHERE turn_id = %(turn_id)s ORDER BY number LIMIT 1;

-- name: find_reply_text
-- The text of a session's reply, and the numbers of what it cites.
SELECT body AS text, COALESCE(metadata -> 'cited_numbers', '[]') AS cited_numbers FROM messages
 WHERE id = %(message_id)s AND session_id = %(session_id)s AND direction = 'outbound';

-- name: find_last_cited_numbers
-- The numbers of what the newest reply with citations cites, as its reader counts them.
SELECT metadata -> 'cited_numbers' AS cited_numbers
  FROM messages
 WHERE session_id = %(session_id)s AND direction = 'outbound' AND metadata ? 'cited_numbers'
 ORDER BY position DESC
 LIMIT 1;

-- name: list_asked_calls
-- Of questions that are open in a session, or that are named: the number of the event that told of the call.
SELECT a.id AS approval_id, max(e.number) AS event_number
  FROM approvals a
  JOIN tool_calls c ON c.id = a.tool_call_id
  JOIN approvals f ON f.tool_call_id = c.id
  JOIN events q ON q.turn_id = c.turn_id AND q.kind = 'approval' AND q.payload ->> 'approval_id' = f.id::text
       AND q.payload ->> 'state' = 'asked'
  JOIN events e ON e.turn_id = c.turn_id AND e.kind = 'tool_call' AND e.number < q.number
 WHERE a.session_id = %(session_id)s AND (a.state = 'asked' OR a.id = ANY (%(approval_ids)s))
 GROUP BY a.id;

-- name: insert_message
-- An inbound message, once per provider id; returns nothing when it was there already. One that waits for an answer
-- has its session looked at later, should its wake-up get lost. It brings back a session that was put away, and gives one
-- that nobody named the title that it makes, if it makes one. A snoozed conversation is back in the inbox. `is_quiet`: no
-- turn is open, and nothing was written since `quiet_since`.
WITH stored AS (
    INSERT INTO messages (tenant_id, id, session_id, binding_id, direction, state, channel, kind, body, media,
                          provider_message_id, sent_at, received_at, metadata)
    VALUES (current_tenant(), %(id)s, %(session_id)s, %(binding_id)s, 'inbound', %(state)s, %(channel)s, %(kind)s,
            %(body)s, %(media)s, %(provider_message_id)s, %(sent_at)s, %(received_at)s, %(metadata)s)
    ON CONFLICT (tenant_id, binding_id, provider_message_id) DO NOTHING
    RETURNING id, session_id, state
), waiting AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'session', session_id, %(due_at)s FROM stored WHERE state = 'unanswered'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, EXCLUDED.due_at)
), held AS (
    UPDATE inbox_threads t
       SET state = CASE WHEN t.state = 'person' OR t.assignee IS NOT NULL THEN 'person' ELSE 'waiting' END,
           claim = t.claim + (t.state = 'snoozed')::int, snoozed_until = NULL, updated_at = %(received_at)s
      FROM stored
     WHERE t.session_id = stored.session_id AND stored.state = 'unanswered'
       AND t.state IN ('waiting', 'person', 'snoozed')
), named AS (
    UPDATE sessions s
       SET archived_at = NULL,
           title = CASE WHEN s.titled_by = '' THEN %(title)s ELSE s.title END,
           titled_by = CASE WHEN s.titled_by = '' AND %(title)s <> '' THEN 'code' ELSE s.titled_by END
      FROM stored
     WHERE s.id = stored.session_id AND (s.archived_at IS NOT NULL OR s.titled_by = '' AND %(title)s <> '')
)
SELECT stored.id, stored.session_id, stored.state, s.wake_group,
       NOT EXISTS (SELECT FROM turns t WHERE t.session_id = s.id AND t.state = 'open')
           AND COALESCE((SELECT b.received_at FROM messages b
                          WHERE b.session_id = s.id AND b.direction = 'inbound' AND b.kind <> 'tool_result'
                          ORDER BY b.position DESC LIMIT 1) < %(quiet_since)s, true) AS is_quiet
  FROM stored JOIN sessions s ON s.id = stored.session_id;

-- name: find_message_by_provider_id
-- The message that a provider id of a binding belongs to.
SELECT m.id, m.session_id, m.state, s.wake_group
  FROM messages m JOIN sessions s ON s.id = m.session_id
 WHERE m.binding_id = %(binding_id)s AND m.provider_message_id = %(provider_message_id)s;

-- name: mark_session_active
-- The session was used just now, from this network address.
UPDATE sessions SET last_active_at = %(now)s, address = NULLIF(%(address)s, '') WHERE id = %(session_id)s;

-- name: find_own_session
-- A web session of this user with its binding, and whose team answers there.
SELECT s.id, s.binding_id, s.channel, b.team_id
  FROM sessions s
  JOIN bindings b ON b.id = answering_binding(s)
 WHERE s.id = %(session_id)s AND s.user_id = %(user_id)s;

-- name: create_upload
-- Announce an upload in a session, unless too many of the session wait to be sent. Abandoned ones do not count.
INSERT INTO attachments (tenant_id, id, session_id, kind, name, size_bytes, object_key, created_at)
SELECT current_tenant(), %(id)s, %(session_id)s, 'pending_upload', %(name)s, %(size_bytes)s, %(object_key)s, %(now)s
 WHERE (SELECT count(*) FROM attachments w 
         WHERE w.session_id = %(session_id)s AND w.kind = 'pending_upload' AND w.created_at > %(abandoned_before)s)
       < %(max_waiting)s
ON CONFLICT (tenant_id, id) DO UPDATE SET name = EXCLUDED.name;

-- name: lock_abandoned_uploads
-- Lock the oldest uploads of any session that were announced before a moment and never sent.
SELECT id, name, object_key, false AS is_sent
  FROM attachments
 WHERE kind = 'pending_upload' AND created_at <= %(abandoned_before)s
 ORDER BY created_at
 LIMIT %(limit)s
   FOR UPDATE SKIP LOCKED;

-- name: delete_uploads
-- Uploads that no message came with, whose bytes are gone.
DELETE FROM attachments WHERE id = ANY(%(ids)s) AND kind = 'pending_upload';

-- name: find_uploads
-- Uploads of a session by their ids.
SELECT id, name, object_key, message_id IS NOT NULL AS is_sent
  FROM attachments
 WHERE session_id = %(session_id)s AND id = ANY(%(ids)s) AND object_key IS NOT NULL;

-- name: add_attachment
-- What is sent along with a message; an upload goes with one message only.
INSERT INTO attachments (tenant_id, id, session_id, message_id, position, kind, name, media_type, size_bytes, object_key,
                         sha256, body, file_id, file_version, classification, created_at)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(message_id)s, %(place)s, %(kind)s, %(name)s, %(media_type)s,
        %(size_bytes)s, %(object_key)s, %(sha256)s, %(body)s, %(file_id)s, %(file_version)s, %(classification)s, %(now)s)
ON CONFLICT (tenant_id, id) DO UPDATE
   SET message_id = EXCLUDED.message_id, position = EXCLUDED.position, kind = EXCLUDED.kind,
       media_type = EXCLUDED.media_type, size_bytes = EXCLUDED.size_bytes, sha256 = EXCLUDED.sha256, body = EXCLUDED.body
 WHERE attachments.message_id IS NULL OR attachments.message_id = EXCLUDED.message_id;

-- name: insert_reply
-- The turn's reply; its place in the session is after everything that was there when it was written.
INSERT INTO messages (tenant_id, id, session_id, binding_id, turn_id, direction, state, channel, kind, body, sent_at,
                      received_at, metadata)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(binding_id)s, %(turn_id)s, 'outbound', 'reply', %(channel)s, 'text',
        %(body)s, %(now)s, %(now)s, %(metadata)s)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: insert_citation
-- A source that the reply cites, and what it belongs to.
INSERT INTO citations (tenant_id, message_id, number, row_id, title, locator, entity_id, document_id, file_id)
SELECT current_tenant(), %(message_id)s, %(number)s, r.id, %(title)s, %(locator)s, r.entity_id, r.document_id, r.file_id
  FROM (VALUES (%(row_id)s::uuid)) AS one (id) LEFT JOIN context_rows r ON r.id = one.id
ON CONFLICT DO NOTHING;

-- name: finish_turn
-- The turn is over: its inputs are answered, or parked when it failed, and the session is let go; `called` is how its
-- tool calls enter history, `standing` what the session's next prompt stands on (null where no model was asked).
-- Nobody has to look after the session any more, unless more was written in the meantime, or a file is still to come.
-- What was said gets its rows and vectors later. Streamed text and progress are deleted a day later. What joined a turn
-- that was stopped after its last completed step was read by no model: it waits for the next turn. A stop that came too
-- late is forgotten, and results that were stored with the turn for it wait for an answer. Whether a wake was left to the
-- turn's worker is returned; no row for a turn that was over before.
WITH unread AS (
    SELECT m.id
      FROM messages m JOIN turns t ON t.id = m.turn_id
     WHERE t.id = %(turn_id)s AND t.state = 'open' AND m.direction = 'inbound'
       AND CASE WHEN %(state)s = 'stopped'
                THEN m.joined_step >= (SELECT max(s.number) FROM steps s
                                        WHERE s.turn_id = t.id AND s.completed_at IS NOT NULL)
                ELSE m.kind = 'tool_result' AND m.state = 'answered' END
), returned AS (
    UPDATE messages SET state = 'unanswered', turn_id = NULL, joined_step = NULL WHERE id IN (SELECT id FROM unread)
), woken AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'session', %(session_id)s, %(now)s WHERE EXISTS (SELECT FROM unread)
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, EXCLUDED.due_at)
), stands AS (
    UPDATE session_prompts
       SET cache_state = %(standing)s::jsonb, updated_at = %(now)s
     WHERE session_id = %(session_id)s AND %(standing)s::jsonb IS NOT NULL
       AND EXISTS (SELECT FROM turns WHERE id = %(turn_id)s AND state = 'open')
), quiet AS (
    DELETE FROM work_due
     WHERE tenant_id = current_tenant() AND kind = 'session' AND id = %(session_id)s
       AND NOT EXISTS (SELECT FROM messages i WHERE i.session_id = %(session_id)s AND i.state = 'unanswered')
       AND NOT EXISTS (SELECT FROM unread)
), settled AS (
    UPDATE messages
       SET state = CASE WHEN %(state)s = 'failed' THEN 'parked' ELSE 'answered' END
     WHERE turn_id = %(turn_id)s AND direction = 'inbound' AND id NOT IN (SELECT id FROM unread)
), released AS (
    UPDATE sessions
       SET lease_until = CASE WHEN lease_token <> %(token)s THEN lease_until END,
           worker_deadlines = worker_deadlines - %(holder)s::text
     WHERE id = %(session_id)s
), said AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT tenant_id, 'embedding', tenant_id, %(embed_by)s FROM turns WHERE id = %(turn_id)s AND state = 'open'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, EXCLUDED.due_at)
), streamed AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    VALUES (current_tenant(), 'event_retention', current_tenant(), %(delete_passing_at)s)
    ON CONFLICT (tenant_id, kind, id) DO NOTHING
)
UPDATE turns
   SET state = %(state)s, degraded = %(degraded)s, problem = %(problem)s, stage_ms = %(stage_ms)s,
       tool_messages = %(called)s, finished_at = %(now)s,
       stop_requested_at = CASE WHEN %(state)s = 'stopped' THEN stop_requested_at END,
       stop_cause = CASE WHEN %(state)s = 'stopped' THEN stop_cause END
 WHERE id = %(turn_id)s AND state = 'open'
RETURNING (SELECT s.has_pending_wake FROM sessions s WHERE s.id = %(session_id)s) AS has_pending_wake;

-- name: insert_tool_result
-- What a tool call came to, as a message of the session that asked for it: once per call and outcome. It is answered
-- on the channel that the call was asked for on. Told again, it leaves nothing to be looked after. That of a stopped turn
-- goes with that turn and is not answered: later turns read it. Where a person agreed to the call, it is.
WITH asked AS (
    SELECT s.id AS session_id, s.binding_id, s.channel AS queue, s.wake_group, t.id AS turn_id,
           t.stop_cause IS NOT NULL
               AND NOT EXISTS (SELECT FROM approvals a WHERE a.tenant_id = t.tenant_id AND a.tool_call_id = %(call_id)s)
               AS is_stopped,
           (SELECT m.channel FROM messages m
             WHERE m.turn_id = t.id ORDER BY m.position DESC LIMIT 1) AS channel
      FROM turns t JOIN sessions s ON s.id = t.session_id
     WHERE t.id = %(turn_id)s
       FOR UPDATE OF s
), stored AS (
    INSERT INTO messages (tenant_id, id, session_id, binding_id, turn_id, direction, state, channel, kind, body,
                          provider_message_id, sent_at, received_at, metadata)
    SELECT current_tenant(), %(id)s, session_id, binding_id, CASE WHEN is_stopped THEN turn_id END, 'inbound',
           CASE WHEN is_stopped THEN 'answered' ELSE 'unanswered' END, COALESCE(channel, queue), 'tool_result', %(body)s, %(provider_message_id)s, %(now)s, %(now)s, %(metadata)s
      FROM asked
    ON CONFLICT (tenant_id, binding_id, provider_message_id) DO NOTHING
    RETURNING session_id, state
), waiting AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'session', session_id, %(due_at)s FROM stored WHERE state = 'unanswered'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, EXCLUDED.due_at)
)
SELECT session_id, queue AS channel, wake_group, is_stopped FROM asked;

-- name: list_failed_turns
-- Failed turns whose messages wait for somebody to decide, oldest first; none of more clearance than the reader's.
SELECT t.id, t.session_id, s.channel, b.slug AS binding, t.problem, t.attempt_count, t.finished_at,
       (SELECT COALESCE(jsonb_agg(m.body ORDER BY m.position), '[]')
          FROM messages m WHERE m.turn_id = t.id AND m.direction = 'inbound') AS message_texts
  FROM turns t
  JOIN sessions s ON s.id = t.session_id AND session_clearance(s) <= %(clearance)s
  JOIN bindings b ON b.id = t.binding_id
 WHERE t.state = 'failed' AND t.dismissed_at IS NULL
   AND (%(session_id)s::uuid IS NULL OR t.session_id = %(session_id)s)
 ORDER BY t.finished_at, t.id
 LIMIT %(most)s;

-- name: redrive_turn
-- A failed turn is open again, as the session's newest, and goes on from what it has committed: nothing that it did is
-- done or paid again. What was said of its failure stays with the session, not with the turn. Only where the session
-- has no open turn (it is held, see hold_session); repeated at the very same moment it is the same redrive.
WITH reopened AS (
    UPDATE turns t
       SET state = 'open', attempt_count = 0, attempt_id = NULL, stop_requested_at = NULL, stop_cause = NULL, problem = NULL, degraded = false, finished_at = NULL,
           redriven_at = %(now)s, frozen_at = %(now)s,
           number = 1 + (SELECT max(n.number) FROM turns n WHERE n.session_id = t.session_id)
     WHERE t.id = %(turn_id)s AND t.state = 'failed' AND t.dismissed_at IS NULL
       AND NOT EXISTS (SELECT FROM turns o WHERE o.session_id = t.session_id AND o.state = 'open')
    RETURNING t.id, t.session_id
), unparked AS (
    UPDATE messages m SET state = 'in_turn' FROM reopened r WHERE m.turn_id = r.id AND m.state = 'parked'
), apart AS (
    UPDATE messages m SET turn_id = NULL FROM reopened r WHERE m.turn_id = r.id AND m.direction = 'outbound'
), waiting AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'session', session_id, %(due_at)s FROM reopened
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, EXCLUDED.due_at)
)
SELECT s.id AS session_id, s.channel, s.wake_group
  FROM turns t
  JOIN sessions s ON s.id = t.session_id
 WHERE t.id = %(turn_id)s AND (t.redriven_at = %(now)s OR EXISTS (SELECT FROM reopened));

-- name: find_session_of_turn
-- The session that a turn is of.
SELECT session_id FROM turns WHERE id = %(turn_id)s;

-- name: dismiss_turn
-- A failed turn is left as it is.
UPDATE turns SET dismissed_at = %(now)s
 WHERE id = %(turn_id)s AND state = 'failed' AND dismissed_at IS NULL;

-- name: list_turn_rows
-- Turns as an operator sees them, newest first, from before a turn on, each with its messages, calls, tools and sending:
-- one row per turn.
-- Left out: what was said through a binding of more clearance than the reader's, or in a session that needs more.
SELECT t.id, t.session_id, t.number, t.state, b.slug AS binding, s.channel, t.frozen_at, t.finished_at, t.degraded, t.attempt_count,
       t.problem, t.stage_ms,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('id', m.id, 'text',
                                            CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END,
                                            'kind', m.kind, 'at', m.received_at) ORDER BY m.position)
          FROM messages m WHERE m.turn_id = t.id AND m.direction = 'inbound'), '[]') AS input_messages,
       (SELECT jsonb_build_object('id', m.id, 'text', CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END,
               'channel', m.channel, 'at', m.sent_at, 'cited_numbers', COALESCE(m.metadata -> 'cited_numbers', '[]'), 'citations',
               COALESCE((SELECT jsonb_agg(jsonb_build_object('number', c.number, 'title', c.title, 'locator', c.locator,
                                                      'source', citation_source(c))
                                          ORDER BY c.number)
                           FROM citations c LEFT JOIN context_rows r ON (r.tenant_id, r.id) = (c.tenant_id, c.row_id)
                          WHERE c.message_id = m.id AND COALESCE(r.classification, 0) <= %(clearance)s), '[]'))
          FROM messages m WHERE m.turn_id = t.id AND m.direction = 'outbound') AS reply,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('provider', l.provider, 'model', l.model, 'outcome', l.outcome,
                         'prompt_tokens', l.input_tokens + l.cache_read_tokens + l.cache_write_tokens,
                         'input_tokens', l.input_tokens, 'output_tokens', l.output_tokens,
                         'cache_read_tokens', l.cache_read_tokens, 'cache_write_tokens', l.cache_write_tokens,
                         'tokens_by_layer', l.tokens_by_layer, 'cost_usd', l.cost_usd::text,
                         'latency_ms', l.latency_ms, 'first_token_ms', l.first_token_ms)
                         ORDER BY l.step, l.at, l.id)
          FROM llm_calls l WHERE l.turn_id = t.id), '[]') AS model_calls,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('id', c.id, 'name', c.name, 'ok', c.state = 'done', 'state',
                                            CASE WHEN c.state = 'running' AND c.run_until <= now() THEN 'unanswered'
                                                 ELSE c.state END,
                                            'heavy', c.heavy, 'latency_ms', c.latency_ms,
                                            'problem', CASE WHEN c.state IN ('failed', 'unknown')
                                                            THEN concat_ws(': ', c.code, c.result ->> 'message') END,
                                            'detail', c.detail)
                         ORDER BY c.step, c.started_at)
          FROM tool_calls c WHERE c.turn_id = t.id), '[]') AS tool_calls,
       (SELECT jsonb_build_object('state', o.state, 'sent_at', o.sent_at)
          FROM outbox o JOIN messages m ON m.id = o.message_id WHERE m.turn_id = t.id) AS delivery
  FROM turns t
  JOIN sessions s ON s.id = t.session_id
  JOIN users u ON u.id = s.user_id
  JOIN bindings b ON b.id = t.binding_id AND GREATEST(b.clearance, session_clearance(s)) <= %(clearance)s
 WHERE (%(turn_id)s::uuid IS NULL OR t.id = %(turn_id)s)
   AND (%(session_id)s::uuid IS NULL OR t.session_id = %(session_id)s)
   AND (%(before_id)s::uuid IS NULL OR (t.frozen_at, t.id) < (%(before_at)s::timestamptz, %(before_id)s))
 ORDER BY t.frozen_at DESC, t.id DESC
 LIMIT %(most)s;

-- name: list_transcript
-- The newest messages of a session, or those before one of its messages, newest first, with what the replies cite as
-- far as the clearance covers it; a user_id limits it to that user's session, else clearance to what it covers. Of one
-- that was archived its searchable row has the words.
SELECT m.id, m.direction, m.channel, m.kind, m.sent_at AS at, m.turn_id,
       CASE WHEN m.direction = 'outbound' THEN COALESCE(m.metadata ->> 'author', o.display_name, b.display_name) ELSE ''
       END AS answered_by,
       m.direction = 'outbound' AND COALESCE(t.state = 'stopped', false) AS is_stopped,
       CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END AS text,
       COALESCE(m.metadata -> 'cited_numbers', '[]') AS cited_numbers,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('number', c.number, 'title', c.title, 'locator', c.locator,
                                                      'source', citation_source(c))
                                  ORDER BY c.number)
                   FROM citations c LEFT JOIN context_rows r ON (r.tenant_id, r.id) = (c.tenant_id, c.row_id)
                  WHERE c.message_id = m.id AND COALESCE(r.classification, 0) <= %(clearance)s), '[]') AS citations,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('kind', a.kind, 'name', a.name, 'media_type', a.media_type,
                                                     'size_bytes', a.size_bytes) ORDER BY a.position, a.id)
                   FROM attachments a LEFT JOIN files f ON (f.tenant_id, f.id) = (a.tenant_id, a.file_id)
                  WHERE a.message_id = m.id AND (a.file_id IS NULL OR f.object_key <> '')
                    AND GREATEST(a.classification, COALESCE(f.classification, 0)) <= %(clearance)s), '[]') AS attachments
  FROM messages m
  JOIN sessions s ON s.id = m.session_id
  JOIN users u ON u.id = s.user_id
  JOIN bindings b ON b.id = s.binding_id
       AND (GREATEST(b.clearance, s.answering_clearance, u.clearance) <= %(clearance)s OR s.user_id = %(user_id)s)
  LEFT JOIN turns t ON t.id = m.turn_id
  LEFT JOIN bindings o ON o.id = t.binding_id
 WHERE m.session_id = %(session_id)s AND m.state <> 'ignored' AND m.kind <> 'tool_result'
   AND (%(user_id)s::uuid IS NULL OR s.user_id = %(user_id)s)
   AND (%(before_id)s::uuid IS NULL
        OR m.position < (SELECT o.position FROM messages o WHERE o.id = %(before_id)s AND o.session_id = m.session_id))
 ORDER BY m.position DESC
 LIMIT %(most)s;

-- name: has_read_text_of_others
-- A tool call of some turns that read text of others than the tenant, or such a text among some sources of a briefing:
-- files and rows.
(SELECT id FROM tool_calls WHERE turn_id = ANY(%(turn_ids)s) AND result ? 'written_by_others' LIMIT 1)
 UNION ALL
(SELECT f.id FROM files f WHERE f.id = ANY(%(source_ids)s) AND f.written_by_others LIMIT 1)
 UNION ALL
(SELECT r.id
   FROM context_rows r
   LEFT JOIN files f ON (f.tenant_id, f.id) = (r.tenant_id, r.file_id)
   LEFT JOIN documents d ON (d.tenant_id, d.id) = (r.tenant_id, r.document_id)
  WHERE r.id = ANY(%(source_ids)s) AND (f.written_by_others OR d.metadata @> '{"written_by_others": true}')
  LIMIT 1)
LIMIT 1;

-- name: read_shown_level
-- The highest classification among the record that a conversation is about, the sources that it has given numbers to,
-- what its earlier turns were answered from, and the records that the calls of the present turn returned.
WITH named AS (
    SELECT DISTINCT found[1] AS type, found[2] AS key
      FROM tool_calls c,
           regexp_matches(c.result::text, '([a-z][a-z0-9_]*)/([A-Za-z0-9][A-Za-z0-9_.~-]*)', 'g') found
     WHERE c.turn_id = %(turn_id)s
)
SELECT COALESCE(GREATEST(
    (SELECT e.classification FROM sessions s JOIN entities e ON (e.tenant_id, e.id) = (s.tenant_id, s.entity_id)
      WHERE s.id = %(session_id)s),
    (SELECT max(r.classification)
       FROM citation_numbers n JOIN context_rows r ON (r.tenant_id, r.id) = (n.tenant_id, n.row_id)
      WHERE n.session_id = %(session_id)s),
    (SELECT max(source.classification)
       FROM turn_source_status(ARRAY(SELECT t.id FROM turns t WHERE t.session_id = %(session_id)s)) source),
    (SELECT max(e.classification)
       FROM named
       JOIN entity_types y ON y.key = named.type
       JOIN entities e ON (e.tenant_id, e.type_id, e.key) = (y.tenant_id, y.id, named.key))), 0);

-- name: lock_answering_session
-- A session that is to be handed over: whose it is, its door, who answers in it once the present turn is over, and its
-- newest token.
SELECT s.id, s.user_id, s.binding_id, s.lease_token AS token,
       COALESCE((SELECT b.id FROM bindings b WHERE b.id = s.answering_binding_id AND b.is_active), s.binding_id) AS answering_id
  FROM sessions s
 WHERE s.id = %(session_id)s
   FOR UPDATE OF s;

-- name: count_handoffs
-- How often a session was handed over since the last so many messages of its user, and how many of those came since the
-- last time; null when it never was. Results of tools are no messages of the user.
WITH written AS (
    SELECT m.received_at
      FROM messages m
     WHERE m.session_id = %(session_id)s AND m.direction = 'inbound' AND m.state <> 'ignored' AND m.kind <> 'tool_result'
     ORDER BY m.position DESC
     LIMIT %(window)s
), latest AS (
    SELECT max(h.at) AS at FROM handoffs h WHERE h.session_id = %(session_id)s
)
SELECT (SELECT count(*) FROM handoffs h
         WHERE h.session_id = %(session_id)s AND h.at >= (SELECT min(received_at) FROM written)) AS recent,
       CASE WHEN latest.at IS NOT NULL
            THEN (SELECT count(*) FROM written WHERE received_at > latest.at) END AS messages_since
  FROM latest;

-- name: insert_handoff
-- Hand a session to another binding, from its next turn on.
WITH noted AS (
    INSERT INTO handoffs (tenant_id, id, session_id, turn_id, from_binding_id, to_binding_id, idempotency_key, reason,
                          brief, classification, at)
    VALUES (current_tenant(), %(id)s, %(session_id)s, %(turn_id)s, %(from_id)s, %(to_id)s, %(idempotency_key)s,
            %(reason)s, %(brief)s, %(classification)s, %(now)s)
)
UPDATE sessions
   SET answering_binding_id = NULLIF(%(to_id)s, binding_id),
       answering_clearance = GREATEST(answering_clearance,
                                      (SELECT b.clearance FROM bindings b WHERE b.id = %(to_id)s))
 WHERE id = %(session_id)s;

-- name: find_handoff
-- The handoff that a call or a request asked for.
SELECT h.id, f.display_name AS from_name, t.slug AS to_slug, t.display_name AS to_name, h.reason, h.brief, h.classification
  FROM handoffs h
  JOIN bindings f ON f.id = h.from_binding_id
  JOIN bindings t ON t.id = h.to_binding_id
 WHERE h.session_id = %(session_id)s AND h.idempotency_key = %(idempotency_key)s;

-- name: find_handoff_of_turn
-- The handoff that a turn's model asked for, with the call.
SELECT h.id, c.id AS call_id, f.display_name AS from_name, t.display_name AS to_name
  FROM handoffs h
  JOIN tool_calls c ON c.turn_id = h.turn_id AND c.idempotency_key = h.idempotency_key
  JOIN bindings f ON f.id = h.from_binding_id
  JOIN bindings t ON t.id = h.to_binding_id
 WHERE h.turn_id = %(turn_id)s;

-- name: find_handoff_to_turn
-- The handoff that a turn is the first one after: its brief is for that turn.
SELECT h.id, f.display_name AS from_name, t.slug AS to_slug, t.display_name AS to_name, h.reason, h.brief,
       GREATEST(h.classification, (SELECT p.shown_level FROM turns p WHERE p.id = h.turn_id)) AS classification
  FROM turns n
  JOIN handoffs h ON h.session_id = n.session_id AND h.to_binding_id = n.binding_id
  JOIN bindings f ON f.id = h.from_binding_id
  JOIN bindings t ON t.id = h.to_binding_id
 WHERE n.id = %(turn_id)s AND h.at <= n.frozen_at
   AND NOT EXISTS (SELECT FROM turns p
                    WHERE p.session_id = n.session_id AND p.number < n.number AND p.frozen_at >= h.at)
 ORDER BY h.at DESC
 LIMIT 1;

-- name: mark_shown_levels
-- What was shown in the turns of a session before this one, where nobody marked it yet: at most what its user could see
-- through the binding that answered, and just that where no source tells, as in a conversation about a record or after
-- a call of a tool of the tenant's. Notes that rest on more than this turn's reader may see go.
WITH judged AS MATERIALIZED (
    SELECT t.id,
           CASE WHEN s.entity_id IS NOT NULL
                     OR EXISTS (SELECT FROM tool_calls c WHERE c.turn_id = t.id AND c.name <> ALL(%(builtin)s))
                THEN COALESCE(u.clearance, b.clearance)
                ELSE LEAST(%(level)s, COALESCE(u.clearance, b.clearance)) END AS level
      FROM turns t
      JOIN sessions s ON s.id = t.session_id
      JOIN users u ON u.id = s.user_id
      JOIN bindings b ON b.id = t.binding_id
     WHERE t.session_id = %(session_id)s AND t.id <> %(turn_id)s AND t.shown_level IS NULL
), withheld AS (
    DELETE FROM agent_states
     WHERE session_id = %(session_id)s AND (SELECT max(level) FROM judged) > %(clearance)s
)
UPDATE turns SET shown_level = judged.level FROM judged WHERE turns.id = judged.id;

-- name: list_unread_answers
-- What the user wrote and no turn has read yet, with the id of the button that they pressed, in order of arrival.
-- is_next: it is the first one after the questions were put to the user, and nothing was said to them in between: a yes
-- to what a person wrote is none to a question of before.
SELECT m.id, m.body, COALESCE(m.metadata ->> 'button_id', '') AS button_id,
       m.received_at > %(posted_at)s
           AND NOT EXISTS (SELECT FROM messages e
                            WHERE e.session_id = m.session_id AND e.kind <> 'tool_result'
                              AND e.position < m.position AND e.received_at > %(posted_at)s) AS is_next
  FROM messages m
 WHERE m.session_id = %(session_id)s AND m.state = 'unanswered' AND m.kind <> 'tool_result'
 ORDER BY m.position;

-- name: mark_as_answer
-- A message that answered a question: it needs no turn. It keeps the call that the question was about, if it was one.
UPDATE messages
   SET state = 'answered', metadata = metadata || jsonb_strip_nulls(jsonb_build_object('answers', %(tool_call_id)s::text))
 WHERE id = %(id)s AND state = 'unanswered';

-- name: list_pressed_buttons
-- The buttons that the turn's messages are, by message; empty for a text.
SELECT id, COALESCE(metadata ->> 'button_id', '') AS button_id
  FROM messages WHERE turn_id = %(turn_id)s AND direction = 'inbound' ORDER BY position;
