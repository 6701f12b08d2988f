-- name: stored_documents
-- The living documents of those keys: their ids, the hashes of what they were made from, what they are about, and
-- whether somebody wrote them here.
SELECT id, key, content_hash, entity_id, own_entity_id IS NOT NULL AS is_authored
  FROM documents
 WHERE key = ANY(%(keys)s) AND deleted_at IS NULL;

-- name: pack_documents
-- The living documents that packs brought.
SELECT id, key, content_hash, entity_id, false AS is_authored
  FROM documents
 WHERE own_entity_id IS NULL AND deleted_at IS NULL
 ORDER BY key;

-- name: mark_documents_left
-- Note of the documents that packs brought whether the applied pack, which has these keys, has them still.
UPDATE documents SET left_pack_at = CASE WHEN left_pack_at IS NULL THEN %(now)s::timestamptz END
 WHERE own_entity_id IS NULL AND deleted_at IS NULL AND (key = ANY(%(keys)s)) = (left_pack_at IS NOT NULL);

-- name: free_document_keys
-- The keys of deleted documents are free again: those go on under names that nobody can ask for.
UPDATE documents SET key = key || '~' || id WHERE key = ANY(%(keys)s) AND deleted_at IS NOT NULL;

-- name: upsert_document
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
-- The documents of packs that a reader of some clearance may see, whole, with the entity each is about, by key.
SELECT d.key, d.title, d.kind, d.content, d.classification, d.metadata, t.key AS entity_type, e.key AS entity_key
  FROM documents d
  LEFT JOIN entities e ON (e.tenant_id, e.id) = (d.tenant_id, d.entity_id)
  LEFT JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE d.classification <= %(clearance)s AND d.own_entity_id IS NULL AND d.deleted_at IS NULL
 ORDER BY d.key;

-- name: documents_with_text
-- Some documents of packs, whole, with the record that each is about.
SELECT d.key, d.title, d.kind, d.content, d.classification, d.metadata, t.key AS entity_type, e.key AS entity_key
  FROM documents d
  LEFT JOIN entities e ON (e.tenant_id, e.id) = (d.tenant_id, d.entity_id)
  LEFT JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE d.key = ANY(%(keys)s) AND d.own_entity_id IS NULL AND d.deleted_at IS NULL;

-- name: delete_pack_documents
-- Delete documents of packs and what is searched of them.
WITH deleted AS (
    UPDATE documents SET deleted_at = %(now)s, updated_at = %(now)s
     WHERE key = ANY(%(keys)s) AND own_entity_id IS NULL AND deleted_at IS NULL
    RETURNING id, entity_id
), unindexed AS (
    DELETE FROM context_rows WHERE document_id IN (SELECT id FROM deleted)
)
SELECT entity_id FROM deleted;

-- name: find_documents
-- What is known of some documents, by id or key, apart from their text; only those that the reader may see.
SELECT d.id, d.key, coalesce(r.name, d.title) AS title,
       coalesce(r.properties->>'description', d.description) AS description, d.kind,
       d.content_length AS length, greatest(d.classification, r.classification) AS classification, d.version,
       coalesce(r.properties->>'state', '') AS state, d.is_context, d.team_id, d.own_entity_id,
       r.version AS own_entity_version, d.project_id, pt.key || '/' || p.key AS project, d.updated_at,
       d.left_pack_at, ak.key || '/' || a.key AS about
  FROM documents d
  LEFT JOIN entities r ON (r.tenant_id, r.id) = (d.tenant_id, d.own_entity_id)
  LEFT JOIN entities a ON (a.tenant_id, a.id) = (d.tenant_id, d.entity_id) AND a.deleted_at IS NULL
                      AND a.classification <= %(clearance)s
  LEFT JOIN entity_types ak ON (ak.tenant_id, ak.id) = (a.tenant_id, a.type_id)
  LEFT JOIN entities p ON (p.tenant_id, p.id) = (d.tenant_id, d.project_id) AND p.deleted_at IS NULL
                      AND p.classification <= %(clearance)s
  LEFT JOIN entity_types pt ON (pt.tenant_id, pt.id) = (p.tenant_id, p.type_id)
 WHERE (d.id = ANY(%(ids)s) OR d.key = ANY(%(keys)s))
   AND d.deleted_at IS NULL AND r.deleted_at IS NULL
   AND greatest(d.classification, r.classification) <= %(clearance)s
   AND (%(every_team)s OR d.team_id IS NULL OR d.team_id = %(team_id)s);

-- name: list_newest_documents
-- The documents that the reader may see, or those whose name has a text in it, those changed last first, behind a place
-- in that order; without what they say.
SELECT d.id, d.key, coalesce(r.name, d.title) AS title,
       coalesce(r.properties->>'description', d.description) AS description, d.kind,
       d.content_length AS length, greatest(d.classification, r.classification) AS classification, d.version,
       coalesce(r.properties->>'state', '') AS state, d.is_context, d.team_id, d.own_entity_id,
       r.version AS own_entity_version, d.project_id, pt.key || '/' || p.key AS project, d.updated_at,
       d.left_pack_at, ak.key || '/' || a.key AS about
  FROM documents d
  LEFT JOIN entities r ON (r.tenant_id, r.id) = (d.tenant_id, d.own_entity_id)
  LEFT JOIN entities a ON (a.tenant_id, a.id) = (d.tenant_id, d.entity_id) AND a.deleted_at IS NULL
                      AND a.classification <= %(clearance)s
  LEFT JOIN entity_types ak ON (ak.tenant_id, ak.id) = (a.tenant_id, a.type_id)
  LEFT JOIN entities p ON (p.tenant_id, p.id) = (d.tenant_id, d.project_id) AND p.deleted_at IS NULL
                      AND p.classification <= %(clearance)s
  LEFT JOIN entity_types pt ON (pt.tenant_id, pt.id) = (p.tenant_id, p.type_id)
 WHERE d.deleted_at IS NULL AND r.deleted_at IS NULL
   AND greatest(d.classification, r.classification) <= %(clearance)s
   AND (%(every_team)s OR d.team_id IS NULL OR d.team_id = %(team_id)s)
   AND (%(after_at)s::timestamptz IS NULL OR (d.updated_at, d.key) < (%(after_at)s, %(after_key)s))
   AND (%(text)s::text IS NULL
        OR position(lower(%(text)s) IN lower(concat_ws(E'\n', d.key, r.name, d.title, d.description))) > 0)
 ORDER BY d.updated_at DESC, d.key DESC
 LIMIT %(most)s;

-- name: list_tree_documents
-- A project's tree and the documents about it that have no place in it, without any text, in one round trip: a place
-- whose document the reader may not see comes with `visible` false and nothing else but the place.
WITH seen AS (
    SELECT d.id, d.key, coalesce(r.name, d.title) AS title,
           coalesce(r.properties->>'description', d.description) AS description, d.kind,
           d.content_length AS length, greatest(d.classification, r.classification) AS classification, d.version,
           coalesce(r.properties->>'state', '') AS state, d.is_context, d.team_id,
           d.own_entity_id, r.version AS own_entity_version, d.project_id, d.updated_at, d.left_pack_at,
           ak.key || '/' || a.key AS about
      FROM documents d
      LEFT JOIN entities r ON (r.tenant_id, r.id) = (d.tenant_id, d.own_entity_id)
      LEFT JOIN entities a ON (a.tenant_id, a.id) = (d.tenant_id, d.entity_id) AND a.deleted_at IS NULL
                          AND a.classification <= %(clearance)s
      LEFT JOIN entity_types ak ON (ak.tenant_id, ak.id) = (a.tenant_id, a.type_id)
     WHERE (d.project_id = %(project_id)s OR a.id = %(project_id)s OR a.project_id = %(project_id)s)
       AND d.deleted_at IS NULL AND r.deleted_at IS NULL
       AND greatest(d.classification, r.classification) <= %(clearance)s
       AND (%(every_team)s OR d.team_id IS NULL OR d.team_id = %(team_id)s)
), placed AS (
    SELECT document_id, parent_id, position FROM document_nodes WHERE project_id = %(project_id)s
)
SELECT coalesce(n.document_id, s.id) AS id, n.parent_id, n.position, s.id IS NOT NULL AS is_visible,
       coalesce(s.key, '') AS key, coalesce(s.title, '') AS title, coalesce(s.description, '') AS description,
       coalesce(s.kind, '') AS kind, coalesce(s.length, 0) AS length, coalesce(s.classification, 0) AS classification,
       coalesce(s.version, 0) AS version, coalesce(s.state, '') AS state, coalesce(s.is_context, false) AS is_context,
       s.team_id, s.own_entity_id, s.own_entity_version, s.project_id, NULL AS project,
       coalesce(s.updated_at, to_timestamp(0)) AS updated_at, s.left_pack_at, s.about
  FROM placed n
  FULL JOIN seen s ON s.id = n.document_id
 ORDER BY n.position, s.key;

-- name: read_text
-- The whole text of a document.
SELECT content FROM documents WHERE id = %(id)s AND deleted_at IS NULL;

-- name: find_document_of_record
-- The living document that a record is, with the project whose tree it is in and the one that its record is in.
SELECT d.id, d.project_id, r.project_id AS record_project_id, d.is_context, d.description, d.content_hash, d.version
  FROM documents d
  JOIN entities r ON (r.tenant_id, r.id) = (d.tenant_id, d.own_entity_id)
 WHERE d.own_entity_id = %(record_id)s AND d.deleted_at IS NULL;

-- name: move_document
-- A document is in another project's tree, or in none.
UPDATE documents SET project_id = %(project_id)s, updated_at = %(now)s WHERE id = %(id)s;

-- name: add_document
-- Keep a document that somebody wrote, about its own record; nothing happens when there is one of its key.
INSERT INTO documents (tenant_id, id, own_entity_id, entity_id, project_id, key, title, description, kind, content,
                       content_hash, classification, is_context, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(record_id)s, %(record_id)s, %(project_id)s, %(key)s, %(title)s, %(description)s,
        %(kind)s, %(content)s, %(content_hash)s, %(classification)s, %(is_context)s, %(now)s, %(now)s)
    ON CONFLICT DO NOTHING;

-- name: update_document
-- Change a document that somebody wrote, unless it changed since that version.
UPDATE documents
   SET title = %(title)s, description = %(description)s, kind = %(kind)s, content = %(content)s,
       content_hash = %(content_hash)s, classification = %(classification)s, version = version + 1,
       updated_at = %(now)s
 WHERE id = %(id)s AND version = %(version)s AND deleted_at IS NULL;

-- name: list_document_rows
-- The searchable pieces of a document in order, as a search would find them.
SELECT id AS row_id, document_id, entity_id, kind, title, content, metadata, 0.0::float8 AS score
  FROM context_rows
 WHERE document_id = %(document_id)s AND classification <= %(clearance)s
 ORDER BY ordinal, id;

-- name: lock_project
-- Take a project's row, so that its tree is changed by one at a time.
SELECT id FROM entities WHERE id = %(project_id)s FOR NO KEY UPDATE;

-- name: add_node
-- Give a document a place in a project's tree.
INSERT INTO document_nodes (tenant_id, project_id, document_id, parent_id, position)
VALUES (current_tenant(), %(project_id)s, %(document_id)s, %(parent_id)s, %(position)s);

-- name: move_nodes
-- Move documents within a project's tree; positions are checked once all of them have moved.
UPDATE document_nodes n
   SET parent_id = w.parent_id, position = w.position
  FROM unnest(%(document_ids)s::uuid[], %(parent_ids)s::uuid[], %(positions)s::int[]) AS w (document_id, parent_id, position)
 WHERE n.project_id = %(project_id)s AND n.document_id = w.document_id;

-- name: remove_node
-- Take a document out of a project's tree; nothing may stand under it any more.
DELETE FROM document_nodes WHERE project_id = %(project_id)s AND document_id = %(document_id)s;
