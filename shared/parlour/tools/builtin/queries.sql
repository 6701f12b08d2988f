-- name: find_cited_sources
-- What some numbers of a conversation stand for, as a reader of some clearance may see it, each with the record that it
-- was read in: the document's own, or the one that the document, file or row is about.
SELECT s.number, s.title, s.locator, r.metadata, r.classification, t.key || '/' || e.key AS handle
  FROM citation_numbers s
  JOIN context_rows r ON (r.tenant_id, r.id) = (s.tenant_id, s.row_id)
  LEFT JOIN documents d ON (d.tenant_id, d.id) = (r.tenant_id, r.document_id)
  LEFT JOIN files f ON (f.tenant_id, f.id) = (r.tenant_id, r.file_id)
  LEFT JOIN entities e ON (e.tenant_id, e.id) = (r.tenant_id, COALESCE(d.own_entity_id, d.entity_id, f.entity_id, r.entity_id))
                      AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
  LEFT JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE s.session_id = %(session_id)s AND s.number = ANY(%(numbers)s) AND r.classification <= %(clearance)s
 ORDER BY s.number;

-- name: list_snapshot_rows
-- The searchable text of some records, as a reader of some clearance may see it: what the records are cited by.
SELECT DISTINCT ON (r.entity_id) r.id AS row_id, r.document_id, r.entity_id, r.kind, r.title, r.content, r.metadata,
       0.0::float8 AS score
  FROM context_rows r
 WHERE r.entity_id = ANY(%(entity_ids)s) AND r.kind = 'snapshot' AND r.classification <= %(clearance)s
 ORDER BY r.entity_id, r.id;

-- name: list_handles
-- How the records of a kind are named, the newest first, as far as a reader of some clearance may see them.
SELECT t.key || '/' || e.key AS handle
  FROM entity_types t
  JOIN entities e ON (e.tenant_id, e.type_id) = (t.tenant_id, t.id)
 WHERE t.key = %(kind)s AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
 ORDER BY e.updated_at DESC
 LIMIT 500;

-- name: find_created_records
-- The records that a call made, by their origins, in that order.
SELECT t.key || '/' || e.key AS handle
  FROM entities e
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE e.origin = ANY(%(origins)s) AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
 ORDER BY array_position(%(origins)s, e.origin);

-- name: add_agent_write
-- Write down what a call did to a record; a repeated call finds it written down.
INSERT INTO agent_writes (tenant_id, id, turn_id, origin, principal, action, entity_id, target_id, relation, before,
                          after, version, written_at)
VALUES (current_tenant(), %(id)s, %(turn_id)s, %(origin)s, %(principal)s, %(action)s, %(entity_id)s, %(target_id)s,
        %(relation)s, %(before)s, %(after)s, %(version)s, %(now)s)
ON CONFLICT (tenant_id, origin) DO NOTHING;

-- name: lock_agent_writes
-- What a turn wrote and nobody has taken back, the latest first.
SELECT w.id, w.action, w.entity_id, w.target_id, w.relation, w.before, w.version,
       t.key || '/' || e.key AS handle, e.classification
  FROM agent_writes w
  JOIN entities e ON (e.tenant_id, e.id) = (w.tenant_id, w.entity_id)
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE w.turn_id = %(turn_id)s AND w.undone_at IS NULL
 ORDER BY w.id DESC
   FOR UPDATE OF w;

-- name: list_turn_changes
-- What a turn's calls wrote into records that the reader may see, the earliest first, undone or not.
SELECT w.action, t.key || '/' || e.key AS handle, e.name, e.deleted_at IS NOT NULL AS is_deleted, w.relation,
       COALESCE(ot.key || '/' || o.key, '') AS other_handle, COALESCE(o.name, '') AS other_name,
       w.before, w.after, w.written_at AS at, w.undone_at
  FROM agent_writes w
  JOIN entities e ON (e.tenant_id, e.id) = (w.tenant_id, w.entity_id)
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
  LEFT JOIN entities o ON (o.tenant_id, o.id) = (w.tenant_id, w.target_id) AND o.classification <= %(clearance)s
  LEFT JOIN entity_types ot ON (ot.tenant_id, ot.id) = (o.tenant_id, o.type_id)
 WHERE w.turn_id = %(turn_id)s
   AND GREATEST(e.classification, (w.before->>'classification')::int, (w.after->>'classification')::int)
       <= %(clearance)s
 ORDER BY w.id;

-- name: list_changes
-- plan: custom
-- What agents wrote into records, and which records people deleted or accepted, newest first, behind a position: as far
-- as the reader may see the record and the conversation. A change can be undone while its record is as its turn left it.
WITH written AS (
    SELECT w.id, w.action, w.entity_id, w.target_id, w.relation, w.before, w.after, w.written_at AS at, w.undone_at,
           w.turn_id, w.principal AS by, s.id AS session_id, u.display_name AS by_name, b.display_name AS agent_name,
           w.undone_at IS NULL AND e.deleted_at IS NULL
           AND (w.action IN ('link', 'unlink')
                OR e.version = (SELECT max(v.version) FROM agent_writes v
                                 WHERE v.tenant_id = w.tenant_id AND v.turn_id = w.turn_id
                                   AND v.entity_id = w.entity_id AND v.undone_at IS NULL)) AS can_undo
      FROM agent_writes w
      JOIN entities e ON (e.tenant_id, e.id) = (w.tenant_id, w.entity_id)
      LEFT JOIN turns n ON (n.tenant_id, n.id) = (w.tenant_id, w.turn_id)
      LEFT JOIN bindings b ON (b.tenant_id, b.id) = (n.tenant_id, n.binding_id)
      LEFT JOIN sessions s ON (s.tenant_id, s.id) = (n.tenant_id, n.session_id)
      LEFT JOIN users u ON (u.tenant_id, u.id) = (s.tenant_id, s.user_id)
     WHERE (%(entity_id)s::uuid IS NULL OR w.entity_id = %(entity_id)s OR w.target_id = %(entity_id)s)
       AND (%(after_id)s::uuid IS NULL OR (w.written_at, w.id) < (%(after_at)s::timestamptz, %(after_id)s))
       AND (%(since)s::timestamptz IS NULL OR w.written_at >= %(since)s)
       AND (%(until)s::timestamptz IS NULL OR w.written_at < %(until)s)
       AND GREATEST(e.classification, b.clearance, u.clearance, (w.before->>'classification')::int,
                    (w.after->>'classification')::int) <= %(clearance)s
     ORDER BY w.written_at DESC, w.id DESC
     LIMIT %(most)s
), administered AS (
    SELECT l.id, CASE l.action WHEN 'record.deleted' THEN 'delete' ELSE 'accept' END AS action, e.id AS entity_id,
           NULL::uuid AS target_id, '' AS relation, NULL::jsonb AS before, NULL::jsonb AS after, l.at,
           NULL::timestamptz AS undone_at, NULL::uuid AS turn_id, l.actor AS by, NULL::uuid AS session_id,
           COALESCE(m.display_name, k.name) AS by_name, NULL AS agent_name, false AS can_undo
      FROM audit_log l
      JOIN entities e ON e.tenant_id = l.tenant_id AND l.target = 'entity:' || e.id
      LEFT JOIN members m ON m.tenant_id = l.tenant_id AND l.actor = 'member:' || m.id
      LEFT JOIN api_keys k ON k.tenant_id = l.tenant_id AND l.actor = 'key:' || k.id
     WHERE l.action IN ('record.deleted', 'record.accepted')
       AND (%(entity_id)s::uuid IS NULL OR e.id = %(entity_id)s)
       AND (%(after_id)s::uuid IS NULL OR (l.at, l.id) < (%(after_at)s::timestamptz, %(after_id)s))
       AND (%(since)s::timestamptz IS NULL OR l.at >= %(since)s)
       AND (%(until)s::timestamptz IS NULL OR l.at < %(until)s)
       AND e.classification <= %(clearance)s
     ORDER BY l.at DESC, l.id DESC
     LIMIT %(most)s
)
SELECT c.id, c.action, t.key || '/' || e.key AS handle, e.name, e.deleted_at IS NOT NULL AS is_deleted, c.relation,
       COALESCE(ot.key || '/' || o.key, '') AS other_handle, COALESCE(o.name, '') AS other_name, c.before, c.after, c.at,
       c.undone_at, c.turn_id, c.session_id, c.by, COALESCE(c.by_name, '') AS by_name,
       COALESCE(c.agent_name, '') AS agent_name, c.can_undo
  FROM (SELECT * FROM written UNION ALL SELECT * FROM administered) c
  JOIN entities e ON e.id = c.entity_id
  JOIN entity_types t ON t.id = e.type_id
  LEFT JOIN entities o ON o.id = c.target_id AND o.classification <= %(clearance)s
  LEFT JOIN entity_types ot ON ot.id = o.type_id
 ORDER BY c.at DESC, c.id DESC
 LIMIT %(most)s;

-- name: mark_undone
-- Somebody took back what a call did.
UPDATE agent_writes SET undone_at = %(now)s, undone_by = %(by)s WHERE id = %(id)s;
