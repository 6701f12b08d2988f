-- name: hold_tenant
-- Take the tenant's row, so that writers of one tenant's knowledge queue up; inserts elsewhere are not held up.
SELECT tenant_id AS id FROM tenants FOR NO KEY UPDATE;

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
-- Add a searchable row; a pending one gets its vector later.
INSERT INTO context_rows (tenant_id, id, entity_id, document_id, file_id, team_id, kind, ordinal, title, content,
                          content_hash, classification, metadata, pending, created_at)
VALUES (current_tenant(), %(id)s, %(entity_id)s, %(document_id)s, %(file_id)s, %(team_id)s, %(kind)s, %(ordinal)s,
        %(title)s, %(content)s, %(content_hash)s, %(classification)s, %(metadata)s, %(pending)s, %(now)s);

-- name: change_row
-- Bring what surrounds a row's content up to date.
UPDATE context_rows
   SET entity_id = %(entity_id)s, team_id = %(team_id)s, ordinal = %(ordinal)s, title = %(title)s,
       classification = %(classification)s, metadata = %(metadata)s
 WHERE id = %(id)s;

-- name: remove_rows
-- Delete rows, and with them their vectors and numbers.
DELETE FROM context_rows WHERE id = ANY(%(ids)s);

-- name: add_vector
-- Keep a row's vector in a space.
INSERT INTO embeddings (tenant_id, row_id, model, vector)
VALUES (current_tenant(), %(row_id)s, %(space)s, %(vector)s::vector)
    ON CONFLICT (tenant_id, row_id, model) DO UPDATE SET vector = EXCLUDED.vector;
