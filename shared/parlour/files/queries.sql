-- name: add_file
-- Write down that a file is about to be uploaded.
INSERT INTO files (tenant_id, id, entity_id, team_id, name, media_type, object_key, size_bytes, classification,
                   written_by_others, created_by, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(entity_id)s, %(team_id)s, %(name)s, %(media_type)s, %(object_key)s,
        %(size_bytes)s, %(classification)s, %(written_by_others)s, %(by)s, %(now)s, %(now)s);

-- name: list_files
-- Files that a reader of some clearance may see, the one last changed first: one of them, those about a record, those
-- of a team, those with a text in their name, or all, behind a position; none that was deleted. One whose rows all have
-- their vectors is ready.
SELECT f.id, f.name, f.media_type, f.size_bytes, f.classification, f.problem, f.pages, f.tokens, f.chunks, f.version,
       f.written_by_others, f.created_by, f.created_at, f.updated_at, t.key || '/' || e.key AS about, m.slug AS team,
       CASE WHEN f.state = 'embedding'
             AND NOT EXISTS (SELECT FROM context_rows r
                              WHERE (r.tenant_id, r.file_id) = (f.tenant_id, f.id) AND r.pending)
            THEN 'ready' ELSE f.state END AS state
  FROM files f
  LEFT JOIN entities e ON (e.tenant_id, e.id) = (f.tenant_id, f.entity_id)
                      AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
  LEFT JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
  LEFT JOIN teams m ON (m.tenant_id, m.id) = (f.tenant_id, f.team_id)
 WHERE f.classification <= %(clearance)s AND f.object_key <> ''
   AND (%(id)s::uuid IS NULL OR f.id = %(id)s)
   AND (%(entity_id)s::uuid IS NULL OR f.entity_id = %(entity_id)s)
   AND (%(team_id)s::uuid IS NULL OR f.team_id = %(team_id)s)
   AND (%(text)s::text IS NULL OR position(lower(%(text)s) IN lower(f.name)) > 0)
   AND (%(after_id)s::uuid IS NULL OR (f.updated_at, f.id) < (%(after_at)s::timestamptz, %(after_id)s))
 ORDER BY f.updated_at DESC, f.id DESC
 LIMIT %(most)s;

-- name: find_file_text
-- A file with what was read from it, for a reader of some clearance; none that was deleted.
SELECT f.name, f.media_type, f.size_bytes, f.version, f.classification, f.state, f.team_id,
       (SELECT string_agg(r.content, E'\n' ORDER BY r.ordinal, r.id)
          FROM context_rows r WHERE r.file_id = f.id AND r.kind = 'file_chunk') AS content
  FROM files f
 WHERE f.id = %(id)s AND f.classification <= %(clearance)s AND f.object_key <> '';

-- name: lock_file
-- A file as the worker sees it, and nobody else's to change until the transaction ends; one without a key was deleted.
SELECT f.id, f.entity_id, f.team_id, f.name, f.object_key, f.classification, f.state, f.attempts, f.version,
       f.updated_at,
       EXISTS (SELECT FROM entities e
                WHERE (e.tenant_id, e.id) = (f.tenant_id, f.entity_id) AND e.deleted_at IS NOT NULL) AS is_orphan
  FROM files f
 WHERE f.id = %(id)s
   FOR NO KEY UPDATE;

-- name: lock_record
-- The record that a file is about, which nobody deletes until the transaction ends. Whoever writes another of its files
-- waits: two that both held it shared and then marked it would wait for each other.
SELECT id FROM entities WHERE id = %(id)s AND deleted_at IS NULL FOR NO KEY UPDATE;

-- name: lock_record_of_file
-- The record that a file is about, as above: whoever changes both takes the record first.
SELECT e.id
  FROM files f
  JOIN entities e ON (e.tenant_id, e.id) = (f.tenant_id, f.entity_id)
 WHERE f.id = %(id)s
   FOR NO KEY UPDATE OF e;

-- name: queue_file
-- A version of a file has arrived and waits to be read.
UPDATE files
   SET state = 'queued', problem = NULL, attempts = 0, version = %(version)s, name = %(name)s,
       media_type = %(media_type)s, object_key = %(object_key)s, size_bytes = %(size_bytes)s, updated_at = %(now)s,
       written_by_others = COALESCE(%(written_by_others)s::boolean, written_by_others)
 WHERE id = %(id)s;

-- name: mark_parsing
-- A worker is reading the file. Since when it waits for the end of that stays as it is.
UPDATE files SET state = 'parsing', attempts = attempts + 1, problem = NULL WHERE id = %(id)s;

-- name: requeue_file
-- What reading a file takes went away: it waits again, and the attempt does not count.
UPDATE files
   SET attempts = attempts - CASE WHEN state = 'parsing' THEN 1 ELSE 0 END, state = 'queued', problem = %(problem)s
 WHERE id = %(id)s AND version = %(version)s AND state IN ('queued', 'parsing');

-- name: finish_file
-- What became of reading a file.
UPDATE files
   SET state = %(state)s, problem = %(problem)s, pages = %(pages)s, tokens = %(tokens)s, chunks = %(chunks)s,
       sha256 = %(sha256)s, updated_at = %(now)s
 WHERE id = %(id)s;

-- name: list_file_rows
-- The searchable rows of a file, and whether each has a vector or waits for none.
SELECT id, file_id AS owner_id, content_hash, metadata, NOT pending AS has_vector
  FROM context_rows
 WHERE file_id = %(id)s AND kind IN ('file_summary', 'file_chunk')
 ORDER BY ordinal, id;

-- name: delete_file_rows
-- Delete what was made searchable of a file, and with it vectors and numbers.
DELETE FROM context_rows WHERE file_id = %(id)s;

-- name: delete_file
-- Delete a file's own row, and with it whatever is left of it.
DELETE FROM files WHERE id = %(id)s;

-- name: find_team_id
-- A team by its slug.
SELECT id FROM teams WHERE slug = %(slug)s;

-- name: find_model_routing
-- Which models the tenant's agents ask: those of an agent that works for the team, if the file is a team's; else of the
-- agent that is there longest.
SELECT a.model_routing
  FROM bindings b
  JOIN agents a ON (a.tenant_id, a.id) = (b.tenant_id, b.agent_id)
 WHERE b.is_active
 ORDER BY COALESCE(b.team_id = %(team_id)s::uuid, false) DESC, b.created_at, b.id
 LIMIT 1;
