-- name: list_tools
-- The tools of those names, by name: the same order every turn, since it is part of the cached prompt. With each
-- comes where its secret is kept, which hosts the tenant lets its tools reach, and what the tenant is called.
SELECT t.name, t.description, t.schema, t.endpoint, t.auth, t.writes, t.idempotent, t.heavy, t.needs_approval,
       t.approver, t.approval_hours, t.editable, t.trusted_results, t.lookup, t.timeout_seconds, s.reference AS secret_reference,
       ARRAY(SELECT jsonb_array_elements_text(COALESCE(o.settings -> 'tool_hosts', '[]'))) AS allowed_hosts, o.slug AS tenant_slug
  FROM tools t
  JOIN tenants o USING (tenant_id)
  LEFT JOIN secrets s ON s.tenant_id = t.tenant_id AND s.name = t.auth
 WHERE t.name = ANY(%(names)s)
 ORDER BY t.name COLLATE "C";

-- name: reserve_call
-- A call that a committed step asked for, before anything is done about it. One with an interim result is the
-- dispatcher's, and is looked after until it has ended.
WITH reserved AS (
    INSERT INTO tool_calls (tenant_id, id, turn_id, step, call_id, name, arguments, writes, state, idempotency_key,
                            heavy, interim, started_at)
    VALUES (current_tenant(), %(id)s, %(turn_id)s, %(step)s, %(call_id)s, %(name)s, %(arguments)s, %(writes)s,
            'reserved', %(idempotency_key)s, %(interim)s::jsonb IS NOT NULL, %(interim)s, %(now)s)
    ON CONFLICT DO NOTHING
    RETURNING tenant_id, id, heavy
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT tenant_id, 'tool_call', id, %(due_at)s FROM reserved WHERE heavy
ON CONFLICT (tenant_id, kind, id) DO NOTHING;

-- name: begin_call
-- A turn is about to call the endpoint.
UPDATE tool_calls SET state = 'running', runs = runs + (state = 'reserved')::int
 WHERE id = %(id)s AND state IN ('reserved', 'running') AND NOT heavy;

-- name: end_call
-- What a turn's own call came to; one that has ended stays as it is.
UPDATE tool_calls
   SET state = %(state)s, result = %(result)s, code = %(code)s, detail = %(detail)s, latency_ms = %(latency_ms)s,
       finished_at = %(now)s
 WHERE id = %(id)s AND state IN ('reserved', 'running') AND NOT heavy;

-- name: give_up_calls
-- The turn is given up. A write that it had begun is unknown from now on; anything else of its own was not done, or
-- changed nothing. How many became unknown.
WITH given_up AS (
    UPDATE tool_calls
       SET state = CASE WHEN state = 'running' AND writes THEN 'unknown' ELSE 'failed' END,
           result = CASE WHEN state = 'running' AND writes THEN %(unknown)s::jsonb ELSE %(cancelled)s::jsonb END,
           code = CASE WHEN state = 'running' AND writes THEN 'outcome_unknown' ELSE 'cancelled' END,
           finished_at = %(now)s
     WHERE turn_id = %(turn_id)s AND NOT heavy AND state IN ('reserved', 'running')
    RETURNING state
)
SELECT count(*) FILTER (WHERE state = 'unknown') FROM given_up;

-- name: list_unfinished
-- The calls of a turn that it carries out itself and has no outcome of, in the order in which they were asked for.
SELECT id, step, call_id, name, arguments, state, heavy, started_at
  FROM tool_calls
 WHERE turn_id = %(turn_id)s AND state IN ('reserved', 'running') AND NOT heavy
 ORDER BY step, started_at, id;

-- name: list_undispatched
-- The calls of a turn that the dispatcher has not taken up.
SELECT id FROM tool_calls WHERE turn_id = %(turn_id)s AND heavy AND state = 'reserved' ORDER BY step, started_at, id;

-- name: find_call
-- One call with the conversation it belongs to, what that is about and for whom it is.
SELECT c.id, c.turn_id, s.id AS session_id, c.name, c.arguments, c.writes, c.state, c.idempotency_key, c.result,
       c.code, c.run_token AS run_token, c.run_until, c.run_holder, c.cancelled_at, c.started_at, s.user_id, s.entity_id,
       b.team_id, t.binding_id,
       session_clearance(s) AS required_clearance, s.lease_token AS fencing_token
  FROM tool_calls c
  JOIN turns t ON t.tenant_id = c.tenant_id AND t.id = c.turn_id
  JOIN sessions s ON s.tenant_id = t.tenant_id AND s.id = t.session_id
  JOIN bindings b ON b.tenant_id = s.tenant_id AND b.id = t.binding_id
 WHERE c.id = %(id)s;

-- name: lease_call
-- A dispatcher takes a call up for seconds, which it renews; nothing comes back while another is at it, or once it has
-- ended. Its token grows, so that whoever had it before writes nothing more. One that a tool had and never answered is
-- overdue from now on: should this dispatcher die as well, nobody takes the tool to be at it still.
UPDATE tool_calls
   SET run_token = run_token + 1, run_until = %(until)s, run_holder = %(holder)s,
       code = CASE WHEN code = 'accepted' THEN 'overdue' ELSE code END
 WHERE id = %(id)s AND run_token = %(run)s AND heavy AND state IN ('reserved', 'running')
   AND (state = 'reserved' OR run_until IS NULL OR run_until <= %(now)s)
RETURNING run_token;

-- name: begin_run
-- The dispatcher that took the call is about to call the endpoint.
UPDATE tool_calls SET state = 'running', runs = runs + 1, code = NULL
 WHERE id = %(id)s AND run_token = %(run)s AND state IN ('reserved', 'running');

-- name: renew_run
-- The dispatcher that has the call is still at it. Once the tool took the call to answer later, the time is the tool's.
UPDATE tool_calls SET run_until = %(until)s
 WHERE id = %(id)s AND run_token = %(run)s AND state IN ('reserved', 'running') AND code IS DISTINCT FROM 'accepted';

-- name: end_run
-- What a dispatched call came to, written by whoever has its token; nobody has to look after it any more.
WITH ended AS (
    UPDATE tool_calls
       SET state = %(state)s, result = %(result)s, code = %(code)s, detail = %(detail)s, latency_ms = %(latency_ms)s,
           finished_at = %(now)s
     WHERE id = %(id)s AND run_token = %(run)s AND state IN ('reserved', 'running')
    RETURNING tenant_id, id
), settled AS (
    DELETE FROM work_due w USING ended e WHERE w.tenant_id = e.tenant_id AND w.kind = 'tool_call' AND w.id = e.id
)
SELECT id FROM ended;

-- name: mark_accepted
-- The tool took the call and answers later, or never; by then somebody looks. Not one that somebody wants stopped: who
-- asked for that found its dispatcher at it, and left it to end it.
WITH taken AS (
    UPDATE tool_calls SET code = 'accepted', run_until = %(until)s
     WHERE id = %(id)s AND run_token = %(run)s AND state = 'running' AND cancelled_at IS NULL
    RETURNING tenant_id, id
)
INSERT INTO work_due (tenant_id, kind, id, due_at) SELECT tenant_id, 'tool_call', id, %(until)s FROM taken
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = excluded.due_at;

-- name: record_callback
-- The tool's own late word on a run: it counts as long as that run has not ended, or ended in doubt, also when it was
-- found overdue by the run after it. That it was done settles any doubt the run after it came to: that one found its
-- worker dead. What was in doubt gets a new token, since its news was told already.
WITH ended AS (
    UPDATE tool_calls
       SET state = %(state)s, result = %(result)s, code = %(code)s, finished_at = %(now)s,
           run_token = run_token + (state = 'unknown')::int
     WHERE id = %(id)s
       AND (run_token = %(run)s AND state IN ('running', 'unknown')
            OR run_token = %(run)s + 1 AND (state, code) IN (('running', 'accepted'), ('running', 'overdue'),
                                                             ('unknown', 'timed_out'))
            OR run_token = %(run)s + 1 AND state = 'unknown' AND %(state)s = 'done')
    RETURNING tenant_id, id
), settled AS (
    DELETE FROM work_due w USING ended e WHERE w.tenant_id = e.tenant_id AND w.kind = 'tool_call' AND w.id = e.id
)
SELECT id FROM ended;

-- name: lock_unfinished_heavy
-- A long call that has not ended, kept as it is until the transaction ends: since when, and until when somebody is at it.
SELECT started_at, run_until FROM tool_calls
 WHERE id = %(id)s AND heavy AND state IN ('reserved', 'running') FOR UPDATE;

-- name: is_run_wanted
-- A run that nobody has taken over and nobody wants stopped.
SELECT id FROM tool_calls WHERE id = %(id)s AND run_token = %(run)s AND cancelled_at IS NULL;

-- name: list_unknown
-- The calls of which nobody knows whether they were done, the oldest first; none of a session that needs more
-- clearance than the reader's.
SELECT c.id, c.turn_id, t.session_id, c.name, c.arguments, c.code, c.result, c.runs, c.started_at, c.finished_at
  FROM tool_calls c
  JOIN turns t ON t.tenant_id = c.tenant_id AND t.id = c.turn_id
  JOIN sessions s ON s.tenant_id = t.tenant_id AND s.id = t.session_id
 WHERE c.state = 'unknown' AND session_clearance(s) <= %(clearance)s
   AND (%(session_id)s::uuid IS NULL OR t.session_id = %(session_id)s)
 ORDER BY c.started_at, c.id LIMIT %(most)s;

-- name: list_unanswered
-- The long calls that began and whose worker stopped without an outcome, the oldest first, until another worker takes
-- them up; none of a session that needs more clearance than the reader's.
SELECT c.id, c.turn_id, t.session_id, c.name, c.arguments, c.runs, c.started_at, c.run_until
  FROM work_due w
  JOIN tool_calls c ON c.tenant_id = w.tenant_id AND c.id = w.id
  JOIN turns t ON t.tenant_id = c.tenant_id AND t.id = c.turn_id
  JOIN sessions s ON s.tenant_id = t.tenant_id AND s.id = t.session_id
 WHERE w.kind = 'tool_call' AND c.state = 'running' AND c.run_until <= %(now)s AND session_clearance(s) <= %(clearance)s
   AND (%(session_id)s::uuid IS NULL OR t.session_id = %(session_id)s)
 ORDER BY c.started_at, c.id LIMIT %(most)s;

-- name: resolve_done
-- A person found out that the call was done. What the model was told until then is kept as the interim result.
UPDATE tool_calls
   SET state = 'done', interim = COALESCE(interim, result), result = %(result)s, code = NULL, resolved_by = %(by)s,
       resolved_at = %(now)s, run_token = run_token + 1, finished_at = %(now)s
 WHERE id = %(id)s AND state = 'unknown'
RETURNING id;

-- name: resolve_run_again
-- A person wants the call made again: the dispatcher's, whoever made it before, under the same key.
WITH reopened AS (
    UPDATE tool_calls
       SET state = 'reserved', heavy = true, interim = COALESCE(interim, result), result = NULL, code = NULL,
           resolved_by = %(by)s, resolved_at = %(now)s, finished_at = NULL, run_token = run_token + 1,
           run_until = NULL, run_holder = NULL, cancelled_at = NULL, started_at = %(now)s
     WHERE id = %(id)s AND state = 'unknown'
    RETURNING tenant_id, id
), marked AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at) SELECT tenant_id, 'tool_call', id, %(due_at)s FROM reopened
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = excluded.due_at
)
SELECT id FROM reopened;

-- name: list_unfinished_heavy
-- The long calls of a session that have not ended, the oldest first.
SELECT c.id
  FROM turns t JOIN tool_calls c ON c.tenant_id = t.tenant_id AND c.turn_id = t.id
 WHERE t.session_id = %(session_id)s AND c.heavy AND c.state IN ('reserved', 'running')
 ORDER BY c.started_at, c.id;

-- name: request_cancel
-- Have a running call stopped; its dispatcher looks every second.
UPDATE tool_calls SET cancelled_at = COALESCE(cancelled_at, %(now)s)
 WHERE id = %(id)s AND heavy AND state IN ('reserved', 'running')
RETURNING id;

-- name: stop_turn_calls
-- Have the heavy calls of a turn stopped: reads, and what is not begun. A write that is under way is left alone.
UPDATE tool_calls SET cancelled_at = COALESCE(cancelled_at, %(now)s)
 WHERE turn_id = %(turn_id)s AND heavy AND (state = 'reserved' OR state = 'running' AND NOT writes)
RETURNING id;

-- name: start_approved_call
-- A person agreed to a call that a turn did not run: from now on it is the dispatcher's, with the arguments that the
-- person saw. What the model was told until then is kept as the interim result.
WITH reopened AS (
    UPDATE tool_calls
       SET state = 'reserved', heavy = true, interim = COALESCE(interim, result), result = NULL, code = NULL,
           arguments = %(arguments)s, finished_at = NULL, run_token = run_token + 1, run_until = NULL,
           run_holder = NULL, cancelled_at = NULL, started_at = %(now)s
     WHERE id = %(id)s AND state = 'failed' AND code = 'approval_asked'
    RETURNING tenant_id, id
)
INSERT INTO work_due (tenant_id, kind, id, due_at) SELECT tenant_id, 'tool_call', id, %(due_at)s FROM reopened
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = excluded.due_at;

-- name: end_asked_call
-- A call about which a person was asked will not run. What the model was told until then is kept as the interim result.
UPDATE tool_calls
   SET interim = COALESCE(interim, result), result = %(result)s, code = %(code)s, run_token = run_token + 1,
       finished_at = %(now)s
 WHERE id = %(id)s AND state = 'failed' AND code = 'approval_asked';
