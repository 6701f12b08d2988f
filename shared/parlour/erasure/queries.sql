-- What hangs on something that is to be forgotten, and taking it away.

-- name: plan_user_rows
-- Everything that is a user's own, row by row, with whoever turned out to be the same person.
WITH one AS MATERIALIZED (
    SELECT COALESCE(merged_into, id) AS id FROM users WHERE id = %(id)s
), same AS MATERIALIZED (
    SELECT u.id FROM users u, one WHERE u.id = one.id OR u.merged_into = one.id
), who AS MATERIALIZED (
    -- With whoever was made only to send them a code to, was never heard of, and is waited for by nobody else.
    SELECT id FROM same
     UNION
    SELECT l.contact_id
      FROM phone_links l
     WHERE l.user_id = ANY(ARRAY(SELECT id FROM same)) AND l.is_contact_new AND l.linked_at IS NULL AND l.contact_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM messages m JOIN sessions s ON s.id = m.session_id
                        WHERE s.user_id = l.contact_id AND m.kind <> 'code')
       AND NOT EXISTS (SELECT FROM users v WHERE v.merged_into = l.contact_id)
       AND NOT EXISTS (SELECT FROM phone_links o
                        WHERE o.contact_id = l.contact_id AND o.user_id <> ALL(ARRAY(SELECT id FROM same))
                          AND (o.linked_at IS NOT NULL
                               OR EXISTS (SELECT FROM work_due w WHERE w.kind = 'phone_link' AND w.id = o.id)))
), s AS MATERIALIZED (
    SELECT id FROM sessions WHERE user_id = ANY(ARRAY(SELECT id FROM who))
), t AS MATERIALIZED (
    SELECT id FROM turns WHERE session_id = ANY(ARRAY(SELECT id FROM s))
), m AS MATERIALIZED (
    SELECT id FROM messages WHERE session_id = ANY(ARRAY(SELECT id FROM s))
), r AS MATERIALIZED (
    SELECT id FROM context_rows WHERE session_id = ANY(ARRAY(SELECT id FROM s))
), o AS MATERIALIZED (
    SELECT id FROM outbox WHERE session_id = ANY(ARRAY(SELECT id FROM s))
)
SELECT 'users' AS table_name, id::text AS id FROM who
 UNION ALL SELECT 'sessions', id::text FROM s
 UNION ALL SELECT 'turns', id::text FROM t
 UNION ALL SELECT 'messages', id::text FROM m
 UNION ALL SELECT 'context_rows', id::text FROM r
 UNION ALL SELECT 'outbox', id::text FROM o
 UNION ALL SELECT 'channel_identities', id::text FROM channel_identities WHERE user_id = ANY(ARRAY(SELECT id FROM who))
 UNION ALL SELECT 'rate_limits', scope || '/' || key FROM rate_limits
            WHERE scope = 'visitor' AND right(key, 36) IN (SELECT id::text FROM who)
 UNION ALL SELECT 'open_streams', id::text FROM open_streams WHERE user_id = ANY(ARRAY(SELECT id FROM who))
 UNION ALL SELECT 'phone_links', id::text FROM phone_links
            WHERE user_id = ANY(ARRAY(SELECT id FROM who)) OR contact_id = ANY(ARRAY(SELECT id FROM who))
                  OR phone IN (SELECT phone FROM users WHERE id = ANY(ARRAY(SELECT id FROM who)))
 UNION ALL SELECT 'facts', id::text FROM facts WHERE user_id = ANY(ARRAY(SELECT id FROM who))
 UNION ALL SELECT 'fact_decisions', id::text FROM fact_decisions
            WHERE user_id = ANY(ARRAY(SELECT id FROM who)) OR session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'episodes', id::text FROM episodes WHERE user_id = ANY(ARRAY(SELECT id FROM who))
 UNION ALL SELECT 'session_memory_state', session_id::text FROM session_memory_state WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'summaries', session_id || '/' || version FROM summaries WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'summary_key_details', id::text FROM summary_key_details WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'agent_states', session_id::text FROM agent_states WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'handoffs', id::text FROM handoffs WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'inbox_threads', session_id::text FROM inbox_threads WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'inbox_events', id::text FROM inbox_events WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'notifications', id::text FROM notifications WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'chatwoot_conversations', session_id || '/' || inbox FROM chatwoot_conversations
            WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'archived_messages', id::text FROM archived_messages WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'session_prompts', session_id::text FROM session_prompts WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'citation_numbers', session_id || '/' || number FROM citation_numbers WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'events', session_id || '/' || number FROM events WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'attachments', id::text FROM attachments WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'steps', turn_id || '/' || number FROM steps WHERE turn_id = ANY(ARRAY(SELECT id FROM t))
 UNION ALL SELECT 'tool_calls', id::text FROM tool_calls WHERE turn_id = ANY(ARRAY(SELECT id FROM t))
 UNION ALL SELECT 'approvals', id::text FROM approvals WHERE session_id = ANY(ARRAY(SELECT id FROM s))
 UNION ALL SELECT 'approval_grants', id::text FROM approval_grants WHERE user_id = ANY(ARRAY(SELECT id FROM who))
 UNION ALL SELECT 'ledgers', turn_id || '/' || step FROM ledgers WHERE turn_id = ANY(ARRAY(SELECT id FROM t))
 UNION ALL SELECT 'recalls', turn_id || '/' || position FROM recalls WHERE turn_id = ANY(ARRAY(SELECT id FROM t))
 UNION ALL SELECT 'citations', message_id || '/' || number FROM citations WHERE message_id = ANY(ARRAY(SELECT id FROM m))
 UNION ALL SELECT 'embeddings', row_id || '/' || space FROM embeddings WHERE row_id = ANY(ARRAY(SELECT id FROM r))
 UNION ALL SELECT 'outbox_parts', outbox_id || '/' || number FROM outbox_parts WHERE outbox_id = ANY(ARRAY(SELECT id FROM o))
 UNION ALL SELECT 'pulse_questions', id::text FROM pulse_questions WHERE asked_by IN (SELECT 'user:' || id FROM who)
 UNION ALL SELECT 'work_due', kind || '/' || id FROM work_due
            WHERE tenant_id = current_tenant()
              AND (id = ANY(ARRAY(SELECT id FROM s)) OR id = ANY(ARRAY(SELECT id FROM o))
                   OR id IN (SELECT c.id FROM tool_calls c WHERE c.turn_id = ANY(ARRAY(SELECT id FROM t)))
                   OR id IN (SELECT a.id FROM approvals a WHERE a.session_id = ANY(ARRAY(SELECT id FROM s)))
                   OR id IN (SELECT l.id FROM phone_links l WHERE l.user_id = ANY(ARRAY(SELECT id FROM who))));

-- name: find_code_messages
-- The messages in which some users' codes went to people who were known before.
SELECT m.id
  FROM phone_links l
  JOIN messages m ON m.id = l.message_id
  JOIN sessions s ON s.id = m.session_id
 WHERE l.user_id = ANY(%(users)s::uuid[]) AND s.user_id <> ALL(%(users)s::uuid[]) AND m.body <> '';

-- name: find_titles_matching
-- A user's sessions whose title says one of some words.
SELECT id FROM sessions WHERE user_id = %(user_id)s AND title ILIKE ANY(%(patterns)s::text[]);

-- name: find_message
-- A message, in whose conversation and turn it is; of one that was archived its searchable row has the words.
SELECT m.id, m.session_id, m.turn_id, CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END AS body,
       m.received_at, m.provider_message_id, s.user_id
  FROM messages m
  JOIN sessions s ON s.id = m.session_id
 WHERE m.id = %(id)s;

-- name: list_other_messages
-- What a user said besides one message.
SELECT id FROM messages
 WHERE session_id = ANY(ARRAY(SELECT id FROM sessions WHERE user_id = %(user_id)s))
   AND direction = 'inbound' AND id <> %(id)s;

-- name: list_turns_since
-- The turns of a user from some time on.
SELECT id FROM turns
 WHERE session_id = ANY(ARRAY(SELECT id FROM sessions WHERE user_id = %(user_id)s)) AND frozen_at >= %(since)s;

-- name: find_turns_quoting
-- In which of some turns something was made that says one of some words: a reply, what a model answered, what was called
-- or came back, what the web was told.
SELECT t.id
  FROM turns t
 WHERE t.id = ANY(%(turns)s::uuid[])
   AND (EXISTS (SELECT FROM messages m LEFT JOIN context_rows r ON r.message_id = m.id
                 WHERE m.turn_id = t.id AND m.direction = 'outbound'
                   AND (m.body ILIKE ANY(%(patterns)s::text[]) OR r.content ILIKE ANY(%(patterns)s::text[])))
        OR EXISTS (SELECT FROM steps s WHERE s.turn_id = t.id AND s.blocks::text ILIKE ANY(%(patterns)s::text[]))
        OR EXISTS (SELECT FROM tool_calls c
                    WHERE c.turn_id = t.id AND concat(c.arguments, c.result, c.interim) ILIKE ANY(%(patterns)s::text[]))
        OR EXISTS (SELECT FROM events e WHERE e.turn_id = t.id AND e.payload::text ILIKE ANY(%(patterns)s::text[]))
        -- What streamed came in pieces, and of a turn that was stopped or tried again nothing else has it.
        OR EXISTS (SELECT FROM events e
                    WHERE e.turn_id = t.id AND e.kind IN ('text_delta', 'reasoning_delta')
                    GROUP BY e.kind, e.payload ->> 'block'
                   HAVING string_agg(e.payload ->> 'text', '' ORDER BY e.number) ILIKE ANY(%(patterns)s::text[])));

-- name: plan_fact_rows
-- A fact, what is known of how it came about, and the prompts that it stood in.
SELECT 'facts' AS table_name, id::text AS id FROM facts WHERE id = %(id)s
 UNION ALL SELECT 'fact_decisions', id::text FROM fact_decisions WHERE fact_id = %(id)s
 UNION ALL SELECT 'recalls', turn_id || '/' || position FROM recalls WHERE fact_id = %(id)s;

-- name: plan_file_rows
-- What a file was made into: it, and the rows that are searched.
SELECT 'files' AS table_name, id::text AS id FROM files WHERE id = %(id)s
 UNION ALL SELECT 'context_rows', id::text FROM context_rows WHERE file_id = %(id)s
 UNION ALL SELECT 'attachments', id::text FROM attachments WHERE file_id = %(id)s;

-- name: find_turns_using_file
-- The turns that drew from a file: whose reply cites it, whose message came with it, or one of whose calls found it.
WITH numbered AS MATERIALIZED (
    SELECT session_id, '("document": ?|\[)(' || string_agg(number::text, '|') || ')(\D|$)' AS found
      FROM citation_numbers WHERE row_id = ANY(%(rows)s::uuid[])
     GROUP BY session_id
)
SELECT m.turn_id AS id
  FROM citations c JOIN messages m ON m.id = c.message_id
 WHERE (c.file_id = %(id)s OR c.row_id = ANY(%(rows)s::uuid[])) AND m.turn_id IS NOT NULL
 UNION
SELECT m.turn_id FROM attachments a JOIN messages m ON m.id = a.message_id
 WHERE a.file_id = %(id)s AND m.turn_id IS NOT NULL
 UNION
SELECT t.id
  FROM numbered n
  JOIN turns t ON t.session_id = n.session_id
  JOIN tool_calls c ON c.turn_id = t.id AND c.result::text ~ n.found;

-- name: find_turns
-- Some turns: where they stand in their sessions, and whether one is open.
SELECT id, session_id, number, state = 'open' AS is_open FROM turns WHERE id = ANY(%(ids)s::uuid[]);

-- name: read_message_bodies
-- What some messages say, those that were archived too.
SELECT CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END AS text
  FROM messages m
 WHERE m.id = ANY(%(ids)s::uuid[]) AND (m.body <> '' OR m.archive_id IS NOT NULL);

-- name: plan_turn_rows
-- What was made in some turns, and from some messages: replies, steps, calls, events, citations and searchable rows.
WITH m AS MATERIALIZED (
    SELECT id FROM messages
     WHERE id = ANY(%(messages)s::uuid[]) OR turn_id = ANY(%(turns)s::uuid[]) AND direction = 'outbound'
), r AS MATERIALIZED (
    SELECT id FROM context_rows WHERE message_id = ANY(ARRAY(SELECT id FROM m))
)
SELECT 'messages' AS table_name, id::text AS id FROM m
 UNION ALL SELECT 'context_rows', id::text FROM r
 UNION ALL SELECT 'embeddings', row_id || '/' || space FROM embeddings WHERE row_id = ANY(ARRAY(SELECT id FROM r))
 UNION ALL SELECT 'citations', message_id || '/' || number FROM citations WHERE message_id = ANY(ARRAY(SELECT id FROM m))
 UNION ALL SELECT 'attachments', id::text FROM attachments WHERE message_id = ANY(ARRAY(SELECT id FROM m))
 UNION ALL SELECT 'outbox', id::text FROM outbox
            WHERE message_id = ANY(ARRAY(SELECT id FROM m)) AND state IN ('pending', 'held')
 UNION ALL SELECT 'steps', turn_id || '/' || number FROM steps WHERE turn_id = ANY(%(turns)s::uuid[])
 UNION ALL SELECT 'tool_calls', id::text FROM tool_calls WHERE turn_id = ANY(%(turns)s::uuid[])
 UNION ALL SELECT 'handoffs', id::text FROM handoffs WHERE turn_id = ANY(%(turns)s::uuid[])
 UNION ALL SELECT 'inbox_threads', session_id::text FROM inbox_threads
            WHERE reason_text <> '' AND session_id IN (SELECT session_id FROM turns WHERE id = ANY(%(turns)s::uuid[]))
 UNION ALL SELECT 'approvals', a.id::text
             FROM approvals a JOIN tool_calls c ON c.tenant_id = a.tenant_id AND c.id = a.tool_call_id
            WHERE c.turn_id = ANY(%(turns)s::uuid[])
 UNION ALL SELECT 'events', session_id || '/' || number FROM events WHERE turn_id = ANY(%(turns)s::uuid[])
 UNION ALL SELECT 'turns', id::text FROM turns WHERE id = ANY(%(turns)s::uuid[]) AND tool_messages IS NOT NULL;

-- name: plan_memory_rows
-- What memory holds of some messages and turns: facts and episodes drawn from them; of their sessions the summaries that
-- tell of them, with the later ones that were made from those, what was kept word for word, anchors, and state.
WITH t AS MATERIALIZED (
    SELECT session_id, min(number) AS number, min(frozen_at) AS since
      FROM turns WHERE id = ANY(%(turns)s::uuid[]) GROUP BY session_id
), e AS MATERIALIZED (
    -- Those of whole stretches with the later ones, which are gone through again.
    SELECT id, row_id FROM episodes WHERE message_ids && %(messages)s::uuid[]
     UNION
    SELECT p.id, p.row_id
      FROM t JOIN episodes p ON p.session_id = t.session_id AND p.origin = 'consolidated'
     WHERE EXISTS (SELECT FROM messages m JOIN turns n ON n.id = m.turn_id
                    WHERE m.id = ANY(p.message_ids) AND n.number >= t.number)
), r AS MATERIALIZED (
    SELECT row_id AS id FROM e WHERE row_id IS NOT NULL
     UNION
    SELECT c.id FROM t JOIN context_rows c ON c.session_id = t.session_id
     WHERE c.kind = 'summary_anchor' AND c.created_at >= t.since
)
SELECT 'facts' AS table_name, id::text AS id FROM facts WHERE message_ids && %(messages)s::uuid[]
 UNION ALL SELECT 'fact_decisions', id::text FROM fact_decisions
            WHERE message_ids && %(messages)s::uuid[]
              AND (decision <> 'erased' OR message_ids <@ %(messages)s::uuid[])
 UNION ALL SELECT 'episodes', id::text FROM e
 UNION ALL SELECT 'context_rows', id::text FROM r
 UNION ALL SELECT 'embeddings', row_id || '/' || space FROM embeddings WHERE row_id = ANY(ARRAY(SELECT id FROM r))
 UNION ALL SELECT 'summaries', s.session_id || '/' || s.version
             FROM t JOIN summaries s ON s.session_id = t.session_id AND s.until_turn >= t.number
 UNION ALL SELECT 'summary_key_details', k.id::text
             FROM t JOIN summary_key_details k ON k.session_id = t.session_id AND k.last_turn >= t.number
 UNION ALL SELECT 'agent_states', a.session_id::text FROM t JOIN agent_states a ON a.session_id = t.session_id
 UNION ALL SELECT 'session_prompts', p.session_id::text FROM t JOIN session_prompts p ON p.session_id = t.session_id;

-- name: plan_shared_fact_rows
-- Facts of a persona or a team that were drawn from some messages, and what was decided of them; that something was
-- forgotten is known for as long as another message says it.
SELECT 'facts' AS table_name, id::text AS id FROM facts WHERE message_ids && %(messages)s::uuid[] AND scope <> 'user'
 UNION ALL
SELECT 'fact_decisions', d.id::text FROM fact_decisions d
 WHERE d.message_ids && %(messages)s::uuid[]
   AND (d.decision <> 'erased' OR d.message_ids <@ %(messages)s::uuid[]);

-- name: plan_dependent_rows
-- What goes with searchable rows, facts and episodes: their vectors and numbers, and that they were recalled.
SELECT 'embeddings' AS table_name, row_id || '/' || space AS id FROM embeddings WHERE row_id = ANY(%(rows)s::uuid[])
 UNION ALL SELECT 'citation_numbers', session_id || '/' || number FROM citation_numbers WHERE row_id = ANY(%(rows)s::uuid[])
 UNION ALL SELECT 'recalls', turn_id || '/' || position FROM recalls
            WHERE fact_id = ANY(%(facts)s::uuid[]) OR episode_id = ANY(%(episodes)s::uuid[]);

-- name: plan_records_created
-- The records that calls of some turns made and that nobody else has changed, linked or filled since, their handles, all
-- that is a part of them, and links.
WITH k AS MATERIALIZED (
    SELECT idempotency_key AS key FROM tool_calls WHERE turn_id = ANY(%(turns)s::uuid[]) AND writes
), made AS MATERIALIZED (
    SELECT id, created_by, updated_by FROM entities WHERE split_part(origin, '/', 1) = ANY(ARRAY(SELECT key FROM k))
), e AS MATERIALIZED (
    SELECT m.id FROM made m
     WHERE m.updated_by IN (m.created_by, 'system')
       AND NOT EXISTS (SELECT FROM context_rows r
                        WHERE r.entity_id = m.id AND r.kind = 'delta'
                          AND CASE WHEN r.metadata ? 'origin'
                                   THEN split_part(r.metadata ->> 'origin', '/', 1) <> ALL(ARRAY(SELECT key FROM k))
                                        AND r.metadata ->> 'origin' NOT LIKE 'erased:%%'
                                   ELSE r.metadata ->> 'by' NOT IN (m.created_by, 'system') END)
       AND NOT EXISTS (SELECT FROM edges d
                        WHERE m.id IN (d.source_id, d.target_id) AND d.created_by <> m.created_by
                          AND (d.origin IS NULL OR split_part(d.origin, '/', 1) <> ALL(ARRAY(SELECT key FROM k))))
       AND NOT EXISTS (SELECT FROM entities n
                        WHERE (n.project_id = m.id
                               OR n.id IN (SELECT p.own_entity_id FROM documents p WHERE p.entity_id = m.id))
                          AND n.deleted_at IS NULL AND n.id NOT IN (SELECT o.id FROM made o))
), d AS MATERIALIZED (
    SELECT id FROM documents
     WHERE own_entity_id = ANY(ARRAY(SELECT id FROM e)) OR entity_id = ANY(ARRAY(SELECT id FROM e))
), r AS MATERIALIZED (
    SELECT id FROM context_rows
     WHERE entity_id = ANY(ARRAY(SELECT id FROM e)) OR related_entity_id = ANY(ARRAY(SELECT id FROM e))
        OR document_id = ANY(ARRAY(SELECT id FROM d))
)
SELECT 'entities' AS table_name, id::text AS id FROM e
 UNION ALL SELECT 'handles', t.key || '/' || n.key
             FROM entities n JOIN entity_types t ON t.id = n.type_id WHERE n.id = ANY(ARRAY(SELECT id FROM e))
 UNION ALL SELECT 'documents', id::text FROM d
 UNION ALL SELECT 'context_rows', id::text FROM r
 UNION ALL SELECT 'embeddings', row_id || '/' || space FROM embeddings WHERE row_id = ANY(ARRAY(SELECT id FROM r))
 UNION ALL SELECT 'edges', id::text FROM edges
            WHERE split_part(origin, '/', 1) = ANY(ARRAY(SELECT key FROM k))
               OR source_id = ANY(ARRAY(SELECT id FROM e)) OR target_id = ANY(ARRAY(SELECT id FROM e));

-- name: plan_agent_writes
-- What was written down of the changes of some turns, and of every change of some records: it may repeat what goes.
SELECT 'agent_writes' AS table_name, id::text AS id
  FROM agent_writes
 WHERE turn_id = ANY(%(turns)s::uuid[]) OR entity_id = ANY(%(ids)s::uuid[]) OR target_id = ANY(%(ids)s::uuid[]);

-- name: plan_pack_changes
-- What applies of packs replaced in some records, in records that some turns wrote, and what quotes what is erased.
SELECT 'pack_changes' AS table_name, id::text AS id
  FROM pack_changes
 WHERE record_id = ANY(%(ids)s::uuid[])
    OR record_id IN (SELECT entity_id FROM agent_writes WHERE turn_id = ANY(%(turns)s::uuid[]))
    OR before::text ILIKE ANY(%(patterns)s::text[]);

-- name: delete_pack_changes
-- Delete what applies of packs replaced: an undo cannot restore it.
DELETE FROM pack_changes WHERE id = ANY(%(ids)s::uuid[]);

-- name: delete_agent_writes
-- Take away what was written down of changes.
DELETE FROM agent_writes WHERE id = ANY(%(ids)s::uuid[]);

-- name: find_turns_using_records
-- The turns that drew from some records: whose reply cites one, or a row of one, or one of whose calls names one.
SELECT m.turn_id AS id
  FROM citations c JOIN messages m ON m.id = c.message_id
 WHERE m.turn_id IS NOT NULL
   AND (c.entity_id = ANY(%(ids)s::uuid[]) OR c.row_id = ANY(%(rows)s::uuid[]))
 UNION
SELECT c.turn_id
  FROM tool_calls c
 CROSS JOIN LATERAL (SELECT concat(c.arguments, c.result) AS text) said
 WHERE said.text ILIKE ANY(%(handles)s::text[]);

-- name: find_replies_matching
-- Of some turns those whose replies say one of some words.
SELECT DISTINCT m.turn_id AS id
  FROM messages m
  LEFT JOIN context_rows r ON r.message_id = m.id
 WHERE m.turn_id = ANY(%(turns)s::uuid[]) AND m.direction = 'outbound'
   AND (m.body ILIKE ANY(%(patterns)s::text[]) OR r.content ILIKE ANY(%(patterns)s::text[]));

-- name: plan_memory_matching
-- What memory holds of some sessions that says one of some words.
WITH e AS MATERIALIZED (
    SELECT id, row_id FROM episodes WHERE session_id = ANY(%(sessions)s::uuid[]) AND text ILIKE ANY(%(patterns)s::text[])
), r AS MATERIALIZED (
    SELECT row_id AS id FROM e WHERE row_id IS NOT NULL
     UNION
    SELECT id FROM context_rows
     WHERE session_id = ANY(%(sessions)s::uuid[]) AND kind = 'summary_anchor' AND content ILIKE ANY(%(patterns)s::text[])
)
SELECT 'episodes' AS table_name, id::text AS id FROM e
 UNION ALL SELECT 'context_rows', id::text FROM r
 UNION ALL SELECT 'embeddings', row_id || '/' || space FROM embeddings WHERE row_id = ANY(ARRAY(SELECT id FROM r))
 UNION ALL SELECT 'summaries', session_id || '/' || version FROM summaries
            WHERE session_id = ANY(%(sessions)s::uuid[]) AND text ILIKE ANY(%(patterns)s::text[])
 UNION ALL SELECT 'summary_key_details', id::text FROM summary_key_details
            WHERE session_id = ANY(%(sessions)s::uuid[]) AND text ILIKE ANY(%(patterns)s::text[]) AND from_agent
 UNION ALL SELECT 'agent_states', session_id::text FROM agent_states
            WHERE session_id = ANY(%(sessions)s::uuid[]) AND state::text ILIKE ANY(%(patterns)s::text[])
 UNION ALL SELECT 'session_prompts', session_id::text FROM session_prompts WHERE session_id = ANY(%(sessions)s::uuid[]);

-- name: find_changed_records
-- The records that calls of some turns made or changed, with what each call asked for, and the row that tells of it.
WITH c AS MATERIALIZED (
    SELECT idempotency_key AS key, arguments FROM tool_calls WHERE turn_id = ANY(%(turns)s::uuid[]) AND writes
), did AS (
    SELECT r.entity_id AS id, r.id AS row_id, c.arguments
      FROM c JOIN context_rows r ON r.kind = 'delta' AND split_part(r.metadata ->> 'origin', '/', 1) = c.key
     UNION
    SELECT e.id, (SELECT r.id FROM context_rows r
                   WHERE r.entity_id = e.id AND r.kind = 'delta' AND r.related_entity_id IS NULL AND NOT r.metadata ? 'origin'
                     AND r.metadata ->> 'by' = e.created_by
                   ORDER BY r.created_at, r.id LIMIT 1), c.arguments
      FROM c JOIN entities e ON split_part(e.origin, '/', 1) = c.key
)
SELECT d.id, d.row_id, d.arguments, e.properties, e.name, t.key || '/' || e.key AS handle
  FROM did d
  JOIN entities e ON e.id = d.id AND e.deleted_at IS NULL
  JOIN entity_types t ON t.id = e.type_id;

-- name: find_adjacent_records
-- What stands next to some records: their projects, and what is linked with them.
SELECT project_id AS id FROM entities WHERE id = ANY(%(ids)s::uuid[]) AND project_id IS NOT NULL
 UNION SELECT target_id FROM edges WHERE source_id = ANY(%(ids)s::uuid[])
 UNION SELECT source_id FROM edges WHERE target_id = ANY(%(ids)s::uuid[]);

-- name: find_pulse_texts
-- The Pulses, past ones too, and answers that were written from some sources (table/id), or are some records' own; of
-- sources of which only some values go, those that say one of these.
SELECT 'pulses' AS table_name, entity_id || '/' || level AS id, entity_id
  FROM pulses
 WHERE source_ids && %(told)s::text[] OR source_ids && %(said_of)s::text[] AND markdown ILIKE ANY(%(values)s::text[])
    OR entity_id = ANY(%(own)s::uuid[])
 UNION ALL
SELECT 'pulse_versions', entity_id || '/' || level || '/' || version, entity_id
  FROM pulse_versions
 WHERE source_ids && %(told)s::text[] OR source_ids && %(said_of)s::text[] AND markdown ILIKE ANY(%(values)s::text[])
    OR entity_id = ANY(%(own)s::uuid[])
 UNION ALL
SELECT 'pulse_questions', id::text, entity_id
  FROM pulse_questions
 WHERE source_ids && %(told)s::text[] OR source_ids && %(said_of)s::text[] AND markdown ILIKE ANY(%(values)s::text[])
    OR entity_id = ANY(%(own)s::uuid[]) OR asked_by = ANY(%(asked_by)s::text[])
 UNION ALL
SELECT 'pulse_ledgers', id::text, entity_id
  FROM pulse_ledgers WHERE source_ids && %(told)s::text[] OR entity_id = ANY(%(own)s::uuid[]);

-- name: list_object_keys
-- Where the bytes of what came with some messages lie.
SELECT a.object_key AS text
  FROM attachments a
 WHERE a.object_key IS NOT NULL AND (a.message_id = ANY(%(messages)s::uuid[]) OR a.session_id = ANY(%(sessions)s::uuid[]))
 UNION
SELECT m.media -> 'stored' ->> 'key'
  FROM messages m
 WHERE (m.id = ANY(%(messages)s::uuid[]) OR m.session_id = ANY(%(sessions)s::uuid[])) AND m.media -> 'stored' ? 'key';

-- name: find_archives
-- The archives that some messages, or all of some sessions, lie in; one that was begun and not ended too.
SELECT a.id, a.session_id, a.object_key
  FROM archived_messages a
 WHERE a.session_id = ANY(%(sessions)s::uuid[])
    OR EXISTS (SELECT FROM messages m
                WHERE m.id = ANY(%(messages)s::uuid[]) AND m.session_id = a.session_id
                  AND m.position BETWEEN a.first_position AND a.last_position);

-- name: list_models_and_channels
-- Which providers' models read what was said in some sessions, and which channels carried it.
SELECT 'model' AS table_name, provider AS id FROM llm_calls WHERE session_id = ANY(%(sessions)s::uuid[]) AND outcome = 'ok'
 UNION
SELECT 'channel', channel FROM sessions WHERE id = ANY(%(sessions)s::uuid[]);

-- name: list_addresses
-- By which numbers and names channels know some users.
SELECT address AS text FROM channel_identities WHERE user_id = ANY(%(ids)s::uuid[])
 UNION
SELECT phone FROM users WHERE id = ANY(%(ids)s::uuid[]) AND phone IS NOT NULL;

-- name: list_routing_keys
-- Which addresses of ours lead to the tenant.
SELECT key AS text FROM routing_keys WHERE tenant_id = current_tenant();

-- name: list_ledger_rows_after
-- Records of prompts from a month and a time on, in the order of their turns, some at a time: those of some sessions and
-- of a user's, or all others with those of Pulses.
SELECT * FROM (
    SELECT id AS turn_id, -1 AS step, month, prompt_inputs, NULL::bytea AS step_record, NULL::uuid AS session_id
      FROM pulse_ledgers
     WHERE NOT %(mine)s AND month >= %(month)s AND created_at >= %(since)s AND (id, -1) > (%(turn_id)s::uuid, %(step)s)
     UNION ALL
    SELECT l.turn_id, l.step, l.month, l.prompt_inputs, l.step_record, t.session_id
      FROM ledgers l
      JOIN turns t ON t.id = l.turn_id
      JOIN sessions s ON s.id = t.session_id
     WHERE l.month >= %(month)s AND l.at >= %(since)s AND (l.turn_id, l.step) > (%(turn_id)s::uuid, %(step)s)
       AND %(mine)s = (s.id = ANY(%(sessions)s::uuid[]) OR s.user_id IS NOT DISTINCT FROM %(user_id)s::uuid)) records
 ORDER BY turn_id, step
 LIMIT %(most)s;

-- name: find_ledger_rows
-- Some records of prompts, by turn and step; step -1: of Pulses.
SELECT l.turn_id, l.step, l.month, l.prompt_inputs, l.step_record, NULL::uuid AS session_id
  FROM unnest(%(turns)s::uuid[], %(steps)s::int[]) AS one (turn_id, step)
  JOIN ledgers l ON l.turn_id = one.turn_id AND l.step = one.step
 UNION ALL
SELECT p.id, -1, p.month, p.prompt_inputs, NULL, NULL FROM pulse_ledgers p WHERE p.id = ANY(%(turns)s::uuid[]);

-- name: update_ledger_row
-- The record of a prompt as it is from now on; step -1: of a Pulse's.
WITH written AS (
    UPDATE pulse_ledgers SET prompt_inputs = %(basis)s WHERE %(step)s = -1 AND id = %(turn_id)s
)
UPDATE ledgers SET prompt_inputs = %(basis)s, step_record = %(made)s WHERE turn_id = %(turn_id)s AND step = %(step)s;

-- name: find_first_month
-- The month of the first record of a prompt that is left.
SELECT month FROM (SELECT min(month) AS month FROM ledgers UNION SELECT min(month) FROM pulse_ledgers) kept
 WHERE month IS NOT NULL ORDER BY month LIMIT 1;

-- name: find_texts_matching
-- Which of some texts of a month say one of some words.
SELECT hash AS text FROM ledger_texts
 WHERE month = %(month)s AND hash = ANY(%(hashes)s::text[]) AND text ILIKE ANY(%(patterns)s::text[]);

-- name: close_sessions_and_work
-- Whoever is at some sessions is so no more: what they would write is refused. Nobody looks at their work again.
WITH closed AS (
    UPDATE sessions SET lease_token = lease_token + 1, lease_until = NULL, lease_holder = NULL
     WHERE id = ANY(%(ids)s::uuid[])
)
DELETE FROM work_due WHERE tenant_id = current_tenant() AND id = ANY(%(work)s::uuid[]);

-- name: revoke_job_leases
-- Whoever is at some work of memory, or at some records' Pulses, read what is forgotten now: it is done anew. Whoever
-- moves old messages away waits until all of it is gone.
WITH moving AS (
    UPDATE work_due SET leased_until = NULL, due_at = GREATEST(due_at, %(now)s + interval '10 minutes')
     WHERE tenant_id = current_tenant() AND kind = 'archive'
)
UPDATE work_due SET leased_until = NULL, due_at = %(now)s
 WHERE tenant_id = current_tenant() AND kind IN ('extraction', 'summary', 'consolidation', 'pulse')
   AND id = ANY(%(ids)s::uuid[]) AND leased_until IS NOT NULL;

-- name: redact_messages
-- Messages stay where they were in their conversations, without anything that was said in them.
UPDATE messages SET body = '', media = NULL, metadata = '{}', indexed = true, archive_id = NULL
 WHERE id = ANY(%(ids)s::uuid[]);

-- name: redact_turns
-- Turns and their calls stay, without what models, tools and the web were told; a reply that was not sent is not.
WITH asked AS (
    UPDATE steps SET blocks = '[]' WHERE turn_id = ANY(%(turns)s::uuid[]) AND blocks IS NOT NULL
), acted AS (
    UPDATE tool_calls
       SET arguments = '{}', interim = NULL, code = NULL, detail = '',
           result = CASE WHEN result IS NOT NULL THEN '{"ok": true, "erased": true}'::jsonb END
     WHERE turn_id = ANY(%(turns)s::uuid[])
), handed AS (
    UPDATE handoffs SET reason = '', brief = '' WHERE turn_id = ANY(%(turns)s::uuid[])
), opened AS (
    UPDATE inbox_threads SET reason_text = ''
     WHERE session_id IN (SELECT session_id FROM turns WHERE id = ANY(%(turns)s::uuid[]))
), questions AS (
    DELETE FROM approvals a USING tool_calls c
     WHERE c.tenant_id = a.tenant_id AND c.id = a.tool_call_id AND c.turn_id = ANY(%(turns)s::uuid[])
), streamed AS (
    DELETE FROM events WHERE turn_id = ANY(%(turns)s::uuid[])
), cited AS (
    DELETE FROM citations WHERE message_id = ANY(%(messages)s::uuid[])
), attached AS (
    DELETE FROM attachments WHERE message_id = ANY(%(messages)s::uuid[]) OR file_id = %(file_id)s
), unsent AS (
    UPDATE outbox SET state = 'failed', problem = 'erased'
     WHERE message_id = ANY(%(messages)s::uuid[]) AND state IN ('pending', 'held')
)
UPDATE turns SET tool_messages = NULL, problem = NULL WHERE id = ANY(%(turns)s::uuid[]);

-- name: delete_context_rows
-- Take searchable rows away, and with them their vectors and numbers.
DELETE FROM context_rows WHERE id = ANY(%(ids)s::uuid[]);

-- name: detach_supported_facts
-- Facts that another message says as well stay, and are that one's from now on.
UPDATE facts f
   SET message_ids = ARRAY(SELECT one FROM unnest(f.message_ids) AS one WHERE one <> ALL(%(messages)s::uuid[]))
 WHERE f.message_ids && %(messages)s::uuid[]
   AND EXISTS (SELECT FROM messages m
                WHERE m.id = ANY(f.message_ids) AND m.id <> ALL(%(messages)s::uuid[]) AND m.direction = 'inbound'
                  AND strpos(lower(CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END), lower(f.value)) > 0)
RETURNING f.id;

-- name: find_superseded_facts
-- What was so before some facts took its place, the last of each key: facts that go too are looked behind.
WITH RECURSIVE behind (id) AS (
    SELECT f.id FROM facts f WHERE f.superseded_by = ANY(%(ids)s::uuid[])
     UNION
    SELECT f.id FROM behind b JOIN facts f ON f.superseded_by = b.id WHERE b.id = ANY(%(ids)s::uuid[])
)
SELECT DISTINCT ON (f.scope, f.user_id, f.binding_id, f.human_id, f.team_id, f.key, f.member) f.id
  FROM behind b
  JOIN facts f ON f.id = b.id
 WHERE f.id <> ALL(%(ids)s::uuid[]) AND f.end_reason IN ('refined', 'corrected', 'contradicted')
 ORDER BY f.scope, f.user_id, f.binding_id, f.human_id, f.team_id, f.key, f.member, f.valid_from DESC, f.id;

-- name: record_fact_erasure
-- That a fact was forgotten, so that the messages which it was drawn from do not make it anew; nothing of what it said.
INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, key, origin, decision, message_ids, decided_at)
SELECT f.tenant_id, %(id)s, f.user_id, f.binding_id, f.session_id, f.key, f.origin, 'erased', f.message_ids, %(now)s
  FROM facts f
 WHERE f.id = %(fact_id)s AND f.user_id IS NOT NULL
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: delete_facts
-- Take facts away, and what is known of how they came about and where they were recalled. Of one that was forgotten
-- before it is known by the messages that are left.
WITH known AS (
    UPDATE fact_decisions
       SET message_ids = ARRAY(SELECT one FROM unnest(message_ids) AS one WHERE one <> ALL(%(messages)s::uuid[]))
     WHERE decision = 'erased' AND message_ids && %(messages)s::uuid[] AND id <> ALL(%(decisions)s::uuid[])
), told AS (
    DELETE FROM fact_decisions WHERE id = ANY(%(decisions)s::uuid[]) OR fact_id = ANY(%(ids)s::uuid[])
)
DELETE FROM facts WHERE id = ANY(%(ids)s::uuid[]);

-- name: restore_facts
-- Facts are so again, unless their key has a live one.
UPDATE facts f
   SET valid_until = NULL, end_reason = NULL, superseded_by = NULL
 WHERE f.id = ANY(%(ids)s::uuid[])
   AND NOT EXISTS (SELECT FROM facts o
                    WHERE o.valid_until IS NULL AND o.key = f.key AND o.scope = f.scope
                      AND (o.user_id, o.binding_id, o.human_id, o.team_id, o.member)
                          IS NOT DISTINCT FROM (f.user_id, f.binding_id, f.human_id, f.team_id, f.member))
RETURNING f.id;

-- name: delete_session_memory
-- Take away what some conversations came to: episodes, summaries (as session/version), what was kept word for word, and
-- the state of the agent in them. What a consolidation made from their first such turn on is made again.
WITH back AS MATERIALIZED (
    SELECT o.id, LEAST(o.number, min(n.number)) - 1 AS until
      FROM unnest(%(sessions)s::uuid[], %(firsts)s::int[]) AS o (id, number)
      LEFT JOIN episodes p ON p.session_id = o.id AND p.id = ANY(%(episodes)s::uuid[]) AND p.origin = 'consolidated'
      LEFT JOIN messages m ON m.id = ANY(p.message_ids)
      LEFT JOIN turns n ON n.id = m.turn_id
     GROUP BY o.id, o.number
), lived AS (
    DELETE FROM episodes WHERE id = ANY(%(episodes)s::uuid[])
), kept AS (
    DELETE FROM summary_key_details WHERE id = ANY(%(kept)s::uuid[])
), understood AS (
    DELETE FROM agent_states WHERE session_id = ANY(%(states)s::uuid[])
), again AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT s.tenant_id, 'consolidation', s.id, %(now)s
      FROM back b JOIN sessions s ON s.id = b.id AND s.consolidated_turn > b.until
        ON CONFLICT (tenant_id, kind, id) DO NOTHING
), changed AS (
    UPDATE sessions s
       SET consolidated_turn = LEAST(s.consolidated_turn, COALESCE(b.until, s.consolidated_turn)),
           title = CASE WHEN g.is_gone THEN '' ELSE s.title END, titled_by = CASE WHEN g.is_gone THEN '' ELSE s.titled_by END
      FROM unnest(%(sessions)s::uuid[] || %(titled)s::uuid[] || %(saying)s::uuid[]) AS one (id)
      LEFT JOIN back b ON b.id = one.id
     CROSS JOIN LATERAL (SELECT one.id = ANY(%(saying)s::uuid[]) AS said) t
     CROSS JOIN LATERAL (
           SELECT t.said OR one.id = ANY(%(titled)s::uuid[])
                            AND (SELECT o.titled_by FROM sessions o WHERE o.id = one.id) IN ('code', 'model') AS is_gone) g
     WHERE s.id = one.id
)
DELETE FROM summaries WHERE session_id || '/' || version = ANY(%(summaries)s::text[]);

-- name: recount_anchors
-- How many anchors some sessions have left, and how many of their messages these cover.
UPDATE session_memory_state x
   SET anchor_count = n.anchors, anchored_message_count = LEAST(x.anchored_message_count, n.anchors * %(each)s)
  FROM (SELECT s.id, count(r.id)::int AS anchors
          FROM unnest(%(sessions)s::uuid[]) AS s (id)
          LEFT JOIN context_rows r ON r.session_id = s.id AND r.kind = 'summary_anchor'
         GROUP BY s.id) n
 WHERE x.session_id = n.id;

-- name: delete_pulse_texts
-- Take away what was written from some sources (table/id) or about some records, what says some values of others, and
-- what somebody asked.
WITH earlier AS (
    DELETE FROM pulse_versions
     WHERE source_ids && %(told)s::text[] OR source_ids && %(said_of)s::text[] AND markdown ILIKE ANY(%(values)s::text[])
        OR entity_id = ANY(%(own)s::uuid[])
), questions AS (
    DELETE FROM pulse_questions
     WHERE source_ids && %(told)s::text[] OR source_ids && %(said_of)s::text[] AND markdown ILIKE ANY(%(values)s::text[])
        OR entity_id = ANY(%(own)s::uuid[]) OR asked_by = ANY(%(asked_by)s::text[])
)
DELETE FROM pulses
 WHERE source_ids && %(told)s::text[] OR source_ids && %(said_of)s::text[] AND markdown ILIKE ANY(%(values)s::text[])
    OR entity_id = ANY(%(own)s::uuid[]);

-- name: redact_records
-- Records and documents are deleted, and nothing is left in them; links that somebody wanted go.
WITH papers AS (
    UPDATE documents
       SET title = '', description = '', content = '', content_hash = '', key = id::text, metadata = '{}',
           deleted_at = COALESCE(deleted_at, %(now)s)
     WHERE id = ANY(%(documents)s::uuid[])
), links AS (
    DELETE FROM edges WHERE id = ANY(%(edges)s::uuid[])
), cited AS (
    DELETE FROM citations WHERE entity_id = ANY(%(ids)s::uuid[]) OR document_id = ANY(%(documents)s::uuid[])
)
UPDATE entities
   SET name = '', key = id::text, properties = '{}', version = version + 1, updated_at = %(now)s,
       deleted_at = COALESCE(deleted_at, %(now)s), stale_since = NULL, stale_causes = '{}', stale_marks = '{}'
 WHERE id = ANY(%(ids)s::uuid[]);

-- name: delete_deltas
-- Take away what tells of a record's changes that says some words, and what one call or act left there.
DELETE FROM context_rows
 WHERE entity_id = %(id)s AND kind = 'delta'
   AND (id = ANY(%(rows)s::uuid[]) OR metadata ->> 'origin' = %(origin)s OR content ILIKE ANY(%(patterns)s::text[]));

-- name: revoke_session_leases
-- Whoever is at some sessions is so no more: what they would write is refused, and their turns are begun anew.
UPDATE sessions SET lease_token = lease_token + 1, lease_until = NULL, lease_holder = NULL WHERE id = ANY(%(ids)s::uuid[]);

-- name: redact_texts
-- Texts of a month that are forgotten leave their rows, so that none comes back by a prompt that is under way; short
-- ones, which others are likely to say as well, do not.
WITH short AS (
    DELETE FROM ledger_texts
     WHERE month = %(month)s AND hash = ANY(%(hashes)s::text[]) AND length(text) < %(short)s
)
UPDATE ledger_texts SET text = NULL
 WHERE month = %(month)s AND hash = ANY(%(hashes)s::text[]) AND length(text) >= %(short)s;

-- name: delete_texts
-- Texts of a month that no record names any more.
DELETE FROM ledger_texts WHERE month = %(month)s AND hash = ANY(%(hashes)s::text[]);

-- name: list_sessions_of
-- The conversations of some users.
SELECT id FROM sessions WHERE user_id = ANY(%(users)s::uuid[]);

-- name: find_newer_turns
-- The turns of some users besides some.
SELECT t.id
  FROM turns t
 WHERE t.session_id = ANY(ARRAY(SELECT id FROM sessions WHERE user_id = ANY(%(users)s::uuid[])))
   AND t.id <> ALL(%(turns)s::uuid[]);

-- name: delete_messages
-- Take messages away, with what was made of each.
DELETE FROM messages WHERE id = ANY(%(ids)s::uuid[]);

-- name: delete_turns
-- Take turns away, with everything that was done in them.
DELETE FROM turns WHERE id = ANY(%(ids)s::uuid[]);

-- name: delete_sessions
-- Take sessions away, with everything that was said and done in them.
DELETE FROM sessions WHERE id = ANY(%(ids)s::uuid[]);

-- name: anonymise_users
-- Users are known to channels no more, nor by name: whoever writes from there from now on is somebody new. Also what
-- others tried to join their number with goes.
WITH tried AS (
    DELETE FROM phone_links WHERE phone IN (SELECT phone FROM users WHERE id = ANY(%(ids)s::uuid[]))
), known AS (
    DELETE FROM channel_identities WHERE user_id = ANY(%(ids)s::uuid[])
), streams AS (
    DELETE FROM open_streams WHERE user_id = ANY(%(ids)s::uuid[])
), counted AS (
    DELETE FROM rate_limits
     WHERE scope = 'visitor' AND right(key, 36) = ANY(%(ids)s::uuid[]::text[])
)
UPDATE users SET phone = NULL, display_name = NULL, token_epoch = token_epoch + 1 WHERE id = ANY(%(ids)s::uuid[]);

-- name: delete_users
-- Take a user away, with whoever turned out to be the same person; also what others tried to join their number with.
WITH tried AS (
    DELETE FROM phone_links WHERE phone IN (SELECT phone FROM users WHERE id = ANY(%(ids)s::uuid[]))
), counted AS (
    DELETE FROM rate_limits
     WHERE scope = 'visitor' AND right(key, 36) = ANY(%(ids)s::uuid[]::text[])
)
DELETE FROM users WHERE id = ANY(%(ids)s::uuid[]);

-- name: update_archive
-- An archive without some of its messages.
UPDATE archived_messages SET message_count = %(messages)s, size_bytes = %(size_bytes)s, sha256 = %(sha256)s WHERE id = %(id)s;

-- name: delete_archives
-- Archives of which nothing is left.
DELETE FROM archived_messages WHERE id = ANY(%(ids)s::uuid[]);

-- name: begin_erasure
-- Something is being forgotten from now on, unless it is already.
INSERT INTO erasures (tenant_id, id, kind, target_id, requested_by, keep_records, state, report, at)
VALUES (current_tenant(), %(id)s, %(kind)s, %(target_id)s, %(asked_by)s, %(keep_records)s, 'running', %(report)s, %(at)s)
ON CONFLICT DO NOTHING;

-- name: lock_running_erasure
-- How far the forgetting of something got; nobody else goes on with it meanwhile.
SELECT id, requested_by, keep_records, at, search_progress, remaining_work AS remaining_work, partial_report, completed_work
  FROM erasures
 WHERE kind = %(kind)s AND target_id = %(target_id)s AND state = 'running'
   FOR UPDATE;

-- name: save_search_progress
-- How far the records of prompts were looked through.
UPDATE erasures SET search_progress = %(seen)s WHERE id = %(id)s AND state = 'running';

-- name: save_remaining_work
-- What is left to do, and what became of each row.
UPDATE erasures SET search_progress = NULL, remaining_work = %(left)s, partial_report = %(told)s, completed_work = %(done)s
 WHERE id = %(id)s AND state = 'running';

-- name: save_completed_work
-- What is done of it.
UPDATE erasures SET completed_work = %(done)s WHERE id = %(id)s AND state = 'running';

-- name: finish_erasure
-- It is over: what became of each row stays, and nothing else.
UPDATE erasures
   SET state = 'done', search_progress = NULL, remaining_work = NULL, partial_report = NULL, completed_work = NULL, report = %(report)s, at = %(at)s
 WHERE id = %(id)s AND state = 'running';

-- name: list_erasures
-- What was forgotten, latest first, behind a position, without what became of each row.
SELECT id, kind, target_id, requested_by, report -> 'counts' AS counts, state = 'done' AS finished, at
  FROM erasures
 WHERE %(after_id)s::uuid IS NULL OR (at, id) < (%(after_at)s::timestamptz, %(after_id)s)
 ORDER BY at DESC, id DESC
 LIMIT %(most)s;

-- name: find_reports
-- What was forgotten, latest first: one of them, what became of one target, or all.
SELECT id, kind, target_id, requested_by, keep_records, state, report, at
  FROM erasures
 WHERE (%(id)s::uuid IS NULL OR id = %(id)s)
   AND (%(target_id)s::uuid IS NULL OR target_id = %(target_id)s AND kind = %(kind)s)
 ORDER BY at DESC, id DESC
 LIMIT %(most)s;
