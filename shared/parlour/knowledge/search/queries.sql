-- name: search
-- The rows that answer a question best: by meaning (exact, in the question's space) and by words (any of them,
-- ranked), merged by reciprocal rank. entity_id null: the whole tenant; else that entity and what it is linked to.
WITH asked AS MATERIALIZED (
    -- Each lexeme quoted for tsquery; no lexemes: no query, and the branch is empty.
    SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery AS words
      FROM unnest(to_tsvector('english', %(query)s))
), near AS MATERIALIZED (
    SELECT array_agg(n.id) AS ids
      FROM (SELECT %(entity_id)s::uuid AS id
            UNION SELECT target_id FROM edges WHERE source_id = %(entity_id)s::uuid
            UNION SELECT source_id FROM edges WHERE target_id = %(entity_id)s::uuid) n
), nearest AS (
    SELECT v.row_id AS id, v.vector <=> %(vector)s::vector AS distance
      FROM embeddings v
      JOIN context_rows r ON (r.tenant_id, r.id) = (v.tenant_id, v.row_id)
     WHERE %(vector)s::vector IS NOT NULL
       AND v.model = %(space)s
       AND r.classification <= %(clearance)s
       AND (%(entity_id)s::uuid IS NULL OR r.entity_id = ANY((SELECT ids FROM near)::uuid[]))
     ORDER BY distance, id
     LIMIT %(depth)s
), matching AS (
    SELECT found.id, found.rank
      FROM asked, search_lexemes(asked.words, %(clearance)s, %(depth)s) AS found
     WHERE %(entity_id)s::uuid IS NULL
     UNION ALL
    SELECT r.id, ts_rank(r.lexemes, asked.words)
      FROM asked, context_rows r
     WHERE %(entity_id)s::uuid IS NOT NULL
       AND r.entity_id = ANY((SELECT ids FROM near)::uuid[])
       AND r.classification <= %(clearance)s
       AND r.lexemes @@ asked.words
     ORDER BY rank DESC, id
     LIMIT %(depth)s
), placed AS (
    SELECT id, row_number() OVER (ORDER BY distance, id) AS place FROM nearest
     UNION ALL
    SELECT id, row_number() OVER (ORDER BY rank DESC, id) FROM matching
), merged AS (
    SELECT id, sum(1.0 / (%(k)s + place))::float8 AS score
      FROM placed
     GROUP BY id
     ORDER BY score DESC, id
     LIMIT %(most)s
)
SELECT r.id AS row_id, r.document_id, r.entity_id, r.kind, r.title, r.content, r.metadata, m.score
  FROM merged m
  JOIN context_rows r ON r.id = m.id
 ORDER BY m.score DESC, r.id;

-- name: hold_session
-- Take the session's row, so that its numbers are given out one caller at a time; its lease token comes with it.
SELECT id, lease_token FROM sessions WHERE id = %(session_id)s FOR NO KEY UPDATE;

-- name: number_rows
-- The session's numbers for some rows, giving the next ones to rows it has not seen, in the order given.
WITH wanted AS (
    SELECT row_id, title, locator, place
      FROM unnest(%(row_ids)s::uuid[], %(titles)s::text[], %(locators)s::text[])
           WITH ORDINALITY AS w (row_id, title, locator, place)
), unseen AS (
    SELECT w.row_id, w.title, w.locator, row_number() OVER (ORDER BY w.place) AS step
      FROM wanted w
     WHERE NOT EXISTS (SELECT FROM sources s WHERE s.session_id = %(session_id)s AND s.row_id = w.row_id)
), moved AS (
    UPDATE sessions
       SET next_source = next_source + (SELECT count(*) FROM unseen)
     WHERE id = %(session_id)s AND EXISTS (SELECT FROM unseen)
    RETURNING next_source - (SELECT count(*) FROM unseen) AS first
), added AS (
    INSERT INTO sources (tenant_id, session_id, number, row_id, title, locator)
    SELECT current_tenant(), %(session_id)s, moved.first + unseen.step - 1, unseen.row_id, unseen.title, unseen.locator
      FROM unseen, moved
    RETURNING number, row_id, title, locator
)
SELECT number, row_id, title, locator FROM added
 UNION ALL
SELECT number, row_id, title, locator
  FROM sources WHERE session_id = %(session_id)s AND row_id = ANY(%(row_ids)s);

-- name: known_sources
-- Every number the session has given out, in order.
SELECT number, row_id, title, locator FROM sources WHERE session_id = %(session_id)s ORDER BY number;
