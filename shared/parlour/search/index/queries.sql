-- name: lock_tenant
-- Take the tenant's row, so that writers of one tenant's knowledge queue up; inserts elsewhere are not held up.
SELECT tenant_id AS id FROM tenants FOR NO KEY UPDATE;

-- name: list_document_rows
-- The searchable rows of some documents, and whether each has a vector in a space.
SELECT r.id, r.document_id AS owner_id, r.content_hash, r.metadata, e.row_id IS NOT NULL AS has_vector
  FROM context_rows r
  LEFT JOIN embeddings e ON (e.tenant_id, e.row_id, e.space) = (r.tenant_id, r.id, %(space)s)
 WHERE r.document_id = ANY(%(ids)s) AND r.kind = 'document_chunk'
 ORDER BY r.document_id, r.ordinal, r.id;

-- name: list_snapshot_rows
-- The snapshot rows of some entities, and whether each has a vector in a space.
SELECT r.id, r.entity_id AS owner_id, r.content_hash, r.metadata, e.row_id IS NOT NULL AS has_vector
  FROM context_rows r
  LEFT JOIN embeddings e ON (e.tenant_id, e.row_id, e.space) = (r.tenant_id, r.id, %(space)s)
 WHERE r.entity_id = ANY(%(ids)s) AND r.kind = 'snapshot'
 ORDER BY r.entity_id, r.ordinal, r.id;

-- name: add_row
-- Add a searchable row; a pending one gets its vector later.
INSERT INTO context_rows (tenant_id, id, entity_id, document_id, file_id, team_id, kind, ordinal, title, content,
                          content_hash, classification, metadata, pending, created_at)
VALUES (current_tenant(), %(id)s, %(entity_id)s, %(document_id)s, %(file_id)s, %(team_id)s, %(kind)s, %(ordinal)s,
        %(title)s, %(content)s, %(content_hash)s, %(classification)s, %(metadata)s, %(pending)s, %(now)s);

-- name: update_row
-- Bring what surrounds a row's content up to date.
UPDATE context_rows
   SET entity_id = %(entity_id)s, team_id = %(team_id)s, ordinal = %(ordinal)s, title = %(title)s,
       classification = %(classification)s, metadata = %(metadata)s
 WHERE id = %(id)s;

-- name: delete_rows
-- Delete rows, and with them their vectors and numbers.
DELETE FROM context_rows WHERE id = ANY(%(ids)s);

-- name: add_vector
-- Keep a row's vector in a space.
INSERT INTO embeddings (tenant_id, row_id, space, vector)
VALUES (current_tenant(), %(row_id)s, %(space)s, %(vector)s::vector)
    ON CONFLICT (tenant_id, row_id, space) DO UPDATE SET vector = EXCLUDED.vector;

-- name: tenant_space
-- The space that the tenant's searches look into; null is the deployment's own.
SELECT embedding_space FROM tenants;

-- name: read_pending_work
-- What the embedder has to do for the tenant; nothing when that is nothing. leave_at: when the move to another model
-- was over, while vectors of the model it came from may be left.
SELECT found.*
  FROM (SELECT EXISTS (SELECT FROM messages WHERE NOT indexed) AS has_messages,
               EXISTS (SELECT FROM context_rows WHERE pending) AS has_rows,
               EXISTS (SELECT FROM work_due WHERE tenant_id = current_tenant() AND kind = 'record_type') AS has_types,
               EXISTS (SELECT FROM reembeddings WHERE finished_at IS NULL) AS is_reembedding,
               (SELECT finished_at FROM reembeddings WHERE cleared_at IS NULL) AS old_vectors_since) AS found
 WHERE found.has_messages OR found.has_rows OR found.has_types OR found.is_reembedding OR found.old_vectors_since IS NOT NULL;

-- name: find_unindexed_messages
-- Messages without a row, oldest first, kept from others until the transaction ends. What may be found again is what
-- people and agents said; whoever is called nothing is the user. Questions before a tool call, and answers that only say
-- yes or no to them, are left out: they are no facts.
SELECT m.id, m.session_id, b.display_name AS title,
       CASE WHEN m.direction = 'outbound' THEN h.display_name ELSE COALESCE(u.display_name, 'User') END AS speaker,
       CASE WHEN m.metadata ? 'question_span'
            THEN left(m.body, (m.metadata #>> '{question_span,0}')::integer)
                 || substr(m.body, (m.metadata #>> '{question_span,1}')::integer + 1)
            ELSE m.body END AS body,
       m.sent_at, COALESCE(u.clearance, b.clearance) AS classification,
       m.state <> 'ignored' AND m.kind <> 'tool_result' AND NOT m.metadata ? 'answers' AS is_searchable
  FROM messages m
  JOIN sessions s ON s.id = m.session_id
  JOIN users u ON u.id = s.user_id
  LEFT JOIN turns t ON t.id = m.turn_id
  JOIN bindings b ON b.id = COALESCE(t.binding_id, s.binding_id)
  JOIN humans h ON h.id = b.human_id
 WHERE NOT m.indexed
 ORDER BY m.id
 LIMIT %(most)s
   FOR UPDATE OF m SKIP LOCKED;

-- name: add_message_row
-- The row of a message, once; as old as the message.
INSERT INTO context_rows (tenant_id, id, session_id, message_id, kind, ordinal, title, content, content_hash,
                          classification, metadata, pending, created_at)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(message_id)s, %(kind)s, %(ordinal)s, %(title)s, %(content)s,
        %(content_hash)s, %(classification)s, %(metadata)s, true, %(at)s)
ON CONFLICT (tenant_id, message_id) WHERE message_id IS NOT NULL DO NOTHING;

-- name: mark_indexed
-- Messages have their rows, or need none.
UPDATE messages SET indexed = true WHERE id = ANY(%(ids)s);

-- name: find_pending_rows
-- Rows without a vector, oldest first.
SELECT id, content FROM context_rows WHERE pending ORDER BY id LIMIT %(most)s;

-- name: oldest_pending_since
-- Since when the oldest row waits for its vector.
SELECT created_at FROM context_rows WHERE pending ORDER BY id LIMIT 1;

-- name: store_vector
-- Store the vector of a pending row; nothing for a row that is gone.
WITH kept AS (
    UPDATE context_rows SET pending = false WHERE id = %(row_id)s RETURNING id
)
INSERT INTO embeddings (tenant_id, row_id, space, vector)
SELECT current_tenant(), id, %(space)s, %(vector)s::vector FROM kept
    ON CONFLICT (tenant_id, row_id, space) DO UPDATE SET vector = EXCLUDED.vector;

-- name: give_up_row
-- A row whose text no model takes waits for none: words find it.
UPDATE context_rows SET pending = false WHERE id = %(row_id)s;

-- name: find_types_to_backfill
-- Types whose records have to be described anew.
SELECT id FROM work_due WHERE tenant_id = current_tenant() AND kind = 'record_type' ORDER BY id;

-- name: find_reembedding
-- The tenant's last move to another model.
SELECT space, cursor, done, total, started_at, finished_at, cleared_at FROM reembeddings;

-- name: start_reembedding
-- A tenant starts for another space; what has a vector elsewhere and none there is to be moved.
INSERT INTO reembeddings (tenant_id, space, total, started_at)
SELECT current_tenant(), %(space)s, count(*), %(now)s
  FROM context_rows r
 WHERE EXISTS (SELECT FROM embeddings e WHERE (e.tenant_id, e.row_id) = (r.tenant_id, r.id))
   AND NOT EXISTS (SELECT FROM embeddings e WHERE (e.tenant_id, e.row_id, e.space) = (r.tenant_id, r.id, %(space)s))
ON CONFLICT (tenant_id) DO UPDATE
   SET space = EXCLUDED.space, cursor = NULL, done = 0, total = EXCLUDED.total, started_at = EXCLUDED.started_at,
       finished_at = NULL, cleared_at = NULL;

-- name: find_rows_to_reembed
-- Rows after the cursor that have a vector in another space and none in this one, in order.
SELECT r.id, r.content
  FROM context_rows r
 WHERE (%(cursor)s::uuid IS NULL OR r.id > %(cursor)s::uuid)
   AND EXISTS (SELECT FROM embeddings e WHERE (e.tenant_id, e.row_id) = (r.tenant_id, r.id))
   AND NOT EXISTS (SELECT FROM embeddings e WHERE (e.tenant_id, e.row_id, e.space) = (r.tenant_id, r.id, %(space)s))
 ORDER BY r.id
 LIMIT %(most)s;

-- name: add_reembedded_vector
-- A row's vector in the space it is moved to; nothing for one that is gone.
INSERT INTO embeddings (tenant_id, row_id, space, vector)
SELECT current_tenant(), r.id, %(space)s, %(vector)s::vector FROM context_rows r WHERE r.id = %(row_id)s
    ON CONFLICT (tenant_id, row_id, space) DO UPDATE SET vector = EXCLUDED.vector;

-- name: delete_vectors
-- A row has no vector any more.
DELETE FROM embeddings WHERE row_id = %(row_id)s;

-- name: save_progress
-- How far the move is; said twice, it is counted once.
UPDATE reembeddings SET cursor = %(cursor)s, done = %(done)s WHERE done = %(before)s;

-- name: switch_searches
-- Switch the tenant's searches to the new space.
WITH turned AS (
    UPDATE tenants SET embedding_space = %(space)s RETURNING tenant_id
)
UPDATE reembeddings m SET finished_at = %(now)s FROM turned WHERE m.tenant_id = turned.tenant_id;

-- name: delete_old_vectors
-- Some of the vectors in other spaces go.
DELETE FROM embeddings e
 USING (SELECT o.row_id, o.space FROM embeddings o WHERE o.space <> %(space)s LIMIT %(most)s) AS old
 WHERE (e.row_id, e.space) = (old.row_id, old.space);

-- name: mark_old_vectors_deleted
-- Only one space is left.
UPDATE reembeddings SET cleared_at = %(now)s WHERE finished_at IS NOT NULL AND cleared_at IS NULL;
