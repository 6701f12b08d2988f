-- name: want_summary
-- A session's older turns want a summary; one that is wanted already, or was tried in vain a while ago, waits its time.
INSERT INTO work_due (tenant_id, kind, id, due_at)
VALUES (current_tenant(), 'summary', %(session_id)s, %(due_at)s)
ON CONFLICT (tenant_id, kind, id) DO NOTHING;

-- name: summarised_session
-- A session as its summary is written: whose it is and through which binding, what it is called, how its messages are
-- classified, and how many of its messages its anchors cover. None of one that is gone.
SELECT s.user_id, s.binding_id, COALESCE(NULLIF(s.title, ''), b.display_name) AS title, h.display_name AS speaker,
       COALESCE(u.clearance, b.clearance) AS classification,
       COALESCE(x.anchors, 0) AS anchors, COALESCE(x.anchored, 0) AS anchored
  FROM sessions s
  JOIN users u ON u.id = s.user_id
  JOIN bindings b ON b.id = s.binding_id
  JOIN humans h ON h.id = b.human_id
  LEFT JOIN extractions x ON x.session_id = s.id
 WHERE s.id = %(session_id)s;

-- name: base_summary
-- The newest of a session's summaries that rests on nothing which was deleted or is above the clearance by now; with
-- words: of those that have some, or went past what no model would tell of.
SELECT s.version, s.until_turn, s.text, s.messages
  FROM (SELECT * FROM summaries WHERE session_id = %(session_id)s ORDER BY version DESC OFFSET 0) s, fate_of(s.told_of) f
 WHERE (s.text <> '' OR s.is_passed OR NOT %(words)s)
   AND f.level <= %(clearance)s AND NOT f.is_gone
 ORDER BY s.version DESC
 LIMIT 1;

-- name: turns_after
-- A session's turns after one that are over, oldest first, with what was said in them and by whom; whether what they
-- replied was drawn from something, and whether from what is deleted or above the clearance by now. What a tool answered
-- is nobody's word.
WITH turn AS MATERIALIZED (
    SELECT t.id, t.number
      FROM turns t
     WHERE t.session_id = %(session_id)s AND t.number > %(after)s AND t.state <> 'open'
     ORDER BY t.number
     LIMIT %(most)s
), drawn AS MATERIALIZED (
    SELECT source.turn_id, bool_or(source.level > %(clearance)s OR source.is_gone) AS is_closed
      FROM (SELECT array_agg(id) AS ids FROM turn) asked, drawn_from(asked.ids) source
     GROUP BY source.turn_id
)
SELECT t.id, t.number, COALESCE(d.is_closed, false) AS is_closed, d.turn_id IS NOT NULL AS is_drawn,
       COALESCE((SELECT jsonb_agg(jsonb_build_object('id', m.id, 'ours', m.direction = 'outbound', 'body',
                                                     CASE WHEN m.archive_id IS NULL THEN m.body ELSE words_of(m.id) END,
                                                     'sent_at', m.sent_at) ORDER BY m.position)
                   FROM messages m
                  WHERE m.turn_id = t.id AND m.kind <> 'tool_result'), '[]') AS messages
  FROM turn t
  LEFT JOIN drawn d ON d.turn_id = t.id
 ORDER BY t.number;

-- name: keep_summary
-- A further version of a session's summary; with what its turns and the version that it goes on from were drawn from.
-- Nothing where any of that was deleted while it was being written: it tells of it, and nothing would say so.
INSERT INTO summaries (tenant_id, session_id, version, until_turn, text, kept_ids, dropped_ids, messages, told_of, is_passed,
                       provider, model, cost_usd, created_at)
SELECT current_tenant(), %(session_id)s,
       1 + COALESCE((SELECT max(version) FROM summaries WHERE session_id = %(session_id)s), 0), %(until)s, %(text)s,
       %(kept)s, %(dropped)s, %(messages)s,
       ARRAY(SELECT unnest(b.told_of) FROM summaries b WHERE b.session_id = %(session_id)s AND b.version = %(base)s
              UNION
             SELECT source FROM sources_of(%(turns)s::uuid[])
              ORDER BY 1),
       %(is_passed)s, %(provider)s, %(model)s, %(cost_usd)s, %(now)s
 WHERE NOT EXISTS (SELECT FROM drawn_from(%(turns)s::uuid[]) source WHERE source.is_gone)
RETURNING version;

-- name: keep_line
-- Something that must survive in its own words, where it was said first; said again, it is as young as that.
INSERT INTO kept_verbatim (tenant_id, id, session_id, message_id, turn, last_turn, kind, value, text, ours, untold,
                           created_at)
SELECT current_tenant(), %(id)s, %(session_id)s, m.id, %(turn)s, %(turn)s, %(kind)s, %(value)s, %(text)s, %(ours)s, true,
       %(now)s
  FROM messages m
 WHERE m.id = %(message_id)s
ON CONFLICT (tenant_id, session_id, kind, value) DO UPDATE
   SET last_turn = GREATEST(kept_verbatim.last_turn, EXCLUDED.last_turn);

-- name: newest_lines
-- What must survive of a session, what was said last first.
SELECT id, kind, value, untold
  FROM kept_verbatim
 WHERE session_id = %(session_id)s
 ORDER BY last_turn DESC, id DESC
 LIMIT %(most)s;

-- name: lost_lines
-- What a session's user said that must survive and the newest summary does not say, what was said last first.
SELECT text
  FROM kept_verbatim
 WHERE session_id = %(session_id)s AND untold AND NOT ours
 GROUP BY text
 ORDER BY max(last_turn) DESC, text
 LIMIT %(most)s;

-- name: note_told
-- Which of these lines the newest summary says itself.
UPDATE kept_verbatim SET untold = NOT untold WHERE id = ANY(%(ids)s);

-- name: anchored_until
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

-- name: note_anchored
-- How many anchors a session has, and how many of its messages they cover.
INSERT INTO extractions (tenant_id, session_id, anchors, anchored)
VALUES (current_tenant(), %(session_id)s, %(anchors)s, %(anchored)s)
ON CONFLICT (tenant_id, session_id) DO UPDATE SET anchors = EXCLUDED.anchors, anchored = EXCLUDED.anchored;
