-- Old messages, and where they lie once they are not here any more.

-- name: find_old_sessions
-- Sessions that have messages from before some time that are not archived, some at a time: of one that is silent since
-- before then all count, of others not those of the newest turns.
SELECT s.id
  FROM sessions s
 CROSS JOIN LATERAL (
       SELECT max(t.number) - CASE WHEN s.last_active_at < %(before)s THEN 0 ELSE %(kept)s::int END AS number
         FROM turns t WHERE t.session_id = s.id) newest
 WHERE s.created_at < %(before)s AND s.id > %(last)s
   AND EXISTS (SELECT FROM messages m JOIN turns t ON t.id = m.turn_id
                WHERE m.session_id = s.id AND m.archive_id IS NULL AND m.indexed AND m.body <> ''
                  AND m.received_at < %(before)s AND m.state IN ('answered', 'reply', 'ignored')
                  AND t.number <= newest.number)
 ORDER BY s.id
 LIMIT %(most)s;

-- name: lock_old_messages
-- The oldest of a session's messages from before some time that are not archived, in order, as far as they count; until
-- the transaction ends nobody forgets one.
SELECT m.id, m.position, m.turn_id, m.direction, m.channel, m.kind, m.body, m.sent_at, m.received_at, m.metadata
  FROM messages m
  JOIN turns t ON t.id = m.turn_id
 WHERE m.session_id = %(session_id)s AND m.archive_id IS NULL AND m.indexed AND m.body <> ''
   AND m.received_at < %(before)s AND m.state IN ('answered', 'reply', 'ignored')
   AND t.number <= (SELECT max(n.number) - CASE WHEN s.last_active_at < %(before)s THEN 0 ELSE %(kept)s::int END
                      FROM sessions s JOIN turns n ON n.session_id = s.id
                     WHERE s.id = %(session_id)s
                     GROUP BY s.last_active_at)
 ORDER BY m.position
 LIMIT %(most)s
   FOR UPDATE OF m;

-- name: begin_archive
-- Write down where an archive will lie before it does. One of the session's that was begun and not ended is that one
-- again: until then it covers both, for some of its bytes may be there.
WITH begun AS (
    UPDATE archived_messages
       SET first_position = LEAST(first_position, %(first_position)s),
           last_position = GREATEST(last_position, %(last_position)s)
     WHERE id = (SELECT a.id FROM archived_messages a
                  WHERE a.session_id = %(session_id)s
                    AND NOT EXISTS (SELECT FROM messages m WHERE m.archive_id = a.id)
                  ORDER BY a.id LIMIT 1)
    RETURNING id, object_key
), made AS (
    INSERT INTO archived_messages (tenant_id, id, session_id, object_key, first_position, last_position, from_at, until_at,
                                   message_count, size_bytes, sha256, created_at)
    SELECT current_tenant(), %(id)s, %(session_id)s, %(object_key)s, %(first_position)s, %(last_position)s, %(from_at)s,
           %(until_at)s, 0, 0, '', %(now)s
     WHERE NOT EXISTS (SELECT FROM begun)
    RETURNING id, object_key
)
SELECT id, object_key FROM begun UNION ALL SELECT id, object_key FROM made;

-- name: end_archive
-- The messages lie in their archive: their words are here no more, but in their searchable rows, and how the reader
-- of a reply counts its sources.
WITH ended AS (
    UPDATE archived_messages
       SET first_position = %(first_position)s, last_position = %(last_position)s, from_at = %(from_at)s,
           until_at = %(until_at)s, message_count = %(messages)s, size_bytes = %(size_bytes)s, sha256 = %(sha256)s
     WHERE id = %(id)s
    RETURNING id
)
UPDATE messages m
   SET body = '', archive_id = e.id,
       metadata = jsonb_strip_nulls(jsonb_build_object('cited_numbers', m.metadata -> 'cited_numbers'))
  FROM ended e
 WHERE m.id = ANY(%(ids)s::uuid[]);
