-- name: origins
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
