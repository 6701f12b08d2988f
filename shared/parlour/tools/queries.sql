-- name: tools
-- The tools of those names, by name: the same order every turn, since it is part of the cached prompt.
SELECT name, description, schema, endpoint, auth, writes, idempotent, heavy, needs_approval
  FROM tools
 WHERE name = ANY(%(names)s)
 ORDER BY name COLLATE "C";
