-- name: find_neighbours
-- What stands around a record, as far as a reader may see it: what its newest files say in short; in a project its files whole,
-- if together they are short enough, and what changed lately in it, not that a pack brought it; the rows that are nearest to
-- the record itself.
WITH own AS MATERIALIZED (
    SELECT v.vector, v.space
      FROM context_rows s
      JOIN embeddings v ON v.row_id = s.id
     WHERE s.entity_id = %(entity_id)s AND s.kind = 'snapshot' AND %(nearest)s > 0
     LIMIT 1
), seen AS (
    SELECT r.*
      FROM context_rows r
     WHERE r.entity_id = %(entity_id)s AND r.classification <= %(clearance)s AND r.session_id IS NULL
       AND (r.team_id IS NULL OR r.team_id = %(team_id)s::uuid)
), whole AS MATERIALIZED (
    SELECT f.id, f.name, f.classification, f.tokens
      FROM files f
     WHERE %(is_project)s AND f.entity_id = %(entity_id)s AND f.state IN ('embedding', 'ready')
       AND f.classification <= %(clearance)s
       AND (f.team_id IS NULL OR f.team_id = %(team_id)s::uuid)
), found AS (
    (SELECT 'file_summary' AS category, r.id, r.title, r.content, r.classification, 1.0::float8 AS score, r.created_at,
            array_remove(ARRAY['files/' || r.file_id], NULL) AS owners
       FROM seen r
      WHERE r.kind = 'file_summary'
      ORDER BY r.created_at DESC, r.id
      LIMIT %(distilled)s)
     UNION ALL
    SELECT 'file_text', f.id, f.name,
           (SELECT string_agg(r.content, E'\n' ORDER BY r.ordinal, r.id)
              FROM context_rows r WHERE r.file_id = f.id AND r.kind = 'file_chunk'),
           f.classification, 1.0, NULL, '{}'
      FROM whole f
     WHERE (SELECT sum(tokens) FROM whole) <= %(file_tokens)s
     UNION ALL
    (SELECT 'project_delta', r.id, r.title, r.content, r.classification, extract(epoch FROM r.created_at), r.created_at,
            ARRAY['entities/' || e.id]
       FROM entities e
      CROSS JOIN LATERAL (SELECT *
                            FROM context_rows c
                           WHERE c.entity_id = e.id AND c.kind = 'delta' AND c.classification <= %(clearance)s
                             AND (c.ordinal > 1 OR c.metadata->>'origin' IS DISTINCT FROM %(pack)s)
                           ORDER BY c.created_at DESC, c.id
                           LIMIT %(recent)s) r
      WHERE %(is_project)s AND e.project_id = %(entity_id)s AND e.deleted_at IS NULL
        AND e.classification <= %(clearance)s
      ORDER BY r.created_at DESC, r.id
      LIMIT %(recent)s)
     UNION ALL
    (SELECT 'nearest', r.id, r.title, r.content, r.classification, 1 - n.distance, r.created_at,
            array_remove(ARRAY['entities/' || r.entity_id, 'documents/' || r.document_id, 'files/' || r.file_id], NULL)
       FROM own o, search_nearest(o.space, o.vector, %(clearance)s, %(team_id)s::uuid, false, 3 * %(nearest)s, %(few)s) n
       JOIN context_rows r ON r.id = n.id
       LEFT JOIN entities e ON e.id = r.entity_id
       LEFT JOIN documents d ON d.id = r.document_id
      WHERE r.entity_id IS DISTINCT FROM %(entity_id)s AND r.kind <> 'delta' AND e.deleted_at IS NULL
        AND d.deleted_at IS NULL AND (e.id IS NULL OR e.classification <= %(clearance)s)
      ORDER BY n.distance, r.id
      LIMIT %(nearest)s)
)
SELECT category, id, title, content, classification, score, created_at, owners FROM found WHERE content IS NOT NULL;

-- name: find_changes_since
-- What changed after a moment on records that were told of, as far as a reader may see it, newest first; in a row, which
-- of the sources of what was told are still there for the reader, and in another which rows no longer are for this one.
WITH told AS MATERIALIZED (
    SELECT e.id, 'entities/' || e.id AS named
      FROM entities e
     WHERE e.id = ANY(%(entities)s::uuid[]) AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
     UNION ALL
    SELECT e.id, 'handles/' || one.handle
      FROM unnest(%(handles)s::text[]) AS one (handle)
      JOIN entity_types t ON t.key = split_part(one.handle, '/', 1)
      JOIN entities e ON e.type_id = t.id AND e.key = substr(one.handle, strpos(one.handle, '/') + 1)
     WHERE e.deleted_at IS NULL AND e.classification <= %(clearance)s
), changed AS (
    SELECT r.id, r.title, r.content, r.classification, r.created_at
      FROM (SELECT DISTINCT id FROM told WHERE %(follows)s) t
     CROSS JOIN LATERAL (SELECT *
                           FROM context_rows c
                          WHERE c.entity_id = t.id AND c.kind = 'delta' AND c.created_at > %(since)s
                            AND c.classification <= %(clearance)s
                          ORDER BY c.created_at DESC, c.id
                          LIMIT %(most)s) r
     ORDER BY r.created_at DESC, r.id
     LIMIT %(most)s
)
SELECT 'delta' AS category, id, title, content, classification, extract(epoch FROM created_at)::float8 AS score, created_at,
       '{}'::text[] AS owners
  FROM changed
 UNION ALL
SELECT 'visible', NULL, '', '', 0, 0, NULL, array_agg(one.named)
  FROM (SELECT named FROM told
         UNION ALL
        SELECT 'handles/' || one.handle
          FROM unnest(%(handles)s::text[]) AS one (handle)
          JOIN documents d ON one.handle LIKE 'document/%%' AND d.key = substr(one.handle, 10)
         WHERE d.deleted_at IS NULL AND d.classification <= %(clearance)s
         UNION ALL
        SELECT 'documents/' || d.id
          FROM documents d
         WHERE d.id = ANY(%(documents)s::uuid[]) AND d.deleted_at IS NULL AND d.classification <= %(clearance)s
         UNION ALL
        SELECT 'files/' || f.id
          FROM files f
         WHERE f.id = ANY(%(files)s::uuid[]) AND f.classification <= %(clearance)s) one
HAVING count(*) > 0
 UNION ALL
SELECT 'hidden', NULL, '', '', 0, 0, NULL, array_agg('context_rows/' || r.id)
  FROM context_rows r
 WHERE r.id = ANY(%(rows)s::uuid[]) AND r.classification > %(clearance)s
HAVING count(*) > 0;

-- name: list_newest_projects
-- The tenant's projects that a reader may see, the ones changed last first.
SELECT 'project' AS category, e.id, t.key || '/' || e.key AS title, e.name AS content, e.classification,
       extract(epoch FROM e.updated_at)::float8 AS score, e.updated_at AS created_at,
       '{}'::text[] AS owners
  FROM entities e
  JOIN entity_types t ON t.id = e.type_id AND t.key = 'project'
 WHERE e.deleted_at IS NULL AND e.classification <= %(clearance)s
 ORDER BY e.updated_at DESC, e.id
 LIMIT %(most)s;
