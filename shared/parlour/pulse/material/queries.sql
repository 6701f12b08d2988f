-- name: find_subject
-- The record that a Pulse is about, with its kind and which models the tenant's agents ask: those of the agent that
-- talks about the kind's records, if it names one; else of the agent that is there longest.
SELECT e.id, t.key AS type, t.display_name AS type_name, t.properties AS type_properties, t.rag, e.key, e.name,
       e.properties, e.classification,
       (SELECT a.model_routing
          FROM bindings b
          JOIN agents a ON (a.tenant_id, a.id) = (b.tenant_id, b.agent_id)
         WHERE b.is_active
         ORDER BY COALESCE(b.slug = t.rag->>'chat_agent', false) DESC, b.created_at, b.id
         LIMIT 1) AS model_routing
  FROM entities e
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE e.id = %(id)s AND e.deleted_at IS NULL;

-- name: find_levels
-- Which levels above the record's own occur around it: among the records and documents that stand near it (one link
-- away, in it, or with it in a project) and their rows. A conversation that was closed is not looked at, nor are teams'
-- own papers: a Pulse is read by everybody.
WITH own AS MATERIALIZED (
    SELECT id, project_id, classification FROM entities WHERE id = %(id)s AND deleted_at IS NULL
), near AS MATERIALIZED (
    SELECT id FROM own
     UNION SELECT project_id FROM own WHERE project_id IS NOT NULL
     UNION SELECT target_id FROM edges WHERE source_id = %(id)s
     UNION SELECT source_id FROM edges WHERE target_id = %(id)s
     UNION SELECT e.id FROM entities e WHERE e.project_id = %(id)s
     UNION SELECT e.id FROM entities e WHERE e.project_id = (SELECT project_id FROM own)
), records AS MATERIALIZED (
    SELECT e.id, e.classification
      FROM entities e
      JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
     WHERE e.id = ANY(ARRAY(SELECT id FROM near)) AND e.deleted_at IS NULL
       AND (t.key <> %(talk)s OR (e.properties->>'state' = ANY(%(over)s::text[])) IS NOT TRUE)
), papers AS MATERIALIZED (
    SELECT d.id, d.classification
      FROM documents d
     WHERE d.deleted_at IS NULL AND d.team_id IS NULL AND d.kind <> ALL(%(scratch)s::text[])
       AND (d.entity_id = ANY(ARRAY(SELECT id FROM records)) OR d.own_entity_id = ANY(ARRAY(SELECT id FROM records))
            OR d.project_id = %(id)s OR d.project_id = (SELECT project_id FROM own))
), found AS (
    SELECT classification FROM records
     UNION SELECT classification FROM papers
     UNION SELECT r.classification FROM context_rows r
            WHERE r.entity_id = ANY(ARRAY(SELECT id FROM records)) AND r.session_id IS NULL AND r.team_id IS NULL
     UNION SELECT r.classification FROM context_rows r
            WHERE r.document_id = ANY(ARRAY(SELECT id FROM papers)) AND r.session_id IS NULL AND r.team_id IS NULL
)
SELECT f.classification AS level
  FROM found f, own o
 WHERE f.classification > o.classification
 ORDER BY 1;

-- name: count_values
-- How many of the records that belong to one have which value of what says how far they are: the status properties of
-- their kind, else of the record's own kind. One GROUP BY for all of them, at or below a level.
WITH parts AS MATERIALIZED (
    SELECT child_id AS id FROM record_parents WHERE parent_id = %(id)s
)
SELECT t.key AS type, t.display_name AS type_name, p.name AS property,
       COALESCE(NULLIF(t.properties->p.name->>'label', ''), replace(p.name, '_', ' ')) AS label,
       e.properties->>p.name AS value, count(*) AS total, max(e.classification) AS level,
       (array_agg('entities/' || e.id ORDER BY e.id))[:%(named)s] AS record_ids
  FROM entities e
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 CROSS JOIN LATERAL jsonb_array_elements_text(
       CASE WHEN jsonb_typeof(t.rag->'status_properties') = 'array' AND t.rag->'status_properties' <> '[]'
            THEN t.rag->'status_properties' ELSE %(status)s END) WITH ORDINALITY AS p (name, place)
 WHERE e.id = ANY(ARRAY(SELECT id FROM parts)) AND e.id <> %(id)s AND e.deleted_at IS NULL
   AND e.classification <= %(level)s AND e.properties->>p.name <> ''
   AND (t.key <> %(talk)s OR (e.properties->>'state' = ANY(%(over)s::text[])) IS NOT TRUE)
 GROUP BY t.key, t.display_name, t.properties, p.name, p.place, e.properties->>p.name
 ORDER BY t.key, p.place, total DESC, value;

-- name: list_changes
-- What changed last on a record and on those that belong to it, at or below a level, the newest first; not that a pack
-- brought them.
WITH parts AS MATERIALIZED (
    SELECT %(id)s::uuid AS id
     UNION ALL
    SELECT child_id FROM record_parents WHERE parent_id = %(id)s
)
SELECT r.id, r.title, r.content, r.classification, r.created_at, 'entities/' || r.entity_id AS record_id,
       'entities/' || r.related_entity_id AS related_record_id
  FROM context_rows r
  JOIN entities e ON e.id = r.entity_id AND e.deleted_at IS NULL AND e.classification <= %(level)s
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
  LEFT JOIN entities o ON o.id = r.related_entity_id
  LEFT JOIN entity_types ot ON (ot.tenant_id, ot.id) = (o.tenant_id, o.type_id)
 WHERE r.entity_id = ANY(ARRAY(SELECT id FROM parts)) AND r.kind = 'delta' AND r.classification <= %(level)s
   AND (o.id IS NULL OR o.classification <= %(level)s)
   AND (ot.key = %(talk)s AND o.properties->>'state' = ANY(%(over)s::text[])) IS NOT TRUE
   AND (t.key <> %(talk)s OR (e.properties->>'state' = ANY(%(over)s::text[])) IS NOT TRUE)
   AND (r.ordinal > 1 OR r.metadata->>'origin' IS DISTINCT FROM %(pack)s)
 ORDER BY r.created_at DESC, r.id DESC
 LIMIT %(most)s;

-- name: find_nearby_rows
-- The rows that a record's Pulse may need, and the best of its newest files, all at or below a level: its own, and those of
-- what stands near it (one link away, in it, or with it in a project). All are compared: there are few enough. What is
-- linked to it or in it comes first with its own text; then by how near a row is to the record's snapshot and how many of
-- the rare words of `focus` it has, merged by reciprocal rank. Anything else needs enough of one of the two, or it would be
-- noise that has a Pulse written again. The newest few linked rows that have no vector yet come before all: they are what
-- just changed, and nobody marks a record when vectors come; further ones come after those that have one.
WITH own AS MATERIALIZED (
    SELECT id, project_id FROM entities WHERE id = %(id)s AND deleted_at IS NULL
), linked AS MATERIALIZED (
    SELECT id FROM own
     UNION SELECT target_id FROM edges WHERE source_id = %(id)s
     UNION SELECT source_id FROM edges WHERE target_id = %(id)s
     UNION SELECT e.id FROM entities e WHERE e.project_id = %(id)s
), near AS MATERIALIZED (
    SELECT id FROM linked
     UNION SELECT project_id FROM own WHERE project_id IS NOT NULL
     UNION SELECT e.id FROM entities e WHERE e.project_id = (SELECT project_id FROM own)
), records AS MATERIALIZED (
    SELECT e.id, e.id = ANY(ARRAY(SELECT id FROM linked)) AS is_linked
      FROM entities e
      JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
     WHERE e.id = ANY(ARRAY(SELECT id FROM near)) AND e.deleted_at IS NULL AND e.classification <= %(level)s
       AND (t.key <> %(talk)s OR (e.properties->>'state' = ANY(%(over)s::text[])) IS NOT TRUE)
), papers AS MATERIALIZED (
    SELECT d.id, (d.project_id = %(id)s OR d.entity_id = ANY(ARRAY(SELECT id FROM linked))
                  OR d.own_entity_id = ANY(ARRAY(SELECT id FROM linked))) IS TRUE AS is_linked
      FROM documents d
     WHERE d.deleted_at IS NULL AND d.team_id IS NULL AND d.kind <> ALL(%(scratch)s::text[])
       AND d.classification <= %(level)s
       AND (d.entity_id = ANY(ARRAY(SELECT id FROM records)) OR d.own_entity_id = ANY(ARRAY(SELECT id FROM records))
            OR d.project_id = %(id)s OR d.project_id = (SELECT project_id FROM own))
), around AS MATERIALIZED (
    SELECT r.id, r.file_id, r.kind, r.ordinal, r.created_at, r.lexemes, n.is_linked
      FROM context_rows r
      JOIN records n ON n.id = r.entity_id
     WHERE r.entity_id = ANY(ARRAY(SELECT id FROM records)) AND r.kind <> 'delta' AND r.document_id IS NULL
       AND (r.kind <> 'snapshot' OR r.entity_id <> %(id)s)
       AND r.session_id IS NULL AND r.team_id IS NULL AND r.classification <= %(level)s
       AND NOT EXISTS (SELECT FROM entities o
                         JOIN entity_types ot ON (ot.tenant_id, ot.id) = (o.tenant_id, o.type_id)
                        WHERE o.id = r.related_entity_id
                          AND (o.deleted_at IS NOT NULL OR o.classification > %(level)s
                               OR ot.key = %(talk)s AND o.properties->>'state' = ANY(%(over)s::text[])))
     UNION ALL
    SELECT r.id, r.file_id, r.kind, r.ordinal, r.created_at, r.lexemes, p.is_linked
      FROM context_rows r
      JOIN papers p ON p.id = r.document_id
     WHERE r.document_id = ANY(ARRAY(SELECT id FROM papers)) AND r.session_id IS NULL AND r.team_id IS NULL
       AND r.classification <= %(level)s
), matches AS MATERIALIZED (
    SELECT a.id, f.lexeme
      FROM unnest(to_tsvector('english', %(focus)s)) f
      JOIN around a ON f.lexeme = ANY(tsvector_to_array(a.lexemes))
), weights AS MATERIALIZED (
    -- A word that every row has says nothing.
    SELECT lexeme, ln((SELECT count(*) FROM around)::float8 / count(*)) AS weight FROM matches GROUP BY lexeme
), focused AS (
    SELECT m.id, sum(w.weight) / NULLIF((SELECT sum(weight) FROM weights), 0) AS share
      FROM matches m
      JOIN weights w USING (lexeme)
     GROUP BY m.id
), itself AS MATERIALIZED (
    SELECT v.vector, v.space
      FROM context_rows s
      JOIN embeddings v ON v.row_id = s.id
     WHERE s.entity_id = %(id)s AND s.kind = 'snapshot'
     ORDER BY (v.space = (SELECT embedding_space FROM tenants)) IS TRUE DESC, v.space
     LIMIT 1
), newest AS MATERIALIZED (
    SELECT f.id, row_number() OVER (ORDER BY f.updated_at DESC, f.id) AS rank
      FROM files f
     WHERE f.entity_id = ANY(ARRAY(SELECT id FROM own UNION SELECT e.id FROM entities e WHERE e.project_id = %(id)s))
       AND f.entity_id = ANY(ARRAY(SELECT id FROM records))
       AND f.team_id IS NULL AND f.state IN ('embedding', 'ready') AND f.classification <= %(level)s
     ORDER BY f.updated_at DESC, f.id
     LIMIT %(files)s
), measured AS (
    SELECT a.id, a.file_id, a.kind, a.ordinal, a.created_at, a.is_linked, n.rank AS file_rank, v.vector <=> i.vector AS distance,
           i.vector IS NOT NULL AND v.vector IS NULL AS is_unembedded, o.share,
           1.0 / (%(k)s + row_number() OVER (ORDER BY v.vector <=> i.vector NULLS LAST, a.created_at DESC, a.ordinal, a.id))
           + CASE WHEN o.share > 0
                  THEN 1.0 / (%(k)s + row_number() OVER (ORDER BY o.share DESC NULLS LAST, a.created_at DESC, a.ordinal, a.id))
                  ELSE 0 END AS relevance
      FROM around a
      LEFT JOIN itself i ON true
      LEFT JOIN embeddings v ON v.row_id = a.id AND v.space = i.space
      LEFT JOIN newest n ON n.id = a.file_id
      LEFT JOIN focused o ON o.id = a.id
), relevant AS (
    SELECT m.*,
           row_number() OVER (PARTITION BY m.is_linked AND m.kind = 'snapshot'
                              ORDER BY m.is_unembedded, m.relevance DESC, m.created_at DESC, m.ordinal, m.id) AS of_kind,
           row_number() OVER (PARTITION BY m.file_id, m.kind = 'file_summary'
                              ORDER BY m.relevance DESC, m.ordinal, m.id) AS of_file,
           CASE WHEN m.is_unembedded AND m.is_linked
                THEN row_number() OVER (PARTITION BY m.is_unembedded AND m.is_linked ORDER BY m.created_at DESC, m.ordinal, m.id)
                END AS fresh
      FROM measured m
     WHERE m.is_linked OR m.file_rank IS NOT NULL OR 1 - m.distance >= %(min_score)s OR m.share >= %(min_share)s
), placed AS (
    SELECT p.*,
           row_number() OVER (ORDER BY p.is_linked AND p.kind = 'snapshot' AND p.of_kind <= %(linked)s DESC, p.is_unembedded,
                                       p.relevance DESC, p.created_at DESC, p.ordinal, p.id) AS rank
      FROM relevant p
)
SELECT r.id, r.kind, r.title, r.content, r.metadata, r.classification, r.created_at, COALESCE(1 - p.distance, 0) AS score,
       COALESCE(p.file_rank, 0) AS file_rank, p.kind = 'file_summary' AS is_file_summary,
       CASE WHEN p.fresh <= %(fresh)s THEN p.fresh - %(fresh)s ELSE p.rank END::int AS rank,
       array_remove(ARRAY['entities/' || r.entity_id, 'entities/' || r.related_entity_id, 'documents/' || r.document_id,
                          'files/' || r.file_id], NULL) AS owner_ids
  FROM placed p
  JOIN context_rows r ON r.id = p.id
 WHERE p.rank <= %(most)s OR p.fresh <= %(fresh)s OR p.file_rank IS NOT NULL AND p.of_file <= %(of_file)s
 ORDER BY p.fresh <= %(fresh)s DESC NULLS LAST, p.rank;

-- name: find_source_ids
-- Which rows some handles name, as table/id.
SELECT one.handle, 'entities/' || e.id AS source_id
  FROM unnest(%(handles)s::text[]) AS one (handle)
  JOIN entity_types t ON t.key = split_part(one.handle, '/', 1)
  JOIN entities e ON e.type_id = t.id AND e.key = substr(one.handle, strpos(one.handle, '/') + 1)
 WHERE e.deleted_at IS NULL
 UNION ALL
SELECT one.handle, 'documents/' || d.id
  FROM unnest(%(handles)s::text[]) AS one (handle)
  JOIN documents d ON one.handle LIKE 'document/%%' AND d.key = substr(one.handle, 10)
 WHERE d.deleted_at IS NULL;
