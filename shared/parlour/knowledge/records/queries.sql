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
