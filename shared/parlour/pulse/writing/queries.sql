-- name: read_fingerprints
-- What a record's Pulses were written from, by level.
SELECT level, fingerprint FROM pulses WHERE entity_id = %(id)s;

-- name: add_pulse_text
-- A Pulse has a new text, which is also kept as a version of it; versions go on counting where a level had none meanwhile.
WITH made AS (
    INSERT INTO pulse_versions (tenant_id, entity_id, level, version, markdown, statements, citations, source_ids,
                                fingerprint, provider, model, cost_usd, causes, mark_count, generated_at)
    SELECT current_tenant(), %(id)s, %(level)s,
           1 + coalesce((SELECT max(v.version) FROM pulse_versions v WHERE v.entity_id = %(id)s AND v.level = %(level)s), 0),
           %(markdown)s, %(statements)s, %(citations)s, %(told_of)s, %(fingerprint)s, %(provider)s, %(model)s,
           %(cost_usd)s, %(causes)s, %(marks)s, %(generated_at)s
    RETURNING version
)
INSERT INTO pulses (tenant_id, entity_id, level, version, markdown, statements, citations, source_ids, rejected_statements, fingerprint,
                    prompt_version, provider, model, cost_usd, sources_read_at, generated_at, checked_at)
SELECT current_tenant(), %(id)s, %(level)s, version, %(markdown)s, %(statements)s, %(citations)s, %(told_of)s, %(dropped)s,
       %(fingerprint)s, %(prompt_version)s, %(provider)s, %(model)s, %(cost_usd)s, %(read_at)s, %(generated_at)s,
       %(read_at)s
  FROM made
    ON CONFLICT (tenant_id, entity_id, level) DO UPDATE
   SET version = EXCLUDED.version, markdown = EXCLUDED.markdown, statements = EXCLUDED.statements,
       citations = EXCLUDED.citations, source_ids = EXCLUDED.source_ids, rejected_statements = EXCLUDED.rejected_statements,
       fingerprint = EXCLUDED.fingerprint, prompt_version = EXCLUDED.prompt_version, provider = EXCLUDED.provider,
       model = EXCLUDED.model, cost_usd = EXCLUDED.cost_usd, sources_read_at = EXCLUDED.sources_read_at,
       generated_at = EXCLUDED.generated_at, checked_at = EXCLUDED.checked_at
RETURNING version;

-- name: mark_checked
-- Everything that a Pulse was written from was found to be the same; which rows that is may have changed, where they are
-- merely counted.
UPDATE pulses SET checked_at = %(read_at)s, source_ids = %(told_of)s WHERE entity_id = %(id)s AND level = %(level)s;

-- name: delete_other_levels
-- A record's Pulses of levels that it has none of any more.
DELETE FROM pulses WHERE entity_id = %(id)s AND level <> ALL(%(levels)s::int[]);

-- name: add_to_day
-- What became of a record's Pulses by one look of a writer.
INSERT INTO pulse_days (tenant_id, day, entity_id, regenerated, skipped, coalesced, failed, cost_usd)
SELECT current_tenant(), %(day)s, %(id)s, %(regenerated)s, %(skipped)s, %(coalesced)s, %(failed)s, %(cost_usd)s
    ON CONFLICT (tenant_id, day, entity_id) DO UPDATE
   SET regenerated = pulse_days.regenerated + EXCLUDED.regenerated, skipped = pulse_days.skipped + EXCLUDED.skipped,
       coalesced = pulse_days.coalesced + EXCLUDED.coalesced, failed = pulse_days.failed + EXCLUDED.failed,
       cost_usd = pulse_days.cost_usd + EXCLUDED.cost_usd;

-- name: add_ledger
-- The record of one prompt for a Pulse, with every text that it names, each kept once a month beside those of turns. The
-- first of a tenant's has somebody look, once its month is over, for what is to go.
WITH at AS (
    SELECT date_trunc('month', %(at)s AT TIME ZONE 'UTC')::date AS month
), texts AS (
    INSERT INTO ledger_texts (tenant_id, month, hash, text)
    SELECT current_tenant(), at.month, one.hash, one.words
      FROM at, unnest(%(hashes)s::text[], %(texts)s::text[]) AS one (hash, words)
    ON CONFLICT (tenant_id, month, hash) DO NOTHING
), goes AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'prompt_retention', current_tenant(), (at.month + interval '1 month') AT TIME ZONE 'UTC' FROM at
    ON CONFLICT (tenant_id, kind, id) DO NOTHING
)
INSERT INTO pulse_ledgers (tenant_id, id, entity_id, level, version, month, created_at, model, prompt_hash, prompt_inputs, source_ids,
                           question_id, outcome)
SELECT current_tenant(), %(id)s, %(entity_id)s, %(level)s, %(version)s, at.month, %(at)s, %(model)s, %(prompt_hash)s,
       %(basis)s, %(told_of)s, %(question_id)s, %(outcome)s
  FROM at
    ON CONFLICT DO NOTHING;

-- name: find_ledger
-- The record of the newest prompt for a record's Pulse of some level, or of the one that a version came of; none of
-- prompts that answered a question, and none that holds what stands above the level by now.
SELECT l.id, l.level, l.version, l.month, l.created_at, l.model, l.prompt_hash, l.prompt_inputs, l.outcome
  FROM pulse_ledgers l
 WHERE l.entity_id = %(entity_id)s AND l.level = %(level)s AND l.question_id IS NULL
   AND (%(version)s::int IS NULL OR l.version = %(version)s::int) AND NOT has_source_above_level(l.source_ids, l.level)
 ORDER BY l.created_at DESC, l.id DESC
 LIMIT 1;

-- name: read_ledger_texts
-- Texts of a month by their hashes; one that was forgotten has no words.
SELECT hash, text FROM ledger_texts WHERE month = %(month)s AND hash = ANY(%(hashes)s);

-- name: find_open_question
-- What somebody asked about a record, unless it is answered.
SELECT id, entity_id, question, asked_by, level, asked_at
  FROM pulse_questions
 WHERE id = %(id)s AND answered_at IS NULL;

-- name: find_previous_answer
-- The same question of the same asker, answered from the same material: its answer holds.
SELECT markdown, statements, citations, model
  FROM pulse_questions
 WHERE entity_id = %(entity_id)s AND asked_by = %(by)s AND fingerprint = %(fingerprint)s AND level = %(level)s
   AND answered_at IS NOT NULL AND problem IS NULL
 ORDER BY answered_at DESC
 LIMIT 1;

-- name: complete_question
-- A question has its answer, or the reason why it has none.
UPDATE pulse_questions
   SET answered_at = %(now)s, markdown = %(markdown)s, statements = %(statements)s, citations = %(citations)s,
       source_ids = %(told_of)s, fingerprint = %(fingerprint)s, model = %(model)s, cost_usd = %(cost_usd)s,
       problem = %(problem)s
 WHERE id = %(id)s AND answered_at IS NULL;
