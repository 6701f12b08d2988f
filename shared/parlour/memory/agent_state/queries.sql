-- name: lock_state
-- A session's notes, kept from anybody else's changes until the transaction ends; made where there are none yet, and
-- none where the session was put away.
INSERT INTO agent_states (tenant_id, session_id, state, version, updated_at)
SELECT s.tenant_id, s.id, '{}', 0, %(now)s FROM sessions s WHERE s.id = %(session_id)s AND s.archived_at IS NULL
ON CONFLICT (tenant_id, session_id) DO UPDATE SET updated_at = agent_states.updated_at
RETURNING state, version;

-- name: store_state
-- A session's notes as they are now.
UPDATE agent_states
   SET state = %(state)s, version = version + 1, updated_at = %(now)s
 WHERE session_id = %(session_id)s;

-- name: find_visible_handles
-- Those of some records and documents, by their handles, that a session's user may see, as they may act now.
WITH reader AS (
    SELECT COALESCE(u.clearance, b.clearance) AS clearance
      FROM sessions s
      JOIN users u ON u.id = s.user_id
      JOIN bindings b ON b.id = answering_binding(s)
     WHERE s.id = %(session_id)s
), handled AS (
    SELECT handle, split_part(handle, '/', 1) AS type, substr(handle, strpos(handle, '/') + 1) AS key
      FROM unnest(%(handles)s::text[]) AS one (handle)
)
SELECT h.handle AS handle
  FROM reader
 CROSS JOIN handled h
  JOIN entity_types t ON t.key = h.type
  JOIN entities e ON e.type_id = t.id AND e.key = h.key
 WHERE e.deleted_at IS NULL AND e.classification <= reader.clearance
 UNION
SELECT h.handle
  FROM reader
 CROSS JOIN handled h
  JOIN documents d ON h.type = 'document' AND d.key = h.key
 WHERE d.deleted_at IS NULL AND d.classification <= reader.clearance;
