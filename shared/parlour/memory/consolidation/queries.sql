-- Conversations that have fallen silent, and what of them was consolidated.

-- name: schedule_consolidation
-- Have a session looked at once it has been silent for long, if it has enough turns that nobody has consolidated; nights
-- that were in vain before more was said do not count.
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT s.tenant_id, 'consolidation', s.id, s.last_active_at + %(silent)s
  FROM sessions s
 WHERE s.id = %(session_id)s AND s.visibility = 'private'
   AND (SELECT count(*) FROM turns t
         WHERE t.session_id = s.id AND t.number > GREATEST(s.consolidated_turn, s.shared_until_turn)
           AND t.state IN ('answered', 'stopped')) > %(turns)s
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at, failures = 0, problem = NULL
      WHERE work_due.leased_until IS NULL;

-- name: find_silent_session
-- A session: since when it is silent, up to which turn it was consolidated, how many turns came after that were answered or stopped.
SELECT s.last_active_at, GREATEST(s.consolidated_turn, s.shared_until_turn) AS consolidated_turn,
       (SELECT count(*) FROM turns t
         WHERE t.session_id = s.id AND t.number > GREATEST(s.consolidated_turn, s.shared_until_turn)
           AND t.state IN ('answered', 'stopped'))::int AS turn_count
  FROM sessions s
 WHERE s.id = %(session_id)s AND s.visibility = 'private';

-- name: find_window_end
-- The number of the last of a session's next turns that were answered or stopped, so many at most.
SELECT n.number
  FROM (SELECT t.number FROM turns t
         WHERE t.session_id = %(session_id)s AND t.number > %(after)s AND t.state IN ('answered', 'stopped')
         ORDER BY t.number LIMIT %(most)s) n
 ORDER BY n.number DESC LIMIT 1;

-- name: list_interim_episodes
-- What was noted of some messages on the way, oldest first.
SELECT id, text, recall_count, use_count FROM episodes
 WHERE session_id = %(session_id)s AND origin = 'extracted' AND message_ids && %(messages)s::uuid[]
 ORDER BY from_at, id;

-- name: merge_into_episode
-- One episode tells what these did: they go, with their rows, and how often they were recalled is its own.
WITH gone AS (
    DELETE FROM episodes WHERE id = ANY(%(ids)s::uuid[]) RETURNING row_id, recall_count, use_count, merged_count
), rows AS (
    DELETE FROM context_rows r USING gone g WHERE r.id = g.row_id
)
UPDATE episodes e
   SET merged_count = e.merged_count + g.many, recall_count = e.recall_count + g.recalled, use_count = e.use_count + g.used
  FROM (SELECT count(*)::int + COALESCE(sum(merged_count), 0)::int AS many, COALESCE(sum(recall_count), 0)::int AS recalled,
               COALESCE(sum(use_count), 0)::int AS used
          FROM gone) g
 WHERE e.id = %(episode_id)s;

-- name: mark_consolidated
-- A session was consolidated up to a turn.
UPDATE sessions SET consolidated_at = %(now)s, consolidated_turn = GREATEST(consolidated_turn, %(until_turn)s)
 WHERE id = %(session_id)s;
