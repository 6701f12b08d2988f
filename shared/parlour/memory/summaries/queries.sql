-- name: schedule_summary
-- A session's older turns want a summary; one that is wanted already, or was tried in vain a while ago, waits its time.
INSERT INTO work_due (tenant_id, kind, id, due_at)
VALUES (current_tenant(), 'summary', %(session_id)s, %(due_at)s)
ON CONFLICT (tenant_id, kind, id) DO NOTHING;

-- name: find_session
-- A session as its summary is written: whose it is and through which binding, what it is called, how its messages are
-- classified, and how many of its messages its anchors cover. None of one that is gone.
SELECT s.user_id, s.binding_id, COALESCE(NULLIF(s.title, ''), b.display_name) AS title, h.display_name AS agent_name,
       COALESCE(u.clearance, GREATEST(b.clearance, s.answering_clearance)) AS classification,
       COALESCE(x.anchor_count, 0) AS anchor_count, COALESCE(x.anchored_message_count, 0) AS anchored_message_count
  FROM sessions s
  JOIN users u ON u.id = s.user_id
  JOIN bindings b ON b.id = s.binding_id
  JOIN humans h ON h.id = b.human_id
  LEFT JOIN session_memory_state x ON x.session_id = s.id
 WHERE s.id = %(session_id)s;

-- name: find_base_summary
-- The newest of a session's summaries that rests on nothing which was deleted or is above the clearance by now; with
-- words: of those that have some, or went past what no model would tell of.
SELECT s.version, s.until_turn, s.text, s.message_count
  FROM (SELECT * FROM summaries WHERE session_id = %(session_id)s ORDER BY version DESC OFFSET 0) s, source_status(s.source_ids) f
 WHERE (s.text <> '' OR s.is_skipped OR NOT %(words)s)
   AND f.classification <= %(clearance)s AND NOT f.is_deleted
 ORDER BY s.version DESC
 LIMIT 1;

-- name: list_turns_after
-- A session's turns after one that are over, oldest first, with what was said in them and by whom, what their calls did
-- and which results came late; whether what they
-- replied was drawn from something, and whether from what is deleted or above the clearance by now. What a tool answered
-- is nobody's word, nor is what the runtime wrote below a reply (`own_chars`), and a reply that was stopped before it was sent was not said: only on the web it was read as it came.
WITH turn AS MATERIALIZED (
    SELECT t.id, t.number, t.state, t.tool_messages
      FROM turns t
     WHERE t.session_id = %(session_id)s AND t.number > %(after)s AND t.state <> 'open'
     ORDER BY t.number
     LIMIT %(most)s
), drawn AS MATERIALIZED (
    SELECT source.turn_id, bool_or(source.classification > %(clearance)s OR source.is_deleted) AS is_reply_withheld
      FROM (SELECT array_agg(id) AS ids FROM turn) asked, turn_source_status(asked.ids) source
     GROUP BY source.turn_id
)
SELECT t.id, t.number, COALESCE(d.is_reply_withheld, false) AS is_reply_withheld, d.turn_id IS NOT NULL AS has_reply_sources,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('id', m.id, 'from_agent', m.direction = 'outbound', 'body',
                                                     left(CASE WHEN m.archive_id IS NULL THEN m.body ELSE archived_text(m.id) END,
                                                          COALESCE((m.metadata ->> 'own_chars')::int, 1000000)),
                                                     'sent_at', m.sent_at) ORDER BY m.position)
                   FROM messages m
                  WHERE m.turn_id = t.id AND m.kind <> 'tool_result'
                    AND (m.direction = 'inbound' OR t.state <> 'stopped' OR m.channel = 'web')), '[]') AS messages,
       COALESCE(t.tool_messages, '[]') AS tool_messages,
       ARRAY(SELECT m.body FROM messages m WHERE m.turn_id = t.id AND m.kind = 'tool_result' AND m.archive_id IS NULL
              ORDER BY m.position) AS late_results
  FROM turn t
  LEFT JOIN drawn d ON d.turn_id = t.id
 ORDER BY t.number;

-- name: add_summary
-- A further version of a session's summary; with what its turns and the version that it goes on from were drawn from.
-- Nothing where any of that was deleted while it was being written: it tells of it, and nothing would say so.
INSERT INTO summaries (tenant_id, session_id, version, until_turn, text, included_message_ids, omitted_message_ids, message_count, source_ids, is_skipped,
                       provider, model, cost_usd, created_at)
SELECT current_tenant(), %(session_id)s,
       1 + COALESCE((SELECT max(version) FROM summaries WHERE session_id = %(session_id)s), 0), %(until)s, %(text)s,
       %(kept)s, %(dropped)s, %(messages)s,
       ARRAY(SELECT unnest(b.source_ids) FROM summaries b WHERE b.session_id = %(session_id)s AND b.version = %(base)s
              UNION
             SELECT source FROM turn_source_ids(%(turns)s::uuid[])
              ORDER BY 1),
       %(is_passed)s, %(provider)s, %(model)s, %(cost_usd)s, %(now)s
 WHERE NOT EXISTS (SELECT FROM turn_source_status(%(turns)s::uuid[]) source WHERE source.is_deleted)
RETURNING version;

-- name: add_key_detail
-- Something that must survive in its own words, where it was said first; said again, it is as young as that.
INSERT INTO summary_key_details (tenant_id, id, session_id, message_id, first_turn, last_turn, kind, value, text, from_agent, missing_from_summary,
                           created_at)
SELECT current_tenant(), %(id)s, %(session_id)s, m.id, %(turn)s, %(turn)s, %(kind)s, %(value)s, %(text)s, %(ours)s, true,
       %(now)s
  FROM messages m
 WHERE m.id = %(message_id)s
ON CONFLICT (tenant_id, session_id, kind, value) DO UPDATE
   SET last_turn = GREATEST(summary_key_details.last_turn, EXCLUDED.last_turn);

-- name: list_newest_details
-- What must survive of a session, what was said last first.
SELECT id, kind, value, missing_from_summary
  FROM summary_key_details
 WHERE session_id = %(session_id)s
 ORDER BY last_turn DESC, id DESC
 LIMIT %(most)s;

-- name: list_lost_details
-- What a session's user said that must survive and the newest summary does not say, what was said last first.
SELECT text
  FROM summary_key_details
 WHERE session_id = %(session_id)s AND missing_from_summary AND NOT from_agent
 GROUP BY text
 ORDER BY max(last_turn) DESC, text
 LIMIT %(most)s;

-- name: toggle_missing
-- Which of these lines the newest summary says itself.
UPDATE summary_key_details SET missing_from_summary = NOT missing_from_summary WHERE id = ANY(%(ids)s);

-- name: find_last_anchored_turn
-- The last turn that a session's newest anchor tells of.
SELECT COALESCE((r.metadata ->> 'to_turn')::int, 0)
  FROM context_rows r
 WHERE r.session_id = %(session_id)s AND r.kind = 'summary_anchor'
 ORDER BY r.ordinal DESC
 LIMIT 1;

-- name: add_anchor
-- An anchor, once, to be searched with the session's messages.
INSERT INTO context_rows (tenant_id, id, session_id, kind, ordinal, title, content, content_hash, classification, metadata,
                          pending, created_at)
SELECT current_tenant(), %(id)s, %(session_id)s, 'summary_anchor', %(ordinal)s, %(title)s, %(content)s, %(content_hash)s,
       %(classification)s, %(metadata)s, true, %(now)s
ON CONFLICT (tenant_id, session_id, ordinal) WHERE kind = 'summary_anchor' DO NOTHING;

-- name: set_anchor_counts
-- How many anchors a session has, and how many of its messages they cover.
INSERT INTO session_memory_state (tenant_id, session_id, anchor_count, anchored_message_count)
VALUES (current_tenant(), %(session_id)s, %(anchors)s, %(anchored)s)
ON CONFLICT (tenant_id, session_id) DO UPDATE SET anchor_count = EXCLUDED.anchor_count, anchored_message_count = EXCLUDED.anchored_message_count;
