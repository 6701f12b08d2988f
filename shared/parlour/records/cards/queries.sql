-- name: find_origins
-- What some rows are of: their record with its type, their document, their file, their message. What is above the
-- reader's clearance, or deleted, is left out of a row that they may see.
SELECT r.id AS row_id, t.key AS type, t.display_name AS type_name, e.key, e.name,
       t.rag ->> 'icon' AS icon, t.rag ->> 'colour' AS colour, t.rag ->> 'link' AS link,
       d.key AS document, d.title AS document_title, f.id AS file_id, f.name AS file_name, r.session_id, r.message_id
  FROM context_rows r
  LEFT JOIN entities e ON e.id = r.entity_id AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
  LEFT JOIN entity_types t ON t.id = e.type_id
  LEFT JOIN documents d ON d.id = r.document_id AND d.deleted_at IS NULL AND d.classification <= %(clearance)s
  LEFT JOIN files f ON f.id = r.file_id AND f.classification <= %(clearance)s
 WHERE r.id = ANY(%(row_ids)s) AND r.classification <= %(clearance)s;

-- name: find_related_records
-- The records that those of a search's rows are linked to, by one edge either way, and by which: first what the best
-- rows, and the most of them, are linked to. Those found themselves are left out, like what the reader may not see.
WITH hits AS (
    SELECT r.entity_id AS id, max(h.score) AS score, max(k.key || '/' || e.key) AS handle
      FROM unnest(%(row_ids)s::uuid[], %(scores)s::float8[]) AS h (row_id, score)
      JOIN context_rows r ON r.id = h.row_id AND r.classification <= %(clearance)s
      JOIN entities e ON e.id = r.entity_id AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
      JOIN entity_types k ON k.id = e.type_id
     GROUP BY r.entity_id
), ends AS (
    SELECT x.target_id AS id, h.score, x.relation, 'outgoing' AS direction, h.handle
      FROM hits h JOIN edges x ON x.source_id = h.id
     UNION ALL
    SELECT x.source_id, h.score, x.relation, 'incoming', h.handle
      FROM hits h JOIN edges x ON x.target_id = h.id
)
SELECT t.key AS type, t.display_name AS type_name, e.key, e.name, t.rag ->> 'icon' AS icon,
       t.rag ->> 'colour' AS colour,
       jsonb_agg(jsonb_build_object('relation', n.relation, 'direction', n.direction, 'record', n.handle)
                 ORDER BY n.score DESC, n.handle, n.relation) AS relations
  FROM ends n
  JOIN entities e ON e.id = n.id AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
  JOIN entity_types t ON t.id = e.type_id
 WHERE n.id NOT IN (SELECT id FROM hits)
 GROUP BY e.id, e.key, e.name, e.updated_at, t.key, t.display_name, t.rag
 ORDER BY sum(n.score) DESC, e.updated_at DESC, e.id
 LIMIT %(most)s;
