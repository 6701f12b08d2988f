-- name: hold_tenant
-- Take the tenant's row, so that writers of one tenant's knowledge queue up; inserts elsewhere are not held up.
SELECT tenant_id AS id FROM tenants FOR NO KEY UPDATE;

-- name: entity_ids
-- The ids of living entities, by type and key.
SELECT e.id, t.key AS type, e.key
  FROM unnest(%(types)s::text[], %(keys)s::text[]) AS wanted (type, key)
  JOIN entity_types t ON t.key = wanted.type
  JOIN entities e ON (e.tenant_id, e.type_id, e.key) = (t.tenant_id, t.id, wanted.key)
 WHERE e.deleted_at IS NULL;

-- name: stored_entities
-- The entities of those types and keys as they are, deleted ones included.
SELECT e.id, t.key AS type, e.key, e.name, e.properties, e.classification, e.deleted_at IS NOT NULL AS deleted
  FROM unnest(%(types)s::text[], %(keys)s::text[]) AS wanted (type, key)
  JOIN entity_types t ON t.key = wanted.type
  JOIN entities e ON (e.tenant_id, e.type_id, e.key) = (t.tenant_id, t.id, wanted.key);

-- name: put_entity
-- Add an entity of a type (by the type's key), or change the one there is; its version counts the changes.
INSERT INTO entities (tenant_id, id, type_id, key, name, properties, classification, created_at, updated_at)
SELECT t.tenant_id, %(id)s, t.id, %(key)s, %(name)s, %(properties)s, %(classification)s, %(now)s, %(now)s
  FROM entity_types t
 WHERE t.key = %(type)s
    ON CONFLICT (tenant_id, type_id, key) DO UPDATE
   SET name = EXCLUDED.name, properties = EXCLUDED.properties, classification = EXCLUDED.classification,
       version = entities.version + 1, updated_at = EXCLUDED.updated_at, deleted_at = NULL;

-- name: all_entities
-- The living entities that a reader of some clearance may see, by type and key.
SELECT e.id, t.key AS type, e.key, e.name, e.properties, e.classification, false AS deleted
  FROM entities e
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE e.deleted_at IS NULL AND e.classification <= %(clearance)s
 ORDER BY t.key, e.key;

-- name: stored_edges
-- The links that leave some entities.
SELECT source_id, target_id, relation FROM edges WHERE source_id = ANY(%(source_ids)s);

-- name: add_edge
-- Link two entities.
INSERT INTO edges (tenant_id, id, source_id, target_id, relation, created_at)
VALUES (current_tenant(), %(id)s, %(source_id)s, %(target_id)s, %(relation)s, %(now)s)
    ON CONFLICT (tenant_id, source_id, target_id, relation) DO NOTHING;

-- name: all_edges
-- The links between living entities that a reader of some clearance may see, with the keys of both ends.
SELECT st.key AS source_type, s.key AS source_key, tt.key AS target_type, t.key AS target_key, d.relation
  FROM edges d
  JOIN entities s ON (s.tenant_id, s.id) = (d.tenant_id, d.source_id) AND s.deleted_at IS NULL
  JOIN entities t ON (t.tenant_id, t.id) = (d.tenant_id, d.target_id) AND t.deleted_at IS NULL
  JOIN entity_types st ON (st.tenant_id, st.id) = (s.tenant_id, s.type_id)
  JOIN entity_types tt ON (tt.tenant_id, tt.id) = (t.tenant_id, t.type_id)
 WHERE greatest(s.classification, t.classification) <= %(clearance)s
 ORDER BY st.key, s.key, d.relation, tt.key, t.key;

-- name: stored_documents
-- The documents of those keys: their ids and the hashes of what they were made from.
SELECT id, key, content_hash FROM documents WHERE key = ANY(%(keys)s);

-- name: put_document
-- Add a document, or replace the one of that key.
INSERT INTO documents (tenant_id, id, entity_id, key, title, kind, content, content_hash, classification, metadata,
                       created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(entity_id)s, %(key)s, %(title)s, %(kind)s, %(content)s, %(content_hash)s,
        %(classification)s, %(metadata)s, %(now)s, %(now)s)
    ON CONFLICT (tenant_id, key) DO UPDATE
   SET entity_id = EXCLUDED.entity_id, title = EXCLUDED.title, kind = EXCLUDED.kind, content = EXCLUDED.content,
       content_hash = EXCLUDED.content_hash, classification = EXCLUDED.classification,
       metadata = EXCLUDED.metadata, updated_at = EXCLUDED.updated_at;

-- name: all_documents
-- The documents that a reader of some clearance may see, whole, with the entity each is about, by key.
SELECT d.key, d.title, d.kind, d.content, d.classification, d.metadata, t.key AS entity_type, e.key AS entity_key
  FROM documents d
  LEFT JOIN entities e ON (e.tenant_id, e.id) = (d.tenant_id, d.entity_id)
  LEFT JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE d.classification <= %(clearance)s
 ORDER BY d.key;

-- name: document_rows
-- The searchable rows of some documents, and whether each has a vector in a space.
SELECT r.id, r.document_id AS owner_id, r.content_hash, r.metadata, e.row_id IS NOT NULL AS embedded
  FROM context_rows r
  LEFT JOIN embeddings e ON (e.tenant_id, e.row_id, e.model) = (r.tenant_id, r.id, %(space)s)
 WHERE r.document_id = ANY(%(ids)s) AND r.kind = 'document_chunk'
 ORDER BY r.document_id, r.ordinal, r.id;

-- name: entity_rows
-- The snapshot rows of some entities, and whether each has a vector in a space.
SELECT r.id, r.entity_id AS owner_id, r.content_hash, r.metadata, e.row_id IS NOT NULL AS embedded
  FROM context_rows r
  LEFT JOIN embeddings e ON (e.tenant_id, e.row_id, e.model) = (r.tenant_id, r.id, %(space)s)
 WHERE r.entity_id = ANY(%(ids)s) AND r.kind = 'snapshot'
 ORDER BY r.entity_id, r.ordinal, r.id;

-- name: add_row
-- Add a searchable row.
INSERT INTO context_rows (tenant_id, id, entity_id, document_id, kind, ordinal, title, content, content_hash,
                          classification, metadata, created_at)
VALUES (current_tenant(), %(id)s, %(entity_id)s, %(document_id)s, %(kind)s, %(ordinal)s, %(title)s, %(content)s,
        %(content_hash)s, %(classification)s, %(metadata)s, %(now)s);

-- name: change_row
-- Bring what surrounds a row's content up to date.
UPDATE context_rows
   SET entity_id = %(entity_id)s, ordinal = %(ordinal)s, title = %(title)s, classification = %(classification)s,
       metadata = %(metadata)s
 WHERE id = %(id)s;

-- name: remove_rows
-- Delete rows, and with them their vectors and numbers.
DELETE FROM context_rows WHERE id = ANY(%(ids)s);

-- name: add_vector
-- Keep a row's vector in a space.
INSERT INTO embeddings (tenant_id, row_id, model, vector)
VALUES (current_tenant(), %(row_id)s, %(space)s, %(vector)s::vector)
    ON CONFLICT (tenant_id, row_id, model) DO UPDATE SET vector = EXCLUDED.vector;

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
