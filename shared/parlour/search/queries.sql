-- name: find_candidates
-- The rows that answer a question best, by meaning and by words, merged by reciprocal rank. There is a list of rows for
-- the question with the turn before it and one for the question alone; in a conversation two more, in which a turn is
-- judged with the ones around it. Elsewhere the lists of words count less than those of meaning. A word counts by how few of the rows that match at all have it; whoever speaks in
-- the conversation is in every second row of it and is left out of the words.
WITH speakers AS (
    SELECT to_tsvector('english', string_agg(DISTINCT metadata ->> 'sender', ' ')) AS names
      FROM context_rows
     WHERE session_id = %(session_id)s::uuid AND %(session_id)s::uuid IS NOT NULL
), lexemes AS MATERIALIZED (
    -- Each lexeme quoted for tsquery. Of a very long question the longest words: they are the rarest.
    SELECT lexeme, ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query,
           lexeme = ANY(tsvector_to_array(to_tsvector('english', %(own)s))) AS is_own
      FROM unnest(to_tsvector('english', %(query)s))
     WHERE NOT lexeme = ANY(COALESCE((SELECT tsvector_to_array(names) FROM speakers), '{}'))
     ORDER BY is_own DESC, length(lexeme) DESC, lexeme
     LIMIT %(longest)s
), asked AS MATERIALIZED (
    -- No lexemes: no query, and nothing matches.
    SELECT string_agg(query::text, ' | ')::tsquery AS words FROM lexemes
), near AS MATERIALIZED (
    SELECT array_agg(id) AS ids
      FROM (SELECT %(entity_id)s::uuid AS id
            UNION SELECT target_id FROM edges WHERE source_id = %(entity_id)s::uuid
            UNION SELECT source_id FROM edges WHERE target_id = %(entity_id)s::uuid
            UNION SELECT id FROM entities WHERE project_id = %(project_id)s::uuid
            UNION SELECT id FROM entities WHERE type_id = %(type_id)s::uuid) n
     WHERE n.id IS NOT NULL
), papers AS MATERIALIZED (
    SELECT array_agg(id) AS ids
      FROM documents
     WHERE deleted_at IS NULL AND (project_id = %(project_id)s::uuid OR own_entity_id = ANY((SELECT ids FROM near)::uuid[]))
), within AS MATERIALIZED (
    -- All that is searched, unless everything is. turn: the row's place in its conversation.
    SELECT r.id, r.lexemes, 0::bigint AS turn
      FROM context_rows r
     WHERE %(is_narrow)s AND %(session_id)s::uuid IS NULL
       AND (r.entity_id = ANY((SELECT ids FROM near)::uuid[]) OR r.document_id = ANY((SELECT ids FROM papers)::uuid[]))
       AND r.session_id IS NULL AND r.classification <= %(clearance)s
       AND (r.team_id IS NULL OR %(any_team)s OR r.team_id = %(team_id)s::uuid)
     UNION ALL
    SELECT r.id, r.lexemes, row_number() OVER (ORDER BY m.position, r.ordinal, r.id)
      FROM context_rows r
      LEFT JOIN messages m ON (m.tenant_id, m.id) = (r.tenant_id, r.message_id)
     WHERE %(session_id)s::uuid IS NOT NULL AND r.session_id = %(session_id)s::uuid
       AND r.classification <= %(clearance)s
       AND (r.team_id IS NULL OR %(any_team)s OR r.team_id = %(team_id)s::uuid)
), distances AS MATERIALIZED (
    SELECT w.id, w.turn, v.vector <=> %(vector)s::vector AS distance, v.vector <=> %(alone)s::vector AS alone
      FROM within w
      JOIN embeddings v ON v.row_id = w.id
     WHERE %(vector)s::vector IS NOT NULL AND v.space = %(space)s
), matching AS MATERIALIZED (
    SELECT found.id, found.rank, found.lexemes
      FROM asked, search_lexemes(asked.words, %(clearance)s, %(team_id)s::uuid, %(any_team)s, %(pool)s) AS found
     WHERE NOT %(is_narrow)s
     UNION ALL
    SELECT w.id, ts_rank(w.lexemes, asked.words), w.lexemes
      FROM asked, within w
     WHERE w.lexemes @@ asked.words
     ORDER BY rank DESC, id
     LIMIT %(pool)s
), told AS MATERIALIZED (
    SELECT m.id, l.lexeme, l.is_own, ts_rank(m.lexemes, l.query) AS rank
      FROM matching m
      JOIN lexemes l ON m.lexemes @@ l.query
), telling AS (
    SELECT lexeme, ln(1 + (matched - count(*) + 0.5) / (count(*) + 0.5)) AS weight
      FROM told, (SELECT count(*) AS matched FROM matching) m
     GROUP BY lexeme, matched
), worded AS MATERIALIZED (
    SELECT t.id, sum(t.rank * g.weight) AS words, COALESCE(sum(t.rank * g.weight) FILTER (WHERE t.is_own), 0) AS own
      FROM told t
      JOIN telling g USING (lexeme)
     GROUP BY t.id
), weighed AS MATERIALIZED (
    -- A long row has more words by chance: a quarter of its length counts against it.
    SELECT w.id, w.words / l.length AS words, w.own / l.length AS own
      FROM worded w
      JOIN (SELECT id, 0.75 + 0.25 * length(lexemes) / avg(length(lexemes)) OVER () AS length FROM matching) l USING (id)
), heard AS (
    -- The turns of a conversation, each with what the two before and the two after it have to do with the question.
    SELECT id, distance + %(before)s * COALESCE(lag(distance) OVER turns, 1)
                        + %(long_before)s * COALESCE(lag(distance, 2) OVER turns, 1)
                        + %(after)s * COALESCE(lead(distance) OVER turns, 1)
                        + %(long_after)s * COALESCE(lead(distance, 2) OVER turns, 1) AS distance
      FROM distances
     WHERE %(session_id)s::uuid IS NOT NULL
    WINDOW turns AS (ORDER BY turn)
), overheard AS (
    SELECT w.id, COALESCE(m.words, 0) + %(before)s * COALESCE(lag(m.words) OVER turns, 0)
                                      + %(long_before)s * COALESCE(lag(m.words, 2) OVER turns, 0)
                                      + %(after)s * COALESCE(lead(m.words) OVER turns, 0)
                                      + %(long_after)s * COALESCE(lead(m.words, 2) OVER turns, 0) AS words
      FROM within w
      LEFT JOIN weighed m USING (id)
     WHERE %(session_id)s::uuid IS NOT NULL
    WINDOW turns AS (ORDER BY w.turn)
), everywhere AS MATERIALIZED (
    SELECT 1 AS list, n.id, n.distance
      FROM search_nearest(%(space)s, %(vector)s::vector, %(clearance)s, %(team_id)s::uuid, %(any_team)s, %(depth)s,
                          %(few)s) AS n
     WHERE NOT %(is_narrow)s AND %(vector)s::vector IS NOT NULL
     UNION ALL
    SELECT 2, n.id, n.distance
      FROM search_nearest(%(space)s, %(alone)s::vector, %(clearance)s, %(team_id)s::uuid, %(any_team)s, %(depth)s,
                          %(few)s) AS n
     WHERE NOT %(is_narrow)s AND %(alone)s::vector IS NOT NULL
), placed AS (
    SELECT id, row_number() OVER (PARTITION BY list ORDER BY distance, id) AS position, 1.0 AS weight FROM everywhere
     UNION ALL
    (SELECT id, row_number() OVER (ORDER BY distance, id), 1.0 FROM distances LIMIT %(depth)s)
     UNION ALL
    (SELECT id, row_number() OVER (ORDER BY alone, id), 1.0 FROM distances WHERE alone IS NOT NULL LIMIT %(depth)s)
     UNION ALL
    (SELECT id, row_number() OVER (ORDER BY words DESC, id), %(wording)s FROM weighed LIMIT %(depth)s)
     UNION ALL
    (SELECT id, row_number() OVER (ORDER BY own DESC, id), %(wording)s FROM weighed
      WHERE %(has_before)s AND own > 0
      LIMIT %(depth)s)
     UNION ALL
    (SELECT id, row_number() OVER (ORDER BY distance, id), 1.0 FROM heard LIMIT %(depth)s)
     UNION ALL
    (SELECT id, row_number() OVER (ORDER BY words DESC, id), 1.0 FROM overheard WHERE words > 0 LIMIT %(depth)s)
), merged AS (
    SELECT id, sum(weight / (%(k)s + position))::float8 AS score
      FROM placed
     GROUP BY id
     ORDER BY score DESC, id
     LIMIT %(depth)s
)
SELECT r.id AS row_id, r.document_id, e.id AS entity_id, r.kind, r.title, r.content, r.metadata,
       -- A row that was written just now has no vector yet: its place by meaning is taken to be the one by words.
       m.score * CASE WHEN r.pending AND %(vector)s::vector IS NOT NULL THEN 1 + 1 / %(wording)s ELSE 1 END AS score,
       t.key AS entity_type, e.key AS entity_key, e.name AS entity_name, d.key AS document_key, r.file_id, r.session_id,
       r.message_id, r.classification, r.created_at, COALESCE(w.turn, r.ordinal) AS position
  FROM merged m
  JOIN context_rows r ON r.id = m.id
  LEFT JOIN within w ON w.id = m.id AND w.turn > 0
  LEFT JOIN entities e ON e.id = r.entity_id AND e.classification <= %(clearance)s
  LEFT JOIN entity_types t ON t.id = e.type_id
  LEFT JOIN documents d ON d.id = r.document_id
 WHERE d.deleted_at IS NULL AND NOT EXISTS (SELECT FROM entities x WHERE x.id = r.entity_id AND x.deleted_at IS NOT NULL)
 ORDER BY score DESC, r.id;

-- name: find_recalled_messages
-- Return the messages that the next turn of a conversation may need, best first: of this session from before a turn and,
-- where others are wanted and nobody else reads this session, of the user's other sessions with the same binding. The
-- candidates are the rows nearest by vector, all compared, and those that match a word of the question, ranked. Their
-- score is between 0 and 1: how much nearer in meaning than the farthest candidate, and how rare the shared words are
-- among the candidates. Replies whose sources are deleted or above the clearance are left out. Of equal texts one is
-- returned. Anchors (one row about many messages) are counted apart from messages.
WITH question AS MATERIALIZED (
    SELECT to_tsvector('english', %(query)s) AS words, %(vector)s::vector AS vector
), lexemes AS MATERIALIZED (
    -- Each lexeme quoted for tsquery. Of a very long question the longest words: they are the rarest.
    SELECT row_number() OVER () AS place,
           ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query
      FROM question, unnest(words)
     ORDER BY length(lexeme) DESC, lexeme
     LIMIT %(longest)s
), any_word AS MATERIALIZED (
    SELECT string_agg(query::text, ' | ')::tsquery AS query FROM lexemes
), searched AS MATERIALIZED (
    SELECT false AS is_from_other_session, ARRAY[%(session_id)s::uuid] AS sessions WHERE %(since)s > 0
     UNION ALL
    SELECT true, ARRAY(SELECT s.id
                         FROM sessions s
                         JOIN sessions own ON (own.user_id, own.binding_id) = (s.user_id, s.binding_id)
                        WHERE own.id = %(session_id)s AND s.id <> own.id AND own.visibility = 'private'
                        ORDER BY s.last_active_at DESC
                        LIMIT %(sessions)s)
     WHERE %(others)s
), verbatim AS MATERIALIZED (
    -- Messages that the prompt has word for word.
    SELECT m.id
      FROM turns t
      JOIN messages m ON m.turn_id = t.id
     WHERE t.session_id = %(session_id)s AND t.number >= %(since)s AND %(since)s > 0
), candidates AS MATERIALIZED (
    SELECT s.is_from_other_session, near.id
      FROM question q
     CROSS JOIN searched s
     CROSS JOIN LATERAL (
           SELECT r.id
             FROM context_rows r
             JOIN embeddings v ON v.row_id = r.id AND v.space = %(space)s
            WHERE r.session_id = ANY(s.sessions) AND r.kind <> 'episode' AND r.classification <= %(clearance)s
              AND COALESCE(r.message_id, r.id) NOT IN (TABLE verbatim)
            ORDER BY v.vector <=> q.vector, r.id
            LIMIT %(pool)s) near
     WHERE q.vector IS NOT NULL
     UNION
    SELECT s.is_from_other_session, matching.id
      FROM any_word w
     CROSS JOIN searched s
     CROSS JOIN LATERAL (
           SELECT r.id
             FROM context_rows r
            WHERE r.session_id = ANY(s.sessions) AND r.kind <> 'episode' AND r.classification <= %(clearance)s
              AND COALESCE(r.message_id, r.id) NOT IN (TABLE verbatim)
              AND r.lexemes @@ w.query
            ORDER BY ts_rank(r.lexemes, w.query) DESC, r.id
            LIMIT %(pool)s) matching
), compared AS MATERIALIZED (
    -- said: the text without its date.
    SELECT r.id, r.message_id, c.is_from_other_session, r.kind = 'summary_anchor' AS is_anchor, r.lexemes,
           v.vector <=> q.vector AS distance,
           CASE WHEN r.content LIKE '[____-__-__] %%' THEN substr(r.content, 14) ELSE r.content END COLLATE "C" AS said
      FROM question q
     CROSS JOIN candidates c
      JOIN context_rows r ON r.id = c.id
      LEFT JOIN embeddings v ON v.row_id = r.id AND v.space = %(space)s
), shared AS MATERIALIZED (
    SELECT array_agg(c.id) AS ids, count(*)::float8 AS among
      FROM compared c
      JOIN lexemes l ON c.lexemes @@ l.query
     GROUP BY l.place
), worded AS (
    SELECT one.id, sum(ln(1 + (c.rows - among + 0.5) / (among + 0.5))) AS words
      FROM shared, (SELECT count(*)::float8 AS rows FROM compared) c, unnest(ids) one (id)
     GROUP BY one.id
), scored AS (
    SELECT c.id, c.message_id, c.is_from_other_session, c.is_anchor, c.said,
           CASE WHEN q.vector IS NULL THEN 0
                ELSE %(meaning)s * COALESCE(1 - c.distance / NULLIF(max(c.distance) OVER (), 0), 0) END
           + CASE WHEN q.vector IS NULL THEN 1 ELSE 1 - %(meaning)s END
             * COALESCE(w.words / (w.words + %(telling)s), 0) AS score
      FROM question q
     CROSS JOIN compared c
      LEFT JOIN worded w USING (id)
), best AS (
    SELECT *, row_number() OVER (PARTITION BY is_from_other_session, is_anchor ORDER BY score DESC, id) AS place
      FROM (SELECT *, row_number() OVER (PARTITION BY is_from_other_session, said ORDER BY score DESC, id) AS again
              FROM scored WHERE score > 0) s
     WHERE again = 1
), likely AS MATERIALIZED (
    -- More than are wanted, because some may be replies that are left out.
    SELECT b.id, b.is_from_other_session, b.is_anchor, b.score, m.turn_id AS replied
      FROM best b
      LEFT JOIN messages m ON m.id = b.message_id AND m.direction = 'outbound'
     WHERE b.place <= CASE WHEN b.is_anchor THEN %(anchors)s ELSE 3 * %(most)s END
), closed AS MATERIALIZED (
    SELECT source.turn_id
      FROM (SELECT array_agg(DISTINCT replied) AS turns FROM likely) said, turn_source_status(said.turns) source
     WHERE source.classification > %(clearance)s OR source.is_deleted
), told AS (
    SELECT id, is_from_other_session, score,
           row_number() OVER (PARTITION BY is_from_other_session, is_anchor ORDER BY score DESC, id) AS place
      FROM likely l
     WHERE NOT EXISTS (SELECT FROM closed c WHERE c.turn_id = l.replied)
)
SELECT r.id AS row_id, NULL::uuid AS document_id, NULL::uuid AS entity_id, r.kind, r.title, r.content, r.metadata,
       t.score::float8 AS score, r.session_id, r.message_id, r.classification, r.created_at, t.is_from_other_session
  FROM told t
  JOIN context_rows r ON r.id = t.id
 WHERE t.place <= %(most)s
 ORDER BY score DESC, r.id;

-- name: assign_numbers
-- The session's numbers for some rows, giving the next ones to rows it has not seen, in the order given. The session's
-- row is held until the transaction ends, and its lease token told. Whoever held it before may have given out numbers
-- that this statement does not see: then it gives none, and says so (is_fresh), and is asked again. What is gone has none.
WITH held AS MATERIALIZED (
    SELECT lease_token, next_citation_number FROM sessions WHERE id = %(session_id)s FOR NO KEY UPDATE
), seen AS MATERIALIZED (
    SELECT h.lease_token, h.next_citation_number = (SELECT next_citation_number FROM sessions WHERE id = %(session_id)s) AS is_fresh
      FROM held h
), wanted AS (
    SELECT row_id, title, locator, place
      FROM unnest(%(row_ids)s::uuid[], %(titles)s::text[], %(locators)s::text[])
           WITH ORDINALITY AS w (row_id, title, locator, place)
     WHERE (SELECT is_fresh FROM seen) AND EXISTS (SELECT FROM context_rows r WHERE r.id = w.row_id)
), unseen AS (
    SELECT w.row_id, w.title, w.locator, row_number() OVER (ORDER BY w.place) AS step
      FROM wanted w
     WHERE NOT EXISTS (SELECT FROM citation_numbers s WHERE s.session_id = %(session_id)s AND s.row_id = w.row_id)
), moved AS (
    UPDATE sessions
       SET next_citation_number = next_citation_number + (SELECT count(*) FROM unseen)
     WHERE id = %(session_id)s AND EXISTS (SELECT FROM unseen)
    RETURNING next_citation_number - (SELECT count(*) FROM unseen) AS first
), added AS (
    INSERT INTO citation_numbers (tenant_id, session_id, number, row_id, title, locator)
    SELECT current_tenant(), %(session_id)s, moved.first + unseen.step - 1, unseen.row_id, unseen.title, unseen.locator
      FROM unseen, moved
    RETURNING number, row_id
), numbered AS (
    SELECT number, row_id FROM added
     UNION ALL
    SELECT s.number, s.row_id
      FROM citation_numbers s WHERE s.session_id = %(session_id)s AND s.row_id IN (SELECT row_id FROM wanted)
)
SELECT seen.lease_token, seen.is_fresh, n.number, n.row_id FROM seen LEFT JOIN numbered n ON true;

-- name: list_numbered_sources
-- Those of some numbers that the session has given out for what a reader of some clearance may see, in order, with the
-- texts behind them.
SELECT s.number, s.row_id, s.title, s.locator, r.content
  FROM citation_numbers s
  JOIN context_rows r ON (r.tenant_id, r.id) = (s.tenant_id, s.row_id) AND r.classification <= %(clearance)s
 WHERE s.session_id = %(session_id)s AND s.number = ANY(%(numbers)s)
 ORDER BY s.number;

-- name: has_text_of_others
-- One of some rows that is of a file or a document that others than the tenant wrote.
SELECT r.id
  FROM context_rows r
  LEFT JOIN files f ON (f.tenant_id, f.id) = (r.tenant_id, r.file_id)
  LEFT JOIN documents d ON (d.tenant_id, d.id) = (r.tenant_id, r.document_id)
 WHERE r.id = ANY(%(row_ids)s) AND (f.written_by_others OR d.metadata @> '{"written_by_others": true}')
 LIMIT 1;
