-- Conversations as they are looked through, and how far that has come.

-- name: schedule_extraction
-- A turn is over that nobody has looked through: whether it is the first such one, and how many there are by now. Where
-- the last try gave nothing the next one has its time. Nothing where others read the session along.
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT current_tenant(), 'extraction', s.id, %(due_at)s
  FROM sessions s
 WHERE s.id = %(session_id)s AND s.visibility = 'private'
    ON CONFLICT (tenant_id, kind, id) DO UPDATE
   SET due_at = CASE WHEN work_due.failures > 0 THEN work_due.due_at
                     ELSE LEAST(work_due.due_at, EXCLUDED.due_at) END
RETURNING xmax = 0 AS is_first,
          %(number)s::int - COALESCE((SELECT e.extraction_cursor FROM session_memory_state e WHERE e.session_id = %(session_id)s), 0) AS unread_turns;

-- name: read_backlog
-- How many of a session's turns nobody looked through, and how many attempts at them failed in a row.
SELECT COALESCE((SELECT max(t.number) FROM turns t WHERE t.session_id = w.id AND t.state <> 'open'), 0)
       - COALESCE(e.extraction_cursor, 0) AS turn_count, w.failures
  FROM work_due w
  LEFT JOIN session_memory_state e ON e.session_id = w.id
 WHERE w.tenant_id = current_tenant() AND w.kind = 'extraction' AND w.id = %(session_id)s;

-- name: find_session
-- A session that is to be looked through: whose it is, who answers there and with which models, how far that has come,
-- and of which level its episodes are; nothing where others read it along.
SELECT s.user_id, s.binding_id, b.display_name AS title, h.display_name AS agent_name, u.display_name AS user_name,
       a.model_routing, a.memory_policy, COALESCE(u.clearance, GREATEST(b.clearance, s.answering_clearance)) AS classification,
       GREATEST(e.extraction_cursor, s.shared_until_turn) AS extraction_cursor, s.shared_until_turn
  FROM sessions s
  JOIN users u ON u.id = s.user_id
  JOIN bindings b ON b.id = s.binding_id
  JOIN humans h ON h.id = b.human_id
  JOIN agents a ON a.id = b.agent_id
  LEFT JOIN session_memory_state e ON e.session_id = s.id
 WHERE s.id = %(session_id)s AND s.visibility = 'private';

-- name: find_next_turns
-- The session's next turns that are over and that nobody looked through: how many there are, up to a number, and the last
-- of those; nothing where there are none.
SELECT count(*) AS turn_count, max(n.number) AS last_turn
  FROM (SELECT t.number FROM turns t
         WHERE t.session_id = %(session_id)s AND t.number > %(until_turn)s AND t.state <> 'open'
         ORDER BY t.number LIMIT %(most)s) n
HAVING count(*) > 0;

-- name: read_lines
-- The messages of some of the session's turns, in order; what a tool answered is not among them, and nothing of a turn
-- that failed: somebody may yet have it answered, as a later one. Nor a reply that was drawn from what is deleted or
-- above the clearance by now, nor one that was stopped before it was sent: only on the web it was read as it came.
WITH closed AS MATERIALIZED (
    SELECT DISTINCT source.turn_id
      FROM (SELECT array_agg(t.id) AS ids FROM turns t
             WHERE t.session_id = %(session_id)s AND t.number > %(until_turn)s AND t.number <= %(last)s
            HAVING count(*) > 0) asked, turn_source_status(asked.ids) source
     WHERE source.classification > %(clearance)s OR source.is_deleted
)
SELECT t.number AS turn_number, m.id, m.direction,
       CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END AS body, m.received_at AS received_at
  FROM turns t
  JOIN messages m ON m.turn_id = t.id
 WHERE t.session_id = %(session_id)s AND t.number > %(until_turn)s AND t.number <= %(last)s
   AND t.state IN ('answered', 'stopped') AND m.kind <> 'tool_result'
   AND (m.direction = 'inbound'
        OR (t.state = 'answered' OR m.channel = 'web') AND t.id NOT IN (SELECT turn_id FROM closed))
 ORDER BY t.number, m.position;

-- name: advance_extraction_cursor
-- A session was looked through up to a turn.
INSERT INTO session_memory_state (tenant_id, session_id, extraction_cursor, extracted_at)
SELECT s.tenant_id, s.id, %(until_turn)s, %(now)s FROM sessions s WHERE s.id = %(session_id)s
    ON CONFLICT (tenant_id, session_id) DO UPDATE
   SET extraction_cursor = GREATEST(session_memory_state.extraction_cursor, EXCLUDED.extraction_cursor), extracted_at = EXCLUDED.extracted_at;

-- name: list_recent_episodes
-- What there is of a user with a binding, the newest first.
SELECT id, text FROM episodes
 WHERE user_id = %(user_id)s AND binding_id = %(binding_id)s
 ORDER BY until_at DESC LIMIT %(most)s;

-- name: add_episode
-- An episode with its searchable row, which gets its vector later. Only its own conversation finds the row.
WITH written AS (
    INSERT INTO context_rows (tenant_id, id, session_id, kind, title, content, content_hash, classification, metadata,
                              pending, created_at)
    VALUES (current_tenant(), %(row_id)s, %(session_id)s, 'episode', %(title)s, %(content)s, %(content_hash)s,
            %(classification)s, %(metadata)s, true, %(now)s)
    RETURNING id
)
INSERT INTO episodes (tenant_id, id, user_id, binding_id, session_id, origin, text, from_at, until_at, message_ids, row_id,
                      created_at)
SELECT current_tenant(), %(id)s, %(user_id)s, %(binding_id)s, %(session_id)s, %(origin)s, %(text)s, %(from_at)s,
       %(until_at)s, %(messages)s, w.id, %(now)s
  FROM written w;

-- name: merge_into_episode
-- Merge a new episode into an earlier one that says nearly the same.
UPDATE episodes
   SET merged_count = merged_count + 1, until_at = GREATEST(until_at, %(until_at)s),
       message_ids = (SELECT array_agg(DISTINCT message_id) FROM unnest(message_ids || %(messages)s::uuid[]) AS message_id)
 WHERE id = %(id)s;

-- name: find_similar_episodes
-- Pairs of a user's newest episodes that mean nearly the same by their vectors: the younger, and the older one that it is
-- like, with what they tell.
WITH mine AS MATERIALIZED (
    SELECT e.id, e.text, e.origin, v.space, v.vector
      FROM episodes e
      JOIN embeddings v ON v.row_id = e.row_id
     WHERE e.user_id = %(user_id)s AND e.binding_id = %(binding_id)s AND e.created_at > %(since)s
     ORDER BY e.created_at DESC, e.id DESC
     LIMIT %(most)s
)
SELECT DISTINCT ON (young.id) young.id AS newer_id, old.id AS older_id, young.text AS newer_text, old.text AS older_text
  FROM mine young
  JOIN mine old ON old.id < young.id AND old.space = young.space
 WHERE young.origin = 'extracted' AND young.vector <=> old.vector < %(near)s
 ORDER BY young.id, young.vector <=> old.vector;

-- name: delete_episode
-- Delete an episode and its row.
WITH deleted AS (DELETE FROM episodes WHERE id = %(id)s RETURNING row_id)
DELETE FROM context_rows r USING deleted d WHERE r.id = d.row_id;

-- name: find_episode_sources
-- The messages behind an episode, and the time of the last one.
SELECT message_ids, until_at FROM episodes WHERE id = %(id)s;

-- name: schedule_consolidation
-- Schedule consolidation of a session for when it has been silent for long, if it has enough turns that were not
-- consolidated. Failures before its newest turn do not count.
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
-- Interim episodes of some messages, oldest first.
SELECT id, text, recall_count, use_count FROM episodes
 WHERE session_id = %(session_id)s AND origin = 'extracted' AND message_ids && %(messages)s::uuid[]
 ORDER BY from_at, id;

-- name: replace_interim_episodes
-- Delete interim episodes and their rows; the episode that replaces them takes over how often they were recalled.
WITH replaced AS (
    DELETE FROM episodes WHERE id = ANY(%(ids)s::uuid[]) RETURNING row_id, recall_count, use_count, merged_count
), rows AS (
    DELETE FROM context_rows r USING replaced p WHERE r.id = p.row_id
)
UPDATE episodes e
   SET merged_count = e.merged_count + p.many, recall_count = e.recall_count + p.recalled, use_count = e.use_count + p.used
  FROM (SELECT count(*)::int + COALESCE(sum(merged_count), 0)::int AS many, COALESCE(sum(recall_count), 0)::int AS recalled,
               COALESCE(sum(use_count), 0)::int AS used
          FROM replaced) p
 WHERE e.id = %(episode_id)s;

-- name: mark_consolidated
-- Record up to which turn a session was consolidated.
UPDATE sessions SET consolidated_at = %(now)s, consolidated_turn = GREATEST(consolidated_turn, %(until_turn)s)
 WHERE id = %(session_id)s;
