-- name: recall_memory
-- What the next turn of a session may be told of at once: what is known of its user, its team and its persona, the facts
-- that are worth most first, by what they share with what is asked, by when they were last said, by how sure they are
-- and by how much use they were; whether there are episodes; and the agent's notes, with which of the summaries that they
-- came with must not be told any more, and which records may still be named. Whose memory it is the session says, and nobody else: of one that
-- others may read, nothing is told that its user said in confidence.
WITH mine AS MATERIALIZED (
    SELECT s.id, s.user_id, s.binding_id, b.human_id, b.team_id, COALESCE(u.clearance, b.clearance) AS clearance,
           s.visibility = 'private' AS is_private
      FROM sessions s
      JOIN bindings b ON b.id = answering_binding(s)
      JOIN users u ON u.id = s.user_id
     WHERE s.id = %(session_id)s
), asked AS MATERIALIZED (
    SELECT array_agg(lexeme) AS words,
           string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery AS query
      FROM unnest(to_tsvector('english', %(asked)s))
), known AS MATERIALIZED (
    -- Each kind by its own index, however many the planner thinks that there are.
    SELECT f.*
      FROM mine m
     CROSS JOIN LATERAL (
           SELECT f.id, f.scope, f.key, f.value, f.confidence, f.last_confirmed_at, f.recall_count, f.use_count, f.lexemes,
                  f.holds_until, f.doubted_at > f.last_confirmed_at AS is_doubted, f.asked_at IS NOT NULL AS is_asked
             FROM facts f
            WHERE f.user_id = m.user_id AND f.binding_id = m.binding_id AND f.valid_until IS NULL
              AND (f.holds_until IS NULL OR f.holds_until > %(now)s)
            ORDER BY f.last_confirmed_at DESC LIMIT %(ranked)s) f
     WHERE m.is_private AND %(most)s > 0
     UNION ALL
    SELECT f.*
      FROM mine m
     CROSS JOIN LATERAL (
           SELECT f.id, f.scope, f.key, f.value, f.confidence, f.last_confirmed_at, f.recall_count, f.use_count, f.lexemes,
                  f.holds_until, false AS is_doubted, false AS is_asked
             FROM facts f
            WHERE f.human_id = m.human_id AND f.valid_until IS NULL
            ORDER BY f.last_confirmed_at DESC LIMIT %(ranked)s) f
     WHERE %(most)s > 0
     UNION ALL
    SELECT f.*
      FROM mine m
     CROSS JOIN LATERAL (
           SELECT f.id, f.scope, f.key, f.value, f.confidence, f.last_confirmed_at, f.recall_count, f.use_count, f.lexemes,
                  f.holds_until, false AS is_doubted, false AS is_asked
             FROM facts f
            WHERE f.team_id = m.team_id AND f.valid_until IS NULL
            ORDER BY f.last_confirmed_at DESC LIMIT %(ranked)s) f
     WHERE %(most)s > 0
), shared AS (
    SELECT k.*, CASE WHEN k.lexemes @@ a.query
                     THEN (SELECT count(*) FROM unnest(tsvector_to_array(k.lexemes)) w WHERE w = ANY(a.words))::float8
                     ELSE 0 END AS words
      FROM known k, asked a
), worth AS (
    SELECT id, scope, key, value, confidence, holds_until, COALESCE(is_doubted, false) AS is_doubted,
           is_asked,
           words / (words + 1) AS relevance,
           %(by_words)s * words / (words + 1) + %(by_confidence)s * confidence
           + %(by_age)s * exp(-GREATEST(0, extract(epoch FROM %(now)s - last_confirmed_at)) / %(fades)s)
           + %(by_use)s * (use_count + 1.0) / (recall_count + 2.0) AS score
      FROM shared
     ORDER BY score DESC, id
     LIMIT %(most)s
), recent AS (
    -- Only conversations of the user alone with this agent, and of these what was said while nobody else could read.
    SELECT x.id, CASE WHEN x.archive_id IS NULL THEN x.body ELSE archived_text(x.id) END AS text, x.received_at
      FROM mine m
      JOIN sessions s ON s.user_id = m.user_id AND s.binding_id = m.binding_id AND s.id <> m.id
           AND s.visibility = 'private' AND s.last_active_at >= %(recent)s
      LEFT JOIN session_memory_state e ON e.session_id = s.id
      JOIN turns t ON t.session_id = s.id AND t.number > GREATEST(COALESCE(e.extraction_cursor, 0), s.shared_until_turn)
      JOIN messages x ON x.turn_id = t.id
     WHERE m.is_private AND %(most)s > 0 AND x.direction = 'inbound' AND x.kind NOT IN ('tool_result', 'code') AND x.received_at >= %(recent)s
     ORDER BY x.received_at DESC
     LIMIT %(statements)s
), noted AS MATERIALIZED (
    SELECT a.state, a.version FROM mine m JOIN agent_states a ON a.session_id = m.id
), closed AS (
    -- The notes rest on what they came with: a summary that was drawn from what is closed by now, or is gone.
    SELECT r.state_version
      FROM mine m
     CROSS JOIN (SELECT DISTINCT (one #>> '{}')::int AS state_version
                   FROM noted n, jsonb_path_query(n.state, '$.*[*].summaries[*]') one) r
      LEFT JOIN summaries s ON s.session_id = m.id AND s.version = r.state_version
     CROSS JOIN LATERAL source_status(s.source_ids) f
     WHERE s.version IS NULL OR GREATEST(f.classification, summary_level(s)) > m.clearance OR f.is_deleted
), named AS MATERIALIZED (
    SELECT DISTINCT one #>> '{}' AS handle
      FROM noted n
     CROSS JOIN LATERAL (
           SELECT jsonb_path_query(n.state, '$.current_understanding.entities[*].id')
            UNION ALL SELECT jsonb_path_query(n.state, '$.current_understanding.dependencies[*].*')
            UNION ALL SELECT jsonb_path_query(n.state, '$.items[*].related_entity_ids[*]')
            UNION ALL SELECT jsonb_path_query(n.state, '$.items[*].promoted')) found (one)
), seen AS (
    SELECT n.handle
      FROM mine m, named n
      JOIN entity_types t ON t.key = split_part(n.handle, '/', 1)
      JOIN entities e ON e.type_id = t.id AND e.key = substr(n.handle, strpos(n.handle, '/') + 1)
     WHERE e.deleted_at IS NULL AND e.classification <= m.clearance
     UNION
    SELECT n.handle
      FROM mine m, named n
      JOIN documents d ON d.key = substr(n.handle, strpos(n.handle, '/') + 1)
     WHERE n.handle LIKE 'document/%%' AND d.deleted_at IS NULL AND d.classification <= m.clearance
)
SELECT (SELECT jsonb_agg(to_jsonb(w) ORDER BY w.score DESC, w.id) FROM worth w) AS facts,
       (SELECT jsonb_agg(jsonb_build_object('id', r.id, 'text', r.text) ORDER BY r.received_at DESC) FROM recent r)
           AS recent_statements,
       m.is_private AND EXISTS (SELECT FROM episodes e
                                 WHERE e.user_id = m.user_id AND e.binding_id = m.binding_id) AS has_episodes,
       (SELECT state FROM noted) AS agent_state, (SELECT version FROM noted) AS state_version,
       (SELECT jsonb_agg(state_version) FROM closed) AS withheld_summary_versions,
       (SELECT jsonb_agg(handle) FROM seen) AS visible_handles
  FROM mine m;

-- name: find_episodes
-- What came of earlier conversations of a session's user with its binding, what is nearest to a question first; nothing
-- in a session that others may read. What of this very session is told word for word (turns from `since` on; all of it
-- for 0) is not among them, nor one of turns whose replies were drawn from what is deleted or above the clearance by now.
-- A score is between 0 and 1.
WITH mine AS MATERIALIZED (
    SELECT s.id, s.user_id, s.binding_id
      FROM sessions s
     WHERE s.id = %(session_id)s AND s.visibility = 'private'
), lexemes AS MATERIALIZED (
    SELECT lexeme, ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query
      FROM unnest(to_tsvector('english', %(query)s))
     ORDER BY length(lexeme) DESC, lexeme
     LIMIT %(longest)s
), own AS MATERIALIZED (
    SELECT e.id, e.text, e.message_ids, e.until_at, e.recall_count, e.use_count, r.id AS row_id, r.classification, r.lexemes
      FROM mine m
      JOIN episodes e ON e.user_id = m.user_id AND e.binding_id = m.binding_id
      JOIN context_rows r ON r.id = e.row_id
     WHERE r.classification <= %(clearance)s
       AND (e.session_id <> m.id
            OR EXISTS (SELECT FROM messages x JOIN turns t ON t.id = x.turn_id
                        WHERE x.id = ANY(e.message_ids) AND t.number < %(since)s))
), compared AS (
    SELECT o.*, GREATEST(0, 1 - (v.vector <=> %(vector)s::vector)) AS likeness,
           (SELECT count(*) FROM lexemes l WHERE o.lexemes @@ l.query)::float8 AS words
      FROM own o
      LEFT JOIN embeddings v ON v.row_id = o.row_id AND v.space = %(space)s
), scored AS MATERIALIZED (
    SELECT id, text, message_ids, until_at, row_id, classification, likeness, words,
           CASE WHEN likeness IS NULL THEN words / (words + %(telling)s)
                ELSE %(meaning)s * likeness + (1 - %(meaning)s) * words / (words + %(telling)s) END
           * (%(plain)s + %(by_age)s * exp(-GREATEST(0, extract(epoch FROM %(now)s - until_at)) / %(fades)s)
              + %(by_use)s * (use_count + 1.0) / (recall_count + 2.0)) AS score
      FROM compared
     WHERE words > 0 OR likeness >= %(least)s
     ORDER BY score DESC, id
     LIMIT 3 * %(most)s
), closed AS MATERIALIZED (
    SELECT DISTINCT source.turn_id
      FROM (SELECT array_agg(DISTINCT x.turn_id) AS turns
              FROM scored s JOIN messages x ON x.id = ANY(s.message_ids)
            HAVING count(*) > 0) told, turn_source_status(told.turns) source
     WHERE source.classification > %(clearance)s OR source.is_deleted
)
SELECT id, text, until_at, row_id, classification, score::float8 AS score
  FROM scored s
 WHERE NOT EXISTS (SELECT FROM messages x WHERE x.id = ANY(s.message_ids) AND x.turn_id IN (SELECT turn_id FROM closed))
 ORDER BY score DESC, id
 LIMIT %(most)s;

-- name: add_recalls
-- Which facts and episodes stood in a turn's prompts, and which of them its reply used; each is counted once. One that
-- was forgotten meanwhile is not noted, and nobody waits for one that another turn is counting. A doubted fact that the
-- turn was to ask for is not asked for again.
WITH told AS (
    SELECT place, fact_id, episode_id, score, used
      FROM unnest(%(places)s::int[], %(facts)s::uuid[], %(episodes)s::uuid[], %(scores)s::float8[], %(used)s::boolean[])
           AS t (place, fact_id, episode_id, score, used)
), noted AS (
    INSERT INTO recalls (tenant_id, turn_id, position, fact_id, episode_id, score, is_used, recalled_at)
    SELECT current_tenant(), %(turn_id)s, t.place, t.fact_id, t.episode_id, t.score, t.used, %(now)s
      FROM told t
     WHERE EXISTS (SELECT FROM facts f WHERE f.id = t.fact_id FOR KEY SHARE)
        OR EXISTS (SELECT FROM episodes e WHERE e.id = t.episode_id FOR KEY SHARE)
    ON CONFLICT (tenant_id, turn_id, position) DO NOTHING
    RETURNING fact_id, episode_id, is_used
), facts_free AS (
    SELECT f.id, n.is_used FROM noted n JOIN facts f ON f.id = n.fact_id ORDER BY f.id FOR NO KEY UPDATE OF f SKIP LOCKED
), episodes_free AS (
    SELECT e.id, n.is_used FROM noted n JOIN episodes e ON e.id = n.episode_id ORDER BY e.id
       FOR NO KEY UPDATE OF e SKIP LOCKED
), episodes_counted AS (
    UPDATE episodes e
       SET recall_count = e.recall_count + 1, use_count = e.use_count + c.is_used::int,
           last_used_at = CASE WHEN c.is_used THEN %(now)s ELSE e.last_used_at END
      FROM episodes_free c
     WHERE e.id = c.id
)
UPDATE facts f
   SET recall_count = f.recall_count + 1, use_count = f.use_count + c.is_used::int,
       last_used_at = CASE WHEN c.is_used THEN %(now)s ELSE f.last_used_at END,
       asked_at = CASE WHEN f.doubted_at <= (SELECT t.frozen_at FROM turns t WHERE t.id = %(turn_id)s)
                       THEN COALESCE(f.asked_at, %(now)s) ELSE f.asked_at END
  FROM facts_free c
 WHERE f.id = c.id;
