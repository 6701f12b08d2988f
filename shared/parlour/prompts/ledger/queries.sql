-- name: read_previous_prompts
-- What the session's next prompt stands on: what was kept of its prompts and, before the first, what was learned of how
-- the model counts; with its turns since the last cut that are over, oldest first, each with its messages and with what
-- it called, whether its replies were drawn from what is deleted or above the clearance by now, and which numbers of
-- sources that its calls found mean nothing any more. With them the turns of the recap whose replies were drawn from
-- such. Of its summaries the newest that was drawn from nothing such, with what must be told word for word beside it;
-- whether the one that leads the prompts was drawn from such, or is forgotten; and whether one is under way (awaited; null
-- where none is wanted). No row where there is none of it. Where the turns begin is asked in a query of its own: under row-level security
-- COALESCE itself is no bound for an index.
WITH kept AS (
    SELECT cache_state, briefing FROM session_prompts WHERE session_id = %(session_id)s
), over AS (
    SELECT t.id, t.number, t.tool_messages, t.state = 'stopped' AS is_stopped,
           (SELECT jsonb_agg(c.call_id) FROM tool_calls c JOIN approvals a ON (a.tenant_id, a.tool_call_id) = (c.tenant_id, c.id)
             WHERE c.turn_id = t.id AND a.state = 'superseded') AS withdrawn_call_ids,
           (SELECT jsonb_agg(jsonb_build_object('id', m.id, 'direction', m.direction, 'kind', m.kind, 'channel', m.channel,
                                                'author', m.metadata ->> 'author', 'own_chars', m.metadata -> 'own_chars', 'body',
                                                CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END,
                                                'attachments', sent.rows) ORDER BY m.position)
              FROM messages m
              LEFT JOIN LATERAL (
                  SELECT jsonb_agg(to_jsonb(a) || jsonb_build_object(
                             'current_classification', GREATEST(a.classification, COALESCE(f.classification, 0)),
                             'is_file_deleted', a.file_id IS NOT NULL AND COALESCE(f.object_key, '') = '') ORDER BY a.position, a.id) AS rows
                    FROM attachments a LEFT JOIN files f ON (f.tenant_id, f.id) = (a.tenant_id, a.file_id)
                   WHERE a.message_id = m.id) sent ON m.direction = 'inbound'
             WHERE m.turn_id = t.id) AS messages
      FROM turns t
     WHERE t.session_id = %(session_id)s AND t.number < %(before)s
       AND t.number >= (SELECT COALESCE((SELECT (cache_state #>> '{compacted_history,since_turn}')::int FROM kept), 0))
     ORDER BY t.number DESC
     LIMIT %(most)s
), pinned AS (
    SELECT (cache_state #>> '{compacted_history,summary,version}')::int AS version FROM kept WHERE cache_state #> '{compacted_history,summary}' IS NOT NULL
), lines AS MATERIALIZED (
    -- Of each kind the few that were said last.
    SELECT k.*
      FROM unnest(%(kinds)s::text[]) WITH ORDINALITY AS one (kind, rank), LATERAL (
           SELECT k.first_turn, k.from_agent, one.rank, row_number() OVER (ORDER BY k.last_turn DESC, k.id DESC) AS place,
                  jsonb_build_object('turn_number', first_turn, 'text', text, 'message_id', message_id, 'from_agent', from_agent) AS line
             FROM summary_key_details k
            WHERE k.session_id = %(session_id)s AND k.kind = one.kind AND missing_from_summary
            ORDER BY k.last_turn DESC, k.id DESC
            LIMIT %(lines)s) k
), summed AS (
    SELECT jsonb_build_object('version', s.version, 'until_turn', s.until_turn, 'text', s.text) AS summary
      FROM (SELECT o.*, summary_level(o) AS level FROM summaries o WHERE o.session_id = %(session_id)s
             ORDER BY o.version DESC OFFSET 0) s,
           source_status(s.source_ids) f
     WHERE GREATEST(f.classification, s.level) <= %(clearance)s AND NOT f.is_deleted
     ORDER BY s.version DESC
     LIMIT 1
), judged AS MATERIALIZED (
    -- Those that history tells, those that its recap does, and those whose replies are told in part word for word.
    SELECT array_agg(id) AS ids FROM (
    SELECT t.id
      FROM turns t
     WHERE t.session_id = %(session_id)s AND t.number < %(before)s
       AND t.number >= (SELECT COALESCE((SELECT LEAST((cache_state #>> '{compacted_history,recap_turns,0}')::int,
                                                      (cache_state #>> '{compacted_history,since_turn}')::int) FROM kept),
                                        %(before)s - %(most)s))
     UNION
    SELECT t.id
      FROM (SELECT first_turn FROM lines WHERE from_agent
             UNION
            SELECT one::int FROM kept, jsonb_path_query(cache_state, '$.compacted_history.summary.key_details[*]?(@.from_agent==true).turn_number') one) k,
           LATERAL (SELECT id FROM turns WHERE session_id = %(session_id)s AND number = k.first_turn OFFSET 0) t) told
), closed AS MATERIALIZED (
    SELECT DISTINCT t.number
      FROM judged j, turn_source_status(j.ids) source, turns t
     WHERE (source.classification > %(clearance)s OR source.is_deleted) AND t.id = source.turn_id
), dead AS (
    SELECT o.number, jsonb_agg(DISTINCT found[1]::int) AS numbers
      FROM over o, regexp_matches(o.tool_messages::text, '\[(\d{1,9})\] ', 'g') found
     WHERE NOT EXISTS (SELECT FROM citation_numbers s JOIN context_rows r ON r.id = s.row_id AND r.classification <= %(clearance)s
                        WHERE s.session_id = %(session_id)s AND s.number = found[1]::int)
     GROUP BY o.number
), earlier AS MATERIALIZED (
    SELECT (SELECT cache_state FROM kept) AS cache_state,
           (SELECT briefing FROM kept) AS briefing,
           (SELECT jsonb_agg(to_jsonb(over) || jsonb_build_object('is_restricted', over.number IN (SELECT number FROM closed),
                                                                  'dead_citation_numbers', d.numbers) ORDER BY over.number)
              FROM over LEFT JOIN dead d USING (number)) AS past_turns,
           (SELECT jsonb_agg(number) FROM closed) AS restricted_turns,
           (SELECT summary || jsonb_build_object('key_details', (SELECT jsonb_agg(line ORDER BY place, rank) FROM lines))
              FROM summed) AS summary,
           (SELECT s.version IS NULL OR GREATEST(f.classification, summary_level(s)) > %(clearance)s OR f.is_deleted
              FROM pinned p
              LEFT JOIN summaries s ON s.session_id = %(session_id)s AND s.version = p.version,
                   source_status(s.source_ids) f) AS is_summary_restricted,
           (SELECT leased_until > %(at)s IS TRUE OR due_at <= %(awaited)s
              FROM work_due
             WHERE tenant_id = current_tenant() AND kind = 'summary' AND id = %(session_id)s) AS is_summary_pending,
           (SELECT jsonb_object_agg(script, factor)
              FROM token_factors WHERE model = %(model)s AND NOT EXISTS (SELECT FROM kept)) AS token_factors
)
SELECT * FROM earlier WHERE num_nonnulls(cache_state, past_turns, token_factors) > 0;

-- name: insert_prompt_record
-- The record of one prompt, with every text that it names, each kept once a month, and what the session's next one
-- stands on; asked again, it is the newer prompt that counts. The first of a tenant's has somebody look, once its month
-- is over, for what is to go. With it goes the request of the turn's step.
WITH requested AS (
    INSERT INTO steps (tenant_id, turn_id, number, provider, model, prompt_hash, requested_at)
    VALUES (current_tenant(), %(turn_id)s, %(step)s, %(provider)s, %(asked)s, %(prompt_hash)s, %(requested_at)s)
    ON CONFLICT (tenant_id, turn_id, number) DO UPDATE
       SET provider = EXCLUDED.provider, model = EXCLUDED.model, prompt_hash = EXCLUDED.prompt_hash,
           requested_at = EXCLUDED.requested_at
     WHERE steps.completed_at IS NULL
), texts AS (
    INSERT INTO ledger_texts (tenant_id, month, hash, text)
    SELECT current_tenant(), %(month)s, one.key, one.value
      FROM jsonb_each_text(%(texts)s) one
    ON CONFLICT (tenant_id, month, hash) DO NOTHING
), stands AS (
    INSERT INTO session_prompts (tenant_id, session_id, cache_state, briefing, updated_at)
    VALUES (current_tenant(), %(session_id)s, %(standing)s, %(briefing)s, %(at)s)
    ON CONFLICT (tenant_id, session_id) DO UPDATE
       SET cache_state = EXCLUDED.cache_state, updated_at = EXCLUDED.updated_at,
           briefing = CASE WHEN %(anew)s THEN EXCLUDED.briefing ELSE session_prompts.briefing END
), goes AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    VALUES (current_tenant(), 'prompt_retention', current_tenant(), %(look_at)s)
    ON CONFLICT (tenant_id, kind, id) DO NOTHING
)
INSERT INTO ledgers (tenant_id, turn_id, step, month, at, model, prompt_hash, prompt_inputs, step_record)
VALUES (current_tenant(), %(turn_id)s, %(step)s, %(month)s, %(at)s, %(model)s, %(prompt_hash)s, %(basis)s, %(made)s)
ON CONFLICT (tenant_id, turn_id, step) DO UPDATE
   SET month = EXCLUDED.month, at = EXCLUDED.at, model = EXCLUDED.model, prompt_hash = EXCLUDED.prompt_hash,
       prompt_inputs = COALESCE(EXCLUDED.prompt_inputs, ledgers.prompt_inputs), step_record = EXCLUDED.step_record;

-- name: mark_omitted_attachments
-- Which of what came with a turn's messages had no room in its prompts; of a turn that is begun anew, as it is now.
UPDATE attachments a
   SET is_omitted = a.id = ANY(%(refused)s::uuid[])
  FROM messages m
 WHERE m.turn_id = %(turn_id)s AND a.message_id = m.id AND a.is_omitted <> (a.id = ANY(%(refused)s::uuid[]));

-- name: list_ledger_rows
-- The records of a turn's prompts, in the order of its steps. None of more clearance than the reader's.
SELECT l.step, l.month, l.at, l.model, l.prompt_hash, l.prompt_inputs, l.step_record
  FROM ledgers l
  JOIN turns t ON t.id = l.turn_id
  JOIN sessions s ON s.id = t.session_id
  JOIN users u ON u.id = s.user_id
  JOIN bindings b ON b.id = t.binding_id AND GREATEST(b.clearance, u.clearance) <= %(clearance)s
 WHERE l.turn_id = %(turn_id)s
 ORDER BY l.step;

-- name: read_source_status
-- What became of sources that prompts told of: the level that each is of by now, and whether it is deleted. Of replies,
-- also by the numbers of their turns, and of summaries the most closed of what they were drawn from. What is not in the answer is not there, or was
-- never of a level of its own.
WITH replied AS (
    SELECT 'messages' AS place, m.id::text AS id, m.turn_id
      FROM messages m
     WHERE m.id = ANY(%(messages)s::uuid[]) AND m.direction = 'outbound'
     UNION ALL
    SELECT 'turns', t.number::text, t.id
      FROM turns t
     WHERE t.session_id = %(session_id)s AND t.number = ANY(%(turns)s::int[])
), handled AS (
    SELECT handle, split_part(handle, '/', 1) AS type, substr(handle, strpos(handle, '/') + 1) AS key
      FROM unnest(%(handles)s::text[]) AS one (handle)
)
SELECT r.place AS table, r.id, max(source.classification) AS classification, bool_or(source.is_deleted) AS is_deleted
  FROM (SELECT array_agg(turn_id) AS ids FROM replied) asked, turn_source_status(asked.ids) source, replied r
 WHERE r.turn_id = source.turn_id
 GROUP BY r.place, r.id
 UNION ALL
SELECT 'entities', e.id::text, e.classification, e.deleted_at IS NOT NULL
  FROM entities e WHERE e.id = ANY(%(entities)s::uuid[])
 UNION ALL
SELECT 'documents', d.id::text, d.classification, d.deleted_at IS NOT NULL
  FROM documents d WHERE d.id = ANY(%(documents)s::uuid[])
 UNION ALL
SELECT 'files', f.id::text, f.classification, f.object_key = ''
  FROM files f WHERE f.id = ANY(%(files)s::uuid[])
 UNION ALL
SELECT 'context_rows', r.id::text, r.classification, false
  FROM context_rows r WHERE r.id = ANY(%(rows)s::uuid[])
 UNION ALL
SELECT 'facts', f.id::text, 0, f.end_reason IS NOT DISTINCT FROM 'deleted'
  FROM facts f WHERE f.id = ANY(%(facts)s::uuid[])
 UNION ALL
SELECT 'episodes', e.id::text, 0, false
  FROM episodes e WHERE e.id = ANY(%(episodes)s::uuid[])
 UNION ALL
SELECT 'handles', h.handle, e.classification, e.deleted_at IS NOT NULL
  FROM handled h
  JOIN entity_types t ON t.key = h.type
  JOIN entities e ON e.type_id = t.id AND e.key = h.key
 UNION ALL
SELECT 'handles', h.handle, d.classification, d.deleted_at IS NOT NULL
  FROM handled h JOIN documents d ON h.type = 'document' AND d.key = h.key
 UNION ALL
SELECT 'summaries', s.version::text, f.classification, f.is_deleted
  FROM summaries s, source_status(s.source_ids) f
 WHERE s.session_id = %(session_id)s AND s.version = ANY(%(summaries)s::int[])
 UNION ALL
SELECT 'citation_numbers', s.number::text, r.classification, false
  FROM citation_numbers s
  JOIN context_rows r ON r.id = s.row_id
 WHERE s.session_id = %(session_id)s AND s.number = ANY(%(numbers)s::int[]);

-- name: read_texts
-- Texts of a month by their hashes; one that was forgotten has no words.
SELECT hash, text FROM ledger_texts WHERE month = %(month)s AND hash = ANY(%(hashes)s);

-- name: delete_expired_ledgers
-- Ledgers whose retention is over, a bounded number at a time, with what their turns' prompts were told of what is
-- remembered; how often and to what use a fact was told is known beside it.
WITH over AS MATERIALIZED (
    SELECT tenant_id, turn_id, step FROM ledgers
     WHERE tenant_id = current_tenant() AND month < %(before)s LIMIT %(most)s
), told AS (
    DELETE FROM recalls WHERE turn_id IN (SELECT turn_id FROM over)
)
DELETE FROM ledgers WHERE (tenant_id, turn_id, step) IN (SELECT tenant_id, turn_id, step FROM over);

-- name: delete_expired_pulse_ledgers
-- The records of Pulses' prompts whose retention is over, a bounded number at a time: they name the same texts.
DELETE FROM pulse_ledgers
 WHERE (tenant_id, id) IN (
       SELECT tenant_id, id FROM pulse_ledgers
        WHERE tenant_id = current_tenant() AND month < %(before)s LIMIT %(most)s);

-- name: delete_expired_texts
-- Texts of months whose retention is over, a bounded number at a time.
DELETE FROM ledger_texts
 WHERE (tenant_id, month, hash) IN (
       SELECT tenant_id, month, hash FROM ledger_texts
        WHERE tenant_id = current_tenant() AND month < %(before)s LIMIT %(most)s);

-- name: find_oldest_month
-- The first month of which something is kept.
SELECT month FROM ledger_texts ORDER BY month LIMIT 1;

-- name: update_token_factor
-- A further report of how many tokens a model counts: the newest weighs a fifth.
INSERT INTO token_factors (tenant_id, model, script, factor)
VALUES (current_tenant(), %(model)s, %(script)s, %(factor)s)
ON CONFLICT (tenant_id, model, script) DO UPDATE
   SET factor = token_factors.factor * 0.8 + EXCLUDED.factor * 0.2, report_count = token_factors.report_count + 1;

-- name: find_turn_position
-- Where a turn stands in its session, and its neighbours there that have records of their prompts.
SELECT t.session_id, t.number,
       (SELECT p.id FROM turns p
         WHERE p.session_id = t.session_id AND p.number < t.number AND EXISTS (SELECT FROM ledgers l WHERE l.turn_id = p.id)
         ORDER BY p.number DESC LIMIT 1) AS previous_turn_id,
       (SELECT n.id FROM turns n
         WHERE n.session_id = t.session_id AND n.number > t.number AND EXISTS (SELECT FROM ledgers l WHERE l.turn_id = n.id)
         ORDER BY n.number LIMIT 1) AS next_turn_id
  FROM turns t
 WHERE t.id = %(turn_id)s;

-- name: read_reported_usage
-- What the models that answered reported of a turn's prompts, by step.
SELECT step, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, cost_usd::text AS cost_usd, cache_miss
  FROM llm_calls
 WHERE turn_id = %(turn_id)s AND outcome = 'ok'
 ORDER BY step, at, id;

-- name: find_sessions_briefed_from
-- The sessions whose pinned briefing was made of some sources (table/id).
SELECT p.session_id AS id
  FROM session_prompts p
 WHERE EXISTS (SELECT FROM jsonb_array_elements(p.briefing -> 'sources') s
                WHERE (s ->> 'table') || '/' || (s ->> 'id') = ANY(%(sources)s::text[]));

-- name: read_cache_states
-- What was kept of some sessions' prompts.
SELECT session_id, cache_state, briefing FROM session_prompts WHERE session_id = ANY(%(ids)s::uuid[]) ORDER BY session_id;

-- name: update_cache_state
-- What is left of what a session's prompts stand on.
UPDATE session_prompts SET cache_state = %(standing)s, briefing = %(briefing)s
 WHERE session_id = %(session_id)s;
