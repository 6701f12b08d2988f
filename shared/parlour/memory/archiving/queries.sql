-- Old messages, and where they lie once they are not here any more.

-- name: old_sessions
-- Sessions that have messages from before some time, besides their newest turns, that are not archived: some at a time.
SELECT s.id
  FROM sessions s
 CROSS JOIN LATERAL (
       SELECT max(t.number) - %(kept)s::int AS number FROM turns t WHERE t.session_id = s.id) newest
 WHERE s.created_at < %(before)s
   AND EXISTS (SELECT FROM messages m JOIN turns t ON t.id = m.turn_id
                WHERE m.session_id = s.id AND m.archive_id IS NULL AND m.indexed AND m.body <> ''
                  AND m.received_at < %(before)s AND m.state IN ('answered', 'reply', 'ignored')
                  AND t.number <= newest.number)
 ORDER BY s.id
 LIMIT %(most)s;

-- name: old_messages
-- The oldest of a session's messages from before some time that are not archived, in order, besides its newest turns.
SELECT m.id, m.position, m.turn_id, m.direction, m.channel, m.kind, m.body, m.sent_at, m.received_at, m.metadata
  FROM messages m
  JOIN turns t ON t.id = m.turn_id
 WHERE m.session_id = %(session_id)s AND m.archive_id IS NULL AND m.indexed AND m.body <> ''
   AND m.received_at < %(before)s AND m.state IN ('answered', 'reply', 'ignored')
   AND t.number <= (SELECT max(n.number) - %(kept)s::int FROM turns n WHERE n.session_id = %(session_id)s)
 ORDER BY m.position
 LIMIT %(most)s;

-- name: begin_archive
-- Write down where an archive will lie before it does; one that was begun with the same message is that one again.
INSERT INTO archived_messages (tenant_id, id, session_id, object_key, first_position, last_position, from_at, until_at,
                               messages, size_bytes, sha256, created_at)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(object_key)s, %(first_position)s, %(last_position)s, %(from_at)s,
        %(until_at)s, %(messages)s, %(size_bytes)s, %(sha256)s, %(now)s)
ON CONFLICT (tenant_id, session_id, first_position) DO UPDATE
   SET last_position = EXCLUDED.last_position, until_at = EXCLUDED.until_at, messages = EXCLUDED.messages,
       size_bytes = EXCLUDED.size_bytes, sha256 = EXCLUDED.sha256
RETURNING id, object_key;

-- name: end_archive
-- The messages lie in their archive: their words are here no more, but in their searchable rows.
UPDATE messages m SET body = '', metadata = '{}', archive_id = a.id
  FROM archived_messages a
 WHERE a.id = %(id)s AND m.id = ANY(%(messages)s::uuid[]) AND m.archive_id IS NULL AND m.body <> '';
