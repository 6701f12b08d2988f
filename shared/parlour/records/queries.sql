-- name: entity_ids
-- The ids of living entities, by type and key.
SELECT e.id, t.key AS type, e.key
  FROM unnest(%(types)s::text[], %(keys)s::text[]) AS wanted (type, key)
  JOIN entity_types t ON t.key = wanted.type
  JOIN entities e ON (e.tenant_id, e.type_id, e.key) = (t.tenant_id, t.id, wanted.key)
 WHERE e.deleted_at IS NULL;

-- name: stored_entities
-- The entities of those types and keys as they are, deleted ones included.
SELECT e.id, t.key AS type, e.key, e.name, e.properties, e.classification, e.deleted_at IS NOT NULL AS is_deleted,
       pt.key || '/' || p.key AS project, e.version, p.id AS project_id,
       coalesce(p.classification, 0) AS project_classification
  FROM unnest(%(types)s::text[], %(keys)s::text[]) AS wanted (type, key)
  JOIN entity_types t ON t.key = wanted.type
  JOIN entities e ON (e.tenant_id, e.type_id, e.key) = (t.tenant_id, t.id, wanted.key)
  LEFT JOIN entities p ON (p.tenant_id, p.id) = (e.tenant_id, e.project_id)
  LEFT JOIN entity_types pt ON (pt.tenant_id, pt.id) = (p.tenant_id, p.type_id);

-- name: upsert_entity
-- Add an entity of a type (by the type's key), or change the one there is; its version counts the changes. The origin
-- says that a pack made it.
INSERT INTO entities (tenant_id, id, type_id, key, name, properties, classification, project_id, origin, snapshot_type_version,
                      created_by, updated_by, created_at, updated_at)
SELECT t.tenant_id, %(id)s, t.id, %(key)s, %(name)s, %(properties)s, %(classification)s,
       (SELECT p.id
          FROM entity_types pt
          JOIN entities p ON (p.tenant_id, p.type_id) = (pt.tenant_id, pt.id)
         WHERE (pt.key, p.key) = (%(project_type)s, %(project_key)s) AND p.deleted_at IS NULL),
       %(origin)s, t.version, %(by)s, %(by)s, %(now)s, %(now)s
  FROM entity_types t
 WHERE t.key = %(type)s
    ON CONFLICT (tenant_id, type_id, key) DO UPDATE
   SET name = EXCLUDED.name, properties = EXCLUDED.properties, classification = EXCLUDED.classification,
       project_id = EXCLUDED.project_id, origin = coalesce(entities.origin, EXCLUDED.origin),
       snapshot_type_version = EXCLUDED.snapshot_type_version, version = entities.version + 1, updated_by = EXCLUDED.updated_by,
       updated_at = EXCLUDED.updated_at;

-- name: free_deleted_keys
-- The keys of deleted entities are free again: those go on under names that nobody can ask for, and whatever belongs to
-- them stays theirs.
UPDATE entities e
   SET key = e.key || '~' || e.id
  FROM unnest(%(types)s::text[], %(keys)s::text[]) AS wanted (type, key)
  JOIN entity_types t ON t.key = wanted.type
 WHERE (e.tenant_id, e.type_id, e.key) = (t.tenant_id, t.id, wanted.key) AND e.deleted_at IS NOT NULL;

-- name: all_entities
-- The living entities that a reader of some clearance may see, by type and key.
SELECT e.id, t.key AS type, e.key, e.name, e.properties, e.classification, false AS is_deleted,
       pt.key || '/' || p.key AS project
  FROM entities e
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
  LEFT JOIN entities p ON (p.tenant_id, p.id) = (e.tenant_id, e.project_id)
                      AND p.deleted_at IS NULL AND p.classification <= %(clearance)s
  LEFT JOIN entity_types pt ON (pt.tenant_id, pt.id) = (p.tenant_id, p.type_id)
 WHERE e.deleted_at IS NULL AND e.classification <= %(clearance)s
 ORDER BY t.key, e.key;

-- name: pack_entities
-- The living entities that packs made, by type and key.
SELECT e.id, t.key AS type, e.key
  FROM entities e
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE e.origin LIKE 'pack:%%' AND e.deleted_at IS NULL
 ORDER BY t.key, e.key;

-- name: records_with_additions
-- Records to which people attached something: a link, a file, or a record or document of their own.
SELECT w.id
  FROM unnest(%(ids)s::uuid[]) AS w (id)
 WHERE EXISTS (SELECT FROM edges d WHERE w.id IN (d.source_id, d.target_id) AND d.created_by <> '')
    OR EXISTS (SELECT FROM files f WHERE f.entity_id = w.id)
    OR EXISTS (SELECT FROM entities e
                WHERE e.project_id = w.id AND e.deleted_at IS NULL AND coalesce(e.origin, '') NOT LIKE 'pack:%%');

-- name: used_types
-- The keys of the record types that have records, deleted ones included.
SELECT t.key AS name FROM entity_types t
 WHERE EXISTS (SELECT FROM entities e WHERE (e.tenant_id, e.type_id) = (t.tenant_id, t.id));

-- name: entity_types
-- The kinds of record that the tenant has rows for, and whether Parlour itself put there what they say.
SELECT t.id, t.key, t.display_name, t.properties, t.rag, t.version,
       EXISTS (SELECT FROM config_versions v
                WHERE (v.kind, v.config_id, v.version, v.created_by) = ('entity_type', t.id, t.version, 'system')) AS is_built_in
  FROM entity_types t
 ORDER BY t.key;

-- name: entity_type
-- One kind of record.
SELECT t.id, t.key, t.display_name, t.properties, t.rag, t.version,
       EXISTS (SELECT FROM config_versions v
                WHERE (v.kind, v.config_id, v.version, v.created_by) = ('entity_type', t.id, t.version, 'system')) AS is_built_in
  FROM entity_types t
 WHERE t.key = %(key)s;

-- name: entity_type_by_id
-- One kind of record, by its row.
SELECT t.id, t.key, t.display_name, t.properties, t.rag, t.version,
       EXISTS (SELECT FROM config_versions v
                WHERE (v.kind, v.config_id, v.version, v.created_by) = ('entity_type', t.id, t.version, 'system')) AS is_built_in
  FROM entity_types t
 WHERE t.id = %(id)s;

-- name: add_entity_type
-- Take a kind that everybody has into use; nothing happens when somebody else just did.
INSERT INTO entity_types (tenant_id, id, key, display_name, properties, rag, version, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(key)s, %(display_name)s, %(properties)s, %(rag)s, 1, %(now)s, %(now)s)
    ON CONFLICT (tenant_id, key) DO NOTHING;

-- name: upgrade_entity_type
-- What Parlour says of a kind now; nothing happens when the kind came to another version meanwhile.
UPDATE entity_types
   SET display_name = %(display_name)s, properties = %(properties)s, rag = %(rag)s, version = version + 1,
       updated_at = %(now)s
 WHERE id = %(id)s AND version = %(version)s;

-- name: lock_tenant
-- Write when nobody else writes the tenant's records. What a writer reads of others' records to name them (a link's
-- other end, say) is neither closed nor deleted meanwhile; and since every writer locks the mark of the rows that wait
-- for vectors, some before and some after a record, two at once would wait for each other.
SELECT tenant_id AS id FROM tenants FOR NO KEY UPDATE;

-- name: find_records
-- Living records that a reader of some clearance may see, by id or by type and key; the project's name only when the
-- reader may see that, too.
WITH wanted AS (
    SELECT unnest(%(ids)s::uuid[]) AS id
     UNION
    SELECT e.id
      FROM unnest(%(types)s::text[], %(keys)s::text[]) AS named (type, key)
      JOIN entity_types t ON t.key = named.type
      JOIN entities e ON (e.tenant_id, e.type_id, e.key) = (t.tenant_id, t.id, named.key)
)
SELECT e.id, t.key AS type, t.display_name AS type_name, e.key, e.name, e.properties, e.classification,
       p.id AS project_id, pt.key || '/' || p.key AS project, e.version, e.created_at, e.updated_at,
       e.created_by, e.updated_by, e.stale_since, e.stale_causes, e.unverified_by
  FROM wanted
  JOIN entities e ON (e.tenant_id, e.id) = (current_tenant(), wanted.id)
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
  LEFT JOIN entities p ON (p.tenant_id, p.id) = (e.tenant_id, e.project_id)
                      AND p.deleted_at IS NULL AND p.classification <= %(clearance)s
  LEFT JOIN entity_types pt ON (pt.tenant_id, pt.id) = (p.tenant_id, p.type_id)
 WHERE e.deleted_at IS NULL AND e.classification <= %(clearance)s;

-- name: lock_record
-- Take a record's row, so that its changes happen one after another.
SELECT id FROM entities WHERE id = %(id)s AND deleted_at IS NULL FOR NO KEY UPDATE;

-- name: find_record_by_origin
-- The record that a call made: its id, type, key, and whether it is there no more.
SELECT e.id, t.key AS type, e.key, e.name, e.properties, e.classification, e.deleted_at IS NOT NULL AS is_deleted,
       NULL AS project
  FROM entities e
  JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
 WHERE e.origin = %(origin)s;

-- name: add_record
-- Add a record; nothing happens when its key, or the call that makes it, has one already.
INSERT INTO entities (tenant_id, id, type_id, key, name, properties, classification, project_id, origin, snapshot_type_version,
                      created_by, updated_by, created_at, updated_at, unverified_by)
SELECT t.tenant_id, %(id)s, t.id, %(key)s, %(name)s, %(properties)s, %(classification)s, %(project_id)s, %(origin)s,
       t.version, %(by)s, %(by)s, %(now)s, %(now)s, %(unverified_by)s
  FROM entity_types t
 WHERE t.key = %(type)s
    ON CONFLICT DO NOTHING;

-- name: update_record
-- Give a record its next version.
UPDATE entities
   SET name = %(name)s, properties = %(properties)s, classification = %(classification)s,
       project_id = CASE WHEN %(moved)s THEN %(project_id)s::uuid ELSE project_id END,
       version = version + 1, updated_by = %(by)s, updated_at = %(now)s
 WHERE id = %(id)s;

-- name: sync_document_with_record
-- A document that is a record has the record's name and level, and so have its pieces.
WITH own AS (
    UPDATE documents SET title = %(name)s, classification = %(classification)s, updated_at = %(now)s
     WHERE own_entity_id = %(id)s AND (title, classification) <> (%(name)s, %(classification)s)
    RETURNING tenant_id, id
)
UPDATE context_rows r
   SET classification = %(classification)s, title = %(name)s
  FROM own
 WHERE (r.tenant_id, r.document_id) = (own.tenant_id, own.id);

-- name: restrict_rows
-- No row that names a record is more open than the record, and no file about it.
WITH closed AS (
    UPDATE files SET classification = %(classification)s
     WHERE entity_id = %(id)s AND classification < %(classification)s
)
UPDATE context_rows
   SET classification = %(classification)s
 WHERE (entity_id = %(id)s AND document_id IS NULL OR related_entity_id = %(id)s)
   AND classification < %(classification)s;

-- name: find_context_document_record
-- The record of a project's context document, which goes with the project.
SELECT own_entity_id AS id FROM documents WHERE project_id = %(id)s AND is_context;

-- name: find_linked_record_ids
-- What has a link with a record, besides those that are told of it as of a part of theirs.
SELECT DISTINCT o.id
  FROM edges d
  JOIN entities o ON o.id = CASE WHEN d.source_id = %(id)s THEN d.target_id ELSE d.source_id END
  JOIN entity_types t ON t.id = o.type_id
 WHERE (d.source_id = %(id)s OR d.target_id = %(id)s) AND o.deleted_at IS NULL
   AND (t.rag->>'children' IS DISTINCT FROM 'auto'
        OR NOT EXISTS (SELECT FROM record_parents p
                        WHERE p.child_id = %(id)s AND p.parent_id = o.id AND p.edge_id = d.id));

-- name: delete_records
-- Records are there no more.
UPDATE entities
   SET deleted_at = %(now)s, version = version + 1, updated_by = %(by)s, updated_at = %(now)s, stale_since = NULL,
       stale_causes = '{}', stale_marks = '{}'
 WHERE id = ANY(%(ids)s) AND deleted_at IS NULL;

-- name: delete_record_rows
-- What is searched of records goes with them, and so do documents about them: their own rows, those of their documents
-- and files, and what names them.
WITH unmarked AS (
    DELETE FROM pulse_marks WHERE entity_id = ANY(%(ids)s)
), gone AS (
    UPDATE documents SET deleted_at = %(now)s
     WHERE (own_entity_id = ANY(%(ids)s) OR entity_id = ANY(%(ids)s)) AND deleted_at IS NULL
    RETURNING id
)
DELETE FROM context_rows
 WHERE entity_id = ANY(%(ids)s)
    OR related_entity_id = ANY(%(ids)s)
    OR document_id IN (SELECT id FROM gone)
    OR file_id IN (SELECT f.id FROM files f WHERE f.entity_id = ANY(%(ids)s));

-- name: upsert_snapshot
-- Have a record described by this row alone; one that says the same stays, with its vector and its numbers.
WITH kept AS (
    UPDATE context_rows
       SET title = %(title)s, classification = %(classification)s, metadata = %(metadata)s
     WHERE entity_id = %(entity_id)s AND kind = 'snapshot' AND content_hash = %(content_hash)s
    RETURNING id
), gone AS (
    DELETE FROM context_rows
     WHERE entity_id = %(entity_id)s AND kind = 'snapshot' AND content_hash <> %(content_hash)s
)
INSERT INTO context_rows (tenant_id, id, entity_id, kind, ordinal, title, content, content_hash, classification,
                          metadata, pending, created_at)
SELECT current_tenant(), %(id)s, %(entity_id)s, 'snapshot', 0, %(title)s, %(content)s, %(content_hash)s,
       %(classification)s, %(metadata)s, true, %(now)s
 WHERE NOT EXISTS (SELECT FROM kept);

-- name: add_delta
-- Say what changed of a record; a row that waits for no vector is found by words.
INSERT INTO context_rows (tenant_id, id, entity_id, related_entity_id, kind, ordinal, title, content, content_hash,
                          classification, metadata, pending, created_at)
VALUES (current_tenant(), %(id)s, %(entity_id)s, %(other_id)s, 'delta', %(ordinal)s, %(title)s, %(content)s,
        %(content_hash)s, %(classification)s, %(metadata)s, %(pending)s, %(now)s);

-- name: find_change_by_origin
-- The row that says what a call has changed of a record, if it has.
SELECT id FROM context_rows
 WHERE entity_id = %(id)s AND kind = 'delta' AND metadata->>'origin' = %(origin)s
 LIMIT 1;

-- name: delete_snapshots_and_deltas
-- Records of a kind that is not to be searched lose what they were found by.
DELETE FROM context_rows WHERE entity_id = ANY(%(ids)s) AND kind IN ('snapshot', 'delta');

-- name: mark_stale
-- What some records' Pulses say is no longer so, nor what the Pulses of those say that they are a part of. A record whose
-- kind has no Pulses is left alone, and so is a conversation that was closed; a finding is news also where what belongs
-- to a record is not. A cause that is new to a record stands in it, and the first one says by when to look at it: neither
-- a later one nor a worker who is at it moves that, but for a record that was given up. One that is known already is
-- written down beside it (pulse_marks): who changes one part waits for nobody who changes another. What a record knows
-- is read under a lock that many share and that keeps it from being told of meanwhile. Locked in the order of ids.
WITH known AS (
    SELECT e.tenant_id, e.id FROM entities e WHERE e.id = ANY(%(ids)s)
), whole AS (
    SELECT p.parent_id AS id, p.child_id AS part
      FROM known k
      JOIN record_parents p ON (p.tenant_id, p.child_id) = (k.tenant_id, k.id)
), touched AS (
    SELECT k.id, %(cause)s::text AS cause, false AS above FROM known k WHERE %(cause)s::text IS NOT NULL
     UNION
    SELECT w.id, %(above)s, true FROM whole w WHERE w.id <> w.part AND %(above)s::text IS NOT NULL
), marks AS (
    SELECT m.id, array_agg(DISTINCT m.cause) AS causes,
           max(CASE WHEN jsonb_typeof(t.rag->'coalesce_seconds') = 'number'
                    THEN (t.rag->>'coalesce_seconds')::numeric ELSE %(window)s END) * interval '1 second' AS wait
      FROM touched m
      JOIN entities e ON e.id = m.id
      JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
     WHERE t.rag->>'pulse' = 'auto' AND (NOT m.above OR t.rag->>'children' = 'auto' OR m.cause = %(finding)s)
       AND (t.key <> %(talk)s OR (e.properties->>'state' = ANY(%(over)s::text[])) IS NOT TRUE)
     GROUP BY m.id
), held AS MATERIALIZED (
    SELECT e.tenant_id, e.id, e.stale_since, e.stale_causes, m.causes, m.wait
      FROM entities e
      JOIN marks m ON m.id = e.id
     WHERE e.deleted_at IS NULL
     ORDER BY e.id
       FOR KEY SHARE OF e
), adding AS MATERIALIZED (
    SELECT e.id, e.stale_since IS NULL AS is_first, e.stale_causes, h.causes, h.wait
      FROM entities e
      JOIN held h ON h.id = e.id
     WHERE NOT h.causes <@ h.stale_causes OR h.stale_since IS NULL
     ORDER BY e.id
       FOR NO KEY UPDATE OF e
), marked AS (
    UPDATE entities e
       SET stale_mark_count = e.stale_mark_count + 1,
           stale_since = coalesce(e.stale_since, %(now)s),
           stale_causes = e.stale_causes || ARRAY(SELECT cause FROM unnest(a.causes) AS cause
                                                   WHERE NOT cause = ANY(e.stale_causes)),
           stale_marks = CASE WHEN a.is_first THEN '{}' ELSE e.stale_marks END
               || (SELECT jsonb_object_agg(c.cause, coalesce(
                              CASE WHEN NOT a.is_first THEN e.stale_marks->c.cause END,
                              jsonb_build_object('since', %(now)s::timestamptz, 'first', e.stale_mark_count + 1)))
                     FROM unnest(a.causes) AS c (cause))
      FROM adding a
     WHERE e.id = a.id
    RETURNING e.tenant_id, e.id, e.stale_since + a.wait AS due_at, a.is_first
), again AS (
    INSERT INTO pulse_marks (tenant_id, entity_id, cause, at)
    SELECT h.tenant_id, h.id, c.cause, %(now)s
      FROM held h
     CROSS JOIN unnest(h.causes) AS c (cause)
      LEFT JOIN adding a ON a.id = h.id
     WHERE a.id IS NULL OR NOT a.is_first AND c.cause = ANY(a.stale_causes)
), dead AS (
    SELECT h.tenant_id, h.id, greatest(%(now)s::timestamptz + h.wait, s.problem_at + %(retry)s) AS due_at
      FROM held h
      JOIN pulse_states s ON s.entity_id = h.id AND s.given_up_at IS NOT NULL
      JOIN work_due w ON (w.tenant_id, w.kind, w.id) = (h.tenant_id, 'pulse', h.id)
     WHERE w.due_at > greatest(%(now)s::timestamptz + h.wait, s.problem_at + %(retry)s) AND w.leased_until IS NULL
), looked AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT h.tenant_id, 'pulse', h.id, coalesce(h.stale_since, %(now)s) + h.wait
      FROM held h
     WHERE NOT EXISTS (SELECT FROM adding a WHERE a.id = h.id) AND NOT EXISTS (SELECT FROM dead d WHERE d.id = h.id)
     ORDER BY h.id
        ON CONFLICT DO NOTHING
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT coalesce(m.tenant_id, d.tenant_id), 'pulse', coalesce(m.id, d.id), coalesce(d.due_at, m.due_at)
  FROM marked m
  FULL JOIN dead d ON d.id = m.id
 ORDER BY 3
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at
 WHERE work_due.leased_until IS NULL AND work_due.due_at > EXCLUDED.due_at
   AND (EXISTS (SELECT FROM marked m WHERE m.id = work_due.id AND m.is_first)
        OR EXISTS (SELECT FROM dead d WHERE d.id = work_due.id));

-- name: expedite_pulse
-- Look at a record's Pulses at once, whatever they wait for; a worker who is at them is not disturbed.
UPDATE work_due SET due_at = %(now)s
 WHERE tenant_id = current_tenant() AND kind = 'pulse' AND id = %(id)s AND due_at > %(now)s
   AND (leased_until IS NULL OR leased_until <= %(now)s);

-- name: read_stale_marks
-- What a record's Pulses do not tell of, and how many marks there were up to now and up to the last writing.
SELECT stale_mark_count, reflected_mark_count, stale_since, stale_causes, stale_marks FROM entities WHERE id = %(id)s AND deleted_at IS NULL;

-- name: merge_side_marks
-- What was written down beside a record since it was last read is counted in it: whoever reads it now has read that.
WITH held AS (
    SELECT id FROM entities WHERE id = %(id)s AND deleted_at IS NULL FOR NO KEY UPDATE
), beside AS (
    DELETE FROM pulse_marks m USING held h WHERE m.entity_id = h.id RETURNING m.cause, m.at
), by_cause AS (
    SELECT cause, min(at) AS at, count(*) AS marks FROM beside GROUP BY cause
)
UPDATE entities e
   SET stale_mark_count = e.stale_mark_count + (SELECT sum(marks) FROM by_cause),
       stale_since = least(e.stale_since, (SELECT min(at) FROM by_cause)),
       stale_causes = e.stale_causes || ARRAY(SELECT cause FROM by_cause
                                               WHERE NOT cause = ANY(e.stale_causes) ORDER BY at, cause),
       stale_marks = e.stale_marks
           || (SELECT jsonb_object_agg(c.cause, jsonb_build_object(
                          'since', least(c.at, (e.stale_marks->c.cause->>'since')::timestamptz),
                          'first', coalesce((e.stale_marks->c.cause->>'first')::bigint, e.stale_mark_count + 1)))
                 FROM by_cause c)
  FROM held h
 WHERE e.id = h.id AND EXISTS (SELECT FROM by_cause);

-- name: try_lock_unmarked
-- Keep a record from being marked until the transaction ends, unless somebody is just marking it.
SELECT id FROM entities WHERE id = %(id)s FOR UPDATE SKIP LOCKED;

-- name: acknowledge_marks
-- A record's Pulses tell of every mark up to one; of what came up later the causes stay, with the time at which they
-- first did after that. Whoever is just marking it for a cause that is told of now (is_quiet says that nobody is) is
-- taken to have done so, and is counted once more when that is committed.
WITH held AS (
    SELECT e.id, e.stale_mark_count, e.stale_marks, e.stale_causes
      FROM entities e
     WHERE e.id = %(id)s AND e.deleted_at IS NULL
       FOR NO KEY UPDATE
), beside AS (
    DELETE FROM pulse_marks m USING held h WHERE m.entity_id = h.id RETURNING m.cause, m.at
), later AS (
    SELECT m.key AS cause, (m.value->>'since')::timestamptz AS since, 0 AS marks
      FROM held h, jsonb_each(h.stale_marks) AS m
     WHERE (m.value->>'first')::bigint > %(told)s
     UNION ALL
    SELECT cause, at, 1 FROM beside
     UNION ALL
    SELECT c.cause, %(read_at)s, 1
      FROM held h, unnest(h.stale_causes) AS c (cause)
     WHERE NOT %(is_quiet)s AND c.cause <> ALL('{age,manual}')
), by_cause AS (
    SELECT l.cause, min(l.since) AS since, sum(l.marks) AS marks,
           coalesce((SELECT (h.stale_marks->l.cause->>'first')::bigint FROM held h
                      WHERE (h.stale_marks->l.cause->>'first')::bigint > %(told)s),
                    (SELECT greatest(h.stale_mark_count, %(told)s) + 1 FROM held h)) AS first,
           (SELECT array_position(h.stale_causes, l.cause) FROM held h) AS place
      FROM later l
     GROUP BY l.cause
), kept AS (
    SELECT h.id, min(l.since) AS since, coalesce(sum(l.marks), 0) AS marks,
           coalesce(array_agg(l.cause ORDER BY l.place, l.since) FILTER (WHERE l.cause IS NOT NULL), '{}') AS causes,
           coalesce(jsonb_object_agg(l.cause, jsonb_build_object('since', l.since, 'first', l.first))
                        FILTER (WHERE l.cause IS NOT NULL), '{}') AS stale_marks
      FROM held h
      LEFT JOIN by_cause l ON true
     GROUP BY h.id
)
UPDATE entities e
   SET stale_mark_count = e.stale_mark_count + k.marks, reflected_mark_count = greatest(e.reflected_mark_count, %(told)s), stale_since = k.since,
       stale_causes = k.causes, stale_marks = k.stale_marks
  FROM kept k
 WHERE e.id = k.id
RETURNING e.stale_since;

-- name: list_records
-- plan: custom
-- Records that a reader of some clearance may see, the newest change first, from behind a place on. Their projects are
-- looked up for the page alone: for every record of the tenant, each might be looked for among all of them.
WITH page AS MATERIALIZED (
    SELECT e.id, t.key AS type, t.display_name AS type_name, e.key, e.name, e.properties, e.classification,
           e.tenant_id, e.project_id, e.version, e.created_at, e.updated_at, e.created_by, e.updated_by,
           e.stale_since, e.stale_causes, e.unverified_by
      FROM entities e
      JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
     WHERE e.deleted_at IS NULL
       AND e.classification <= %(clearance)s
       AND (%(type)s::text IS NULL OR e.type_id = (SELECT k.id FROM entity_types k WHERE k.key = %(type)s))
       AND (%(project_id)s::uuid IS NULL OR e.project_id = %(project_id)s)
       AND NOT EXISTS (SELECT FROM jsonb_each_text(%(where)s) AS asked (name, value)
                        WHERE e.properties->>asked.name IS DISTINCT FROM asked.value)
       AND (%(text)s = '' OR strpos(lower(e.name || ' ' || e.key), lower(%(text)s)) > 0)
       AND (NOT %(only_unverified)s OR e.unverified_by IS NOT NULL)
       AND (%(after_at)s::timestamptz IS NULL
            OR e.updated_at < %(after_at)s
            OR e.updated_at = %(after_at)s AND (t.key || '/' || e.key) COLLATE "C" > %(after_handle)s)
     ORDER BY e.updated_at DESC, (t.key || '/' || e.key) COLLATE "C"
     LIMIT %(most)s
)
SELECT e.id, e.type, e.type_name, e.key, e.name, e.properties, e.classification,
       home.id AS project_id, home.handle AS project, e.version, e.created_at, e.updated_at,
       e.created_by, e.updated_by, e.stale_since, e.stale_causes, e.unverified_by
  FROM page e
  LEFT JOIN LATERAL (
      SELECT p.id, pt.key || '/' || p.key AS handle
        FROM entities p
        JOIN entity_types pt ON (pt.tenant_id, pt.id) = (p.tenant_id, p.type_id)
       WHERE (p.tenant_id, p.id) = (e.tenant_id, e.project_id)
         AND p.deleted_at IS NULL AND p.classification <= %(clearance)s
       LIMIT 1) home ON true
 ORDER BY e.updated_at DESC, (e.type || '/' || e.key) COLLATE "C";

-- name: find_records_to_backfill
-- Some records whose rows were made from another version of their type, nobody else being at them.
SELECT e.id, t.key AS type, e.key, e.name, e.properties, e.classification, false AS is_deleted, NULL AS project
  FROM entity_types t
  JOIN entities e ON (e.tenant_id, e.type_id) = (t.tenant_id, t.id)
 WHERE t.id = %(type_id)s AND e.snapshot_type_version <> t.version AND e.deleted_at IS NULL
 ORDER BY e.id
 LIMIT %(most)s
   FOR NO KEY UPDATE OF e SKIP LOCKED;

-- name: mark_backfilled
-- The rows of these records are made from their type as it is.
UPDATE entities SET snapshot_type_version = %(version)s WHERE id = ANY(%(ids)s);

-- name: complete_backfill
-- Nobody has to look at a type again of which no record is left whose rows were made from another version.
DELETE FROM work_due w
 WHERE w.tenant_id = current_tenant() AND w.kind = 'record_type' AND w.id = %(type_id)s
   AND NOT EXISTS (
       SELECT FROM entity_types t
         JOIN entities e ON (e.tenant_id, e.type_id) = (t.tenant_id, t.id)
        WHERE t.id = %(type_id)s AND e.snapshot_type_version <> t.version AND e.deleted_at IS NULL
   );

-- name: stored_edges
-- The links that leave some entities.
SELECT source_id, target_id, relation FROM edges WHERE source_id = ANY(%(source_ids)s);

-- name: links_between
-- Those of the named links that exist between living records.
SELECT w.source_type, w.source_key, w.target_type, w.target_key, w.relation
  FROM unnest(%(source_types)s::text[], %(source_keys)s::text[], %(target_types)s::text[], %(target_keys)s::text[],
              %(relations)s::text[]) AS w (source_type, source_key, target_type, target_key, relation)
  JOIN entity_types st ON st.key = w.source_type
  JOIN entities s ON (s.tenant_id, s.type_id, s.key) = (st.tenant_id, st.id, w.source_key) AND s.deleted_at IS NULL
  JOIN entity_types tt ON tt.key = w.target_type
  JOIN entities t ON (t.tenant_id, t.type_id, t.key) = (tt.tenant_id, tt.id, w.target_key) AND t.deleted_at IS NULL
  JOIN edges d ON (d.tenant_id, d.source_id, d.target_id, d.relation) = (s.tenant_id, s.id, t.id, w.relation);

-- name: add_edge
-- Link two entities.
INSERT INTO edges (tenant_id, id, source_id, target_id, relation, created_at)
VALUES (current_tenant(), %(id)s, %(source_id)s, %(target_id)s, %(relation)s, %(now)s)
    ON CONFLICT (tenant_id, source_id, target_id, relation) DO NOTHING;

-- name: find_link_by_origin
-- The link that a call made.
SELECT d.source_id, d.target_id, d.relation FROM edges d WHERE d.origin = %(origin)s;

-- name: add_link
-- Link two records; nothing happens when they are linked so already.
INSERT INTO edges (tenant_id, id, source_id, target_id, relation, created_by, origin, created_at)
VALUES (current_tenant(), %(id)s, %(source_id)s, %(target_id)s, %(relation)s, %(by)s, %(origin)s, %(now)s)
    ON CONFLICT DO NOTHING;

-- name: delete_link
-- Take a link away.
DELETE FROM edges WHERE source_id = %(source_id)s AND target_id = %(target_id)s AND relation = %(relation)s;

-- name: relations_in_use
-- Every relation that the tenant's links have, as far as a reader of some clearance may see both ends.
SELECT DISTINCT d.relation AS name
  FROM edges d
  JOIN entities s ON (s.tenant_id, s.id) = (d.tenant_id, d.source_id) AND s.deleted_at IS NULL
  JOIN entities t ON (t.tenant_id, t.id) = (d.tenant_id, d.target_id) AND t.deleted_at IS NULL
 WHERE greatest(s.classification, t.classification) <= %(clearance)s
 ORDER BY d.relation;

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

-- name: read_last_write
-- The mark of whoever wrote the tenant's records last, if anybody did, and whether it covers all that this transaction
-- sees.
SELECT transaction_id::text AS transaction_id, pg_current_xact_id_if_assigned() IS NULL AS is_cacheable FROM record_writes;

-- name: read_linked_records
-- One record (by id, or by type and key) that a reader may see, and the records that one edge links it to: how many of
-- each kind, and those asked for, the active first, then the newest. Documents about it that are no records of their
-- own count as linked; scratch documents do not, nor other teams'. The mark (see record_mark) comes with it, so that
-- it belongs to what was read. What is joined is gathered first: a plan made without statistics is no disaster then.
WITH focus AS MATERIALIZED (
    SELECT e.id, e.key, e.name, e.properties, e.classification, t.key AS type, t.display_name AS type_name,
           t.properties AS type_properties, t.rag
      FROM entities e
      JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
     WHERE e.id = COALESCE(%(id)s::uuid,
                  (SELECT n.id FROM entity_types k JOIN entities n ON (n.tenant_id, n.type_id) = (k.tenant_id, k.id)
                    WHERE k.key = %(type)s AND n.key = %(key)s))
       AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
), near AS MATERIALIZED (
    SELECT target_id AS other, relation, 'outgoing' AS direction FROM edges WHERE source_id = (SELECT id FROM focus)
     UNION ALL
    SELECT source_id, relation, 'incoming' FROM edges WHERE target_id = (SELECT id FROM focus)
), about AS MATERIALIZED (
    SELECT d.id, d.own_entity_id, d.key, d.title, d.created_at, d.is_context, NULLIF(d.description, '') AS description,
           d.deleted_at IS NULL AND d.classification <= %(clearance)s AND d.kind <> ALL(%(scratch)s::text[])
           AND (d.team_id IS NULL OR d.team_id IS NOT DISTINCT FROM %(team_id)s::uuid OR %(sees_teams)s) AS is_open
      FROM documents d
     WHERE d.own_entity_id = ANY(ARRAY(SELECT other FROM near UNION ALL SELECT id FROM focus))
        OR (d.entity_id = (SELECT id FROM focus) AND d.own_entity_id IS NULL)
), closed AS MATERIALIZED (
    SELECT array_agg(own_entity_id) AS ids FROM about WHERE NOT is_open AND own_entity_id IS NOT NULL
), found AS MATERIALIZED (
    SELECT e.id, t.key AS type, t.display_name AS type_name, e.key, e.name, e.properties, s.state, e.created_at,
           COALESCE(lower(translate(s.state, ' -', '__')) = ANY(%(active)s::text[]), false) AS is_active
      FROM entities e
      JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
      LEFT JOIN LATERAL (
          SELECT e.properties->>p.name AS state
            FROM jsonb_array_elements_text(
                     CASE jsonb_typeof(t.rag->'status_properties') WHEN 'array' THEN t.rag->'status_properties'
                                                                  ELSE '[]' END || '["status", "state"]')
                 WITH ORDINALITY AS p (name, place)
           WHERE e.properties->>p.name <> ''
           ORDER BY p.place
           LIMIT 1) s ON true
     WHERE e.id = ANY(ARRAY(SELECT other FROM near))
       AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
       AND e.id <> ALL(COALESCE((SELECT ids FROM closed), '{}'))
       AND NOT (t.key = 'document'
                AND (lower(COALESCE(s.state, '')) = ANY(%(scratch)s::text[])
                     OR COALESCE(e.properties->>'kind', '') = ANY(%(scratch)s::text[])
                     OR split_part(COALESCE(e.properties->>'type_key', ''), '.', 2) = ANY(%(scratch)s::text[])))
     UNION ALL
    SELECT d.id, 'document', COALESCE((SELECT k.display_name FROM entity_types k WHERE k.key = 'document'), 'Document'),
           d.key, d.title, '{}', NULL, d.created_at, false
      FROM about d
     WHERE d.own_entity_id IS NULL AND d.is_open
), kinds AS MATERIALIZED (
    SELECT type, max(type_name) AS type_name, count(*) AS total, array_position(%(kinds)s::text[], type) AS place
      FROM found
     GROUP BY type
), placed AS (
    SELECT n.*, row_number() OVER (PARTITION BY n.type
                                   ORDER BY n.is_active DESC, n.created_at DESC, n.key COLLATE "C", n.id) AS of_kind,
           row_number() OVER (ORDER BY array_position(%(kinds)s::text[], n.type) NULLS LAST, n.type, n.is_active DESC,
                                       n.created_at DESC, n.key COLLATE "C", n.id) AS place
      FROM found n
     WHERE %(kind)s::text IS NULL OR n.type = %(kind)s::text
), shown AS (
    SELECT n.type, n.type_name, n.key, n.name, n.state, n.place,
           COALESCE((SELECT jsonb_agg(jsonb_build_array(w.relation, w.direction) ORDER BY w.direction DESC, w.relation)
                       FROM near w WHERE w.other = n.id), '[["about", "incoming"]]') AS relations,
           COALESCE(n.properties->>'type_key', n.properties->>'kind') AS type_key,
           (SELECT n.properties->>due.name
              FROM unnest(%(due)s::text[]) WITH ORDINALITY AS due (name, place)
             WHERE n.properties->>due.name <> ''
             ORDER BY due.place
             LIMIT 1) AS due,
           COALESCE(d.description, n.properties->>'description') AS description,
           COALESCE(d.is_context, false) AS is_context
      FROM placed n
      LEFT JOIN about d ON n.type = 'document' AND COALESCE(d.own_entity_id, d.id) = n.id
     WHERE n.of_kind <= %(per_kind)s AND n.place > %(skip)s AND n.place <= %(skip)s::bigint + %(most)s
)
SELECT COALESCE((SELECT transaction_id::text FROM record_writes), '') AS transaction_id,
       pg_current_xact_id_if_assigned() IS NULL AS is_cacheable,
       f.id, COALESCE(f.type, '') AS type, COALESCE(f.type_name, '') AS type_name,
       COALESCE(f.key, '') AS key, COALESCE(f.name, '') AS name, COALESCE(f.properties, '{}') AS properties,
       COALESCE(f.classification, 0) AS classification, COALESCE(f.type_properties, '{}') AS type_properties,
       COALESCE(f.rag, '{}') AS rag,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('key', k.type, 'name', k.type_name, 'total', k.total)
                                  ORDER BY k.place NULLS LAST, k.type) FROM kinds k), '[]') AS types,
       COALESCE((SELECT jsonb_agg(to_jsonb(s) ORDER BY s.place) FROM shown s), '[]') AS records
  FROM (SELECT) one
  LEFT JOIN focus f ON f.id <> ALL(COALESCE((SELECT ids FROM closed), '{}'));

-- name: tombstone_files
-- Delete files, by their ids or by the records that they are about. Of each are left its id and its count of versions,
-- which say where its bytes are, until the worker has taken those when no form for them is good any more. Its words go
-- from the messages that they were sent along with, too.
WITH buried AS (
    UPDATE files
       SET entity_id = NULL, team_id = NULL, name = '', object_key = '', size_bytes = 0, sha256 = NULL,
           state = 'failed', problem = NULL, pages = NULL, tokens = NULL, chunks = NULL, created_by = '',
           updated_at = %(now)s
     WHERE id = ANY(%(ids)s) OR entity_id = ANY(%(record_ids)s)
    RETURNING tenant_id, id
), untold AS (
    UPDATE attachments a SET body = NULL FROM buried b WHERE (a.tenant_id, a.file_id) = (b.tenant_id, b.id)
)
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT tenant_id, 'file', id, %(due_at)s FROM buried
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at;

-- name: accept_record
-- A member accepts what a user created: it is everybody's from now on, with all that is searched of it.
WITH accepted AS (
    UPDATE entities SET unverified_by = NULL, version = version + 1, updated_by = %(by)s, updated_at = %(now)s
     WHERE id = %(id)s AND unverified_by IS NOT NULL
    RETURNING tenant_id, id
), papers AS (
    UPDATE documents d SET unverified_by = NULL FROM accepted a WHERE (d.tenant_id, d.own_entity_id) = (a.tenant_id, a.id)
), found AS (
    UPDATE context_rows r SET unverified_by = NULL
      FROM accepted a
     WHERE r.tenant_id = a.tenant_id AND (r.entity_id = a.id OR r.related_entity_id = a.id)
       AND NOT EXISTS (SELECT FROM entities o
                        WHERE o.tenant_id = r.tenant_id AND o.id IN (r.entity_id, r.related_entity_id) AND o.id <> a.id
                          AND o.unverified_by IS NOT NULL)
)
SELECT id FROM accepted;

-- name: find_citation_targets
-- Where cited sources are, as far as a reader may see that: in which record, document, file or message, on which page and
-- under which heading.
WITH named AS MATERIALIZED (
    SELECT one AS source_id, split_part(one, '/', 1) AS place, substr(one, strpos(one, '/') + 1) AS id
      FROM unnest(%(rows)s::text[]) AS one
), known AS MATERIALIZED (
    SELECT source_id, place, id::uuid AS id FROM named WHERE place IN ('entities', 'documents', 'files', 'context_rows')
), found AS (
    SELECT k.source_id, k.id AS entity_id, NULL::uuid AS document_id, NULL::uuid AS file_id, NULL AS page,
           NULL AS heading, NULL::uuid AS session_id, NULL::uuid AS message_id
      FROM known k WHERE k.place = 'entities'
     UNION ALL SELECT k.source_id, NULL, k.id, NULL, NULL, NULL, NULL, NULL FROM known k WHERE k.place = 'documents'
     UNION ALL
    SELECT k.source_id, f.entity_id, NULL, f.id, NULL, NULL, NULL, NULL
      FROM known k JOIN files f ON f.id = k.id
     WHERE k.place = 'files'
     UNION ALL
    SELECT k.source_id, r.entity_id, r.document_id, r.file_id, r.metadata->>'page', r.metadata->>'heading',
           r.session_id, r.message_id
      FROM known k
      JOIN context_rows r ON r.id = k.id AND r.classification <= %(clearance)s
     WHERE k.place = 'context_rows'
)
SELECT f.source_id, t.key AS type, e.key, d.key AS document, l.id AS file_id, f.page, f.heading, f.session_id, f.message_id
  FROM found f
  LEFT JOIN entities e ON e.id = f.entity_id AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
  LEFT JOIN entity_types t ON t.id = e.type_id
  LEFT JOIN documents d ON d.id = f.document_id AND d.deleted_at IS NULL AND d.classification <= %(clearance)s
  LEFT JOIN files l ON l.id = f.file_id AND l.classification <= %(clearance)s
 WHERE num_nonnulls(e.id, d.id, l.id, f.message_id) > 0;
