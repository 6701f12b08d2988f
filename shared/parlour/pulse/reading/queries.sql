-- name: find_pulse_view
-- A record that is there for its reader, whether its kind keeps Pulses, why they are stale, and the fullest Pulse that the
-- reader may see. One that was written from something that stands above its level by now is withheld, until it is
-- written anew; one below the record's own level is none of the record's any more.
SELECT e.id, e.name, t.key || '/' || e.key AS handle, t.rag->>'pulse' = 'auto' AS has_pulses, e.stale_since,
       e.stale_causes, e.stale_marks, s.problem, s.problem_at, s.failed_level, coalesce(s.failures, 0) AS failures, s.given_up_at,
       s.waiting_for, w.due_at, to_jsonb(p.*) AS pulse,
       p.level IS NULL AND EXISTS (SELECT FROM pulses o WHERE o.entity_id = e.id AND o.level <= %(clearance)s)
           AS is_withheld,
       EXISTS (SELECT FROM pulses o WHERE o.entity_id = e.id AND o.level <= %(clearance)s
                                      AND has_source_above_level(o.source_ids, o.level)) AS has_restricted_level
  FROM entities e
  JOIN entity_types t ON t.id = e.type_id
  LEFT JOIN pulse_states s ON s.entity_id = e.id
  LEFT JOIN work_due w ON (w.tenant_id, w.kind, w.id) = (e.tenant_id, 'pulse', e.id)
  LEFT JOIN LATERAL (SELECT o.level, o.version, o.markdown, o.statements, o.citations, o.source_ids, o.fingerprint,
                            o.model, o.cost_usd::text, o.sources_read_at, o.generated_at, o.checked_at
                       FROM pulses o
                      WHERE o.entity_id = e.id AND o.level BETWEEN e.classification AND %(clearance)s
                        AND NOT has_source_above_level(o.source_ids, o.level)
                      ORDER BY o.level DESC
                      LIMIT 1) p ON true
 WHERE e.id = %(id)s AND e.deleted_at IS NULL AND e.classification <= %(clearance)s;

-- name: list_changes_since
-- What happened to a record after a moment, and to what belongs to it, as far as a reader may see it: of each cause the
-- newest few, how many there are, and when the first of them was. told: files that the Pulse was written from.
WITH part AS MATERIALIZED (
    SELECT DISTINCT child_id AS id FROM record_parents WHERE parent_id = %(id)s
), happened AS (
    SELECT CASE WHEN o.id IS NOT NULL THEN 'finding_created'
                WHEN r.content LIKE '%%): linked: %%' OR r.content LIKE '%%): unlinked: %%' THEN 'link_changed'
                ELSE 'changed' END AS cause, coalesce(o.name, r.title) AS title,
           CASE WHEN o.id IS NULL THEN r.content ELSE '' END AS content, r.created_at AS changed_at,
           ARRAY['context_rows/' || r.id] AS source_ids, r.classification AS level
      FROM context_rows r
      LEFT JOIN (entities o JOIN entity_types k ON k.id = o.type_id AND k.key = %(finding)s)
        ON o.id = r.related_entity_id AND o.created_at = r.created_at AND o.classification <= %(clearance)s
     WHERE r.entity_id = %(id)s AND r.kind = 'delta' AND r.created_at > %(since)s
       AND r.classification <= %(clearance)s
     UNION ALL
    SELECT CASE WHEN t.key = %(finding)s AND r.ordinal = 1 THEN 'finding_created' ELSE 'child_changed' END, r.title,
           r.content, r.created_at, ARRAY['context_rows/' || r.id, 'entities/' || e.id],
           greatest(r.classification, e.classification)
      FROM part p
      JOIN entities e ON e.id = p.id AND e.id <> %(id)s AND e.deleted_at IS NULL AND e.classification <= %(clearance)s
      JOIN entity_types t ON t.id = e.type_id
      JOIN context_rows r ON r.entity_id = e.id AND r.kind = 'delta' AND r.created_at > %(since)s
     WHERE r.classification <= %(clearance)s
     UNION ALL
    SELECT 'child_changed', e.name, '[] deleted, by ', e.deleted_at, '{}', e.classification
      FROM part p
      JOIN entities e ON e.id = p.id
     WHERE e.deleted_at > %(since)s AND e.classification <= %(clearance)s
     UNION ALL
    SELECT DISTINCT 'link_changed', o.name, '[] ' || o.name || ' deleted, by ', o.deleted_at, '{}'::text[], o.classification
      FROM edges d
      JOIN entities o ON o.id = CASE WHEN d.source_id = %(id)s THEN d.target_id ELSE d.source_id END
     WHERE (d.source_id = %(id)s OR d.target_id = %(id)s)
       AND o.deleted_at > %(since)s AND o.classification <= %(clearance)s
       AND NOT (o.id IN (SELECT id FROM part)
                AND EXISTS (SELECT FROM entities e
                              JOIN entity_types t ON t.id = e.type_id AND t.rag->>'children' = 'auto'
                             WHERE e.id = %(id)s))
     UNION ALL
    SELECT 'file_ingested', f.name, '', f.updated_at, ARRAY['files/' || f.id], f.classification
      FROM files f
     WHERE f.entity_id = %(id)s AND f.state IN ('embedding', 'ready') AND f.updated_at > %(since)s
       AND f.classification <= %(clearance)s AND f.team_id IS NULL
     UNION ALL
    SELECT 'file_deleted', '', '', coalesce(f.updated_at, %(since)s), '{}', coalesce(f.classification, 0)
      FROM unnest(%(told)s::uuid[]) AS k (id)
      LEFT JOIN files f ON f.id = k.id
     WHERE f.id IS NULL OR f.object_key = ''
     UNION ALL
    SELECT 'document_changed', d.title, '', coalesce(d.deleted_at, d.updated_at),
           CASE WHEN d.deleted_at IS NULL THEN ARRAY['documents/' || d.id] ELSE '{}' END, d.classification
      FROM documents d
     WHERE (d.entity_id = %(id)s OR d.own_entity_id = %(id)s OR d.project_id = %(id)s)
       AND (d.updated_at > %(since)s OR d.deleted_at > %(since)s)
       AND d.classification <= %(clearance)s AND d.team_id IS NULL
), counted AS (
    SELECT h.cause, h.title, h.content, h.changed_at, h.source_ids, max(h.level) OVER mine AS level, count(*) OVER mine AS total,
           min(changed_at) OVER mine AS first_at,
           row_number() OVER (PARTITION BY cause ORDER BY changed_at DESC, title, content) AS place
      FROM happened h
    WINDOW mine AS (PARTITION BY cause)
)
SELECT cause, title, content, changed_at, total, first_at, source_ids, level
  FROM counted
 WHERE place <= %(each)s
 ORDER BY changed_at DESC, cause, place;

-- name: record_read
-- Somebody looked at a record's Pulse: what it is worth to have it fresh, and how long the oldest change had waited. Days
-- are locked before states, as writers do it.
WITH looked AS (
    INSERT INTO pulse_days (tenant_id, day, entity_id, reads, stale_reads, stale_seconds, max_stale_seconds)
    SELECT e.tenant_id, %(day)s, e.id, 1, (waited > 0)::int, waited, waited
      FROM entities e
      JOIN entity_types t ON t.id = e.type_id AND t.rag->>'pulse' = 'auto',
           LATERAL (SELECT greatest(0, coalesce(extract(epoch FROM %(now)s - e.stale_since), 0)) AS waited) w
     WHERE e.id = %(id)s
        ON CONFLICT (tenant_id, day, entity_id) DO UPDATE
       SET reads = pulse_days.reads + 1,
           stale_reads = pulse_days.stale_reads + EXCLUDED.stale_reads,
           stale_seconds = pulse_days.stale_seconds + EXCLUDED.stale_seconds,
           max_stale_seconds = greatest(pulse_days.max_stale_seconds, EXCLUDED.max_stale_seconds)
    RETURNING tenant_id, entity_id
)
INSERT INTO pulse_states (tenant_id, entity_id, decayed_reads, reads_counted_at)
SELECT tenant_id, entity_id, 1, %(now)s FROM looked
    ON CONFLICT (tenant_id, entity_id) DO UPDATE
   SET decayed_reads = 1 + pulse_states.decayed_reads
                   * power(0.5, greatest(0, coalesce(extract(epoch FROM %(now)s - pulse_states.reads_counted_at), 0)
                                            / extract(epoch FROM %(half)s::interval))),
       reads_counted_at = %(now)s;

-- name: list_versions
-- The texts that a record's Pulse of one level had, the newest first; none that was written from something that stands
-- above the level by now.
SELECT v.level, v.version, v.markdown, v.statements, v.citations, v.model, v.cost_usd, v.causes, v.mark_count, v.generated_at
  FROM pulse_versions v
 WHERE v.entity_id = %(id)s AND v.level = %(level)s AND NOT has_source_above_level(v.source_ids, v.level)
   AND (%(versions)s::int[] IS NULL OR v.version = ANY(%(versions)s::int[]))
   AND (%(before)s::int IS NULL OR v.version < %(before)s)
 ORDER BY v.version DESC
 LIMIT %(most)s;

-- name: add_question
-- Somebody asks about a record.
INSERT INTO pulse_questions (tenant_id, id, entity_id, question, asked_by, level, asked_at)
SELECT tenant_id, %(question_id)s, id, %(question)s, %(by)s, %(clearance)s, %(now)s
  FROM entities
 WHERE id = %(entity_id)s
    ON CONFLICT DO NOTHING;

-- name: find_answer
-- A question of the reader's own, with its answer unless it was written from something that the reader may not see now.
SELECT q.id, q.question, q.asked_at, q.answered_at, q.problem, q.model, q.cost_usd,
       NOT is_visible AS is_withheld,
       CASE WHEN is_visible THEN q.markdown ELSE '' END AS markdown,
       CASE WHEN is_visible THEN q.citations ELSE '[]' END AS citations
  FROM pulse_questions q
  JOIN entities e ON e.id = q.entity_id AND e.deleted_at IS NULL AND e.classification <= %(clearance)s,
       LATERAL (SELECT q.level <= %(clearance)s AND NOT has_source_above_level(q.source_ids, %(clearance)s) AS is_visible) o
 WHERE q.id = %(question_id)s AND q.entity_id = %(entity_id)s AND q.asked_by = %(by)s;

-- name: list_days
-- What became of the tenant's Pulses, day by day, and how many records they were of.
SELECT day, count(*) AS record_count, sum(regenerated) AS regenerated, sum(skipped) AS skipped, sum(coalesced) AS coalesced,
       sum(failed) AS failed, sum(reads) AS reads, sum(stale_reads) AS stale_reads,
       sum(stale_seconds) AS stale_seconds, max(max_stale_seconds) AS max_stale_seconds, sum(cost_usd) AS cost_usd
  FROM pulse_days
 WHERE day > %(day)s::date - %(days)s::int AND day <= %(day)s
 GROUP BY day
 ORDER BY day DESC;

-- name: list_most_expensive
-- The records whose Pulses cost most.
SELECT t.key || '/' || e.key AS handle, e.name, sum(d.regenerated) AS regenerated, sum(d.skipped) AS skipped,
       sum(d.reads) AS reads, sum(d.cost_usd) AS cost_usd
  FROM pulse_days d
  JOIN entities e ON e.id = d.entity_id AND e.deleted_at IS NULL
  JOIN entity_types t ON t.id = e.type_id
 WHERE d.day > %(day)s::date - %(days)s::int AND d.day <= %(day)s
 GROUP BY t.key, e.key, e.name
 ORDER BY sum(d.cost_usd) DESC, sum(d.regenerated) DESC, t.key, e.key
 LIMIT %(most)s;

-- name: read_current_statistics
-- How the tenant's Pulses stand: what they cost on a day of what they may, how many are due, since when, and what the
-- others wait for.
SELECT t.pulse_daily_cap_usd AS own_cap_usd,
       (SELECT coalesce(sum(cost_usd), 0) FROM pulse_days WHERE day = %(day)s) AS spent_usd,
       (SELECT count(DISTINCT entity_id) FROM pulses) AS record_count,
       w.due_count, w.due_since, s.over_budget_count, s.backing_off_count, s.given_up_count
  FROM tenants t
 CROSS JOIN LATERAL (SELECT count(*) AS due_count, min(due_at) AS due_since FROM work_due
                      WHERE tenant_id = t.tenant_id AND kind = 'pulse' AND due_at <= %(now)s) w
 CROSS JOIN (SELECT count(*) FILTER (WHERE waiting_for = 'budget') AS over_budget_count,
                    count(*) FILTER (WHERE waiting_for = 'backoff') AS backing_off_count,
                    count(*) FILTER (WHERE given_up_at IS NOT NULL) AS given_up_count FROM pulse_states) s;
