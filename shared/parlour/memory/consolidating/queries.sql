-- Conversations that have fallen silent, and what of them was consolidated.

-- name: note_silence
-- Have a session looked at once it has been silent for long, if it has enough turns that nobody has consolidated; nights
-- that were in vain before more was said do not count.
WITH anew AS (
    UPDATE extractions SET consolidation_failures = 0 WHERE session_id = %(session_id)s AND consolidation_failures > 0
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT s.tenant_id, 'consolidation', s.id, s.last_active_at + %(silent)s
  FROM sessions s
 WHERE s.id = %(session_id)s AND s.visibility = 'private'
   AND (SELECT count(*) FROM turns t
         WHERE t.session_id = s.id AND t.number > GREATEST(s.consolidated_turn, s.open_until)
           AND t.state = 'answered') > %(turns)s
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at
      WHERE work_due.held_until IS NULL;

-- name: silent
-- A session: since when it is silent, up to which turn it was consolidated, how many answered turns came after, and how
-- many nights in a row were in vain.
SELECT s.last_active_at, GREATEST(s.consolidated_turn, s.open_until) AS consolidated_turn,
       (SELECT count(*) FROM turns t
         WHERE t.session_id = s.id AND t.number > GREATEST(s.consolidated_turn, s.open_until)
           AND t.state = 'answered')::int AS turns,
       COALESCE((SELECT e.consolidation_failures FROM extractions e WHERE e.session_id = s.id), 0) AS failures
  FROM sessions s
 WHERE s.id = %(session_id)s AND s.visibility = 'private';

-- name: stretch_end
-- The number of the last of a session's next answered turns, so many at most.
SELECT n.number
  FROM (SELECT t.number FROM turns t
         WHERE t.session_id = %(session_id)s AND t.number > %(after)s AND t.state = 'answered'
         ORDER BY t.number LIMIT %(most)s) n
 ORDER BY n.number DESC LIMIT 1;

-- name: notes
-- What was noted of some messages on the way, oldest first.
SELECT id, text, recalled, used FROM episodes
 WHERE session_id = %(session_id)s AND origin = 'extracted' AND messages && %(messages)s::uuid[]
 ORDER BY from_at, id;

-- name: fold_notes
-- One episode tells what these did: they go, with their rows, and how often they were recalled is its own.
WITH gone AS (
    DELETE FROM episodes WHERE id = ANY(%(ids)s::uuid[]) RETURNING row_id, recalled, used, folded
), rows AS (
    DELETE FROM context_rows r USING gone g WHERE r.id = g.row_id
)
UPDATE episodes e
   SET folded = e.folded + g.many, recalled = e.recalled + g.recalled, used = e.used + g.used
  FROM (SELECT count(*)::int + COALESCE(sum(folded), 0)::int AS many, COALESCE(sum(recalled), 0)::int AS recalled,
               COALESCE(sum(used), 0)::int AS used
          FROM gone) g
 WHERE e.id = %(episode_id)s;

-- name: note_night
-- Somebody is about to try, and may not come back.
INSERT INTO extractions (tenant_id, session_id, consolidation_failures)
SELECT s.tenant_id, s.id, 1 FROM sessions s WHERE s.id = %(session_id)s
    ON CONFLICT (tenant_id, session_id) DO UPDATE SET consolidation_failures = extractions.consolidation_failures + 1;

-- name: note_no_night
-- The last try was none: another night may well mend what was wrong.
UPDATE extractions SET consolidation_failures = consolidation_failures - 1
 WHERE session_id = %(session_id)s AND consolidation_failures > 0;

-- name: note_consolidated
-- A session was consolidated up to a turn.
WITH mended AS (
    UPDATE extractions SET consolidation_failures = 0 WHERE session_id = %(session_id)s AND consolidation_failures > 0
)
UPDATE sessions SET consolidated_at = %(now)s, consolidated_turn = GREATEST(consolidated_turn, %(until_turn)s)
 WHERE id = %(session_id)s;
