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
