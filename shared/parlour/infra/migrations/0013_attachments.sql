-- What people sent along with their messages, as it was then. kind: coming (an upload that no message names yet); image,
-- whose bytes are under object_key; text, whose words are the body; other, of which a model hears the name alone, for
-- the `problem`. file_id, file_version: the file of the tenant's that the words were read from; no foreign key, since
-- what became of it is to be told also when it is gone. refused: it had no room in the prompt that it was sent for, and
-- stays left out of all later ones.
CREATE TABLE attachments (
    tenant_id      uuid NOT NULL,
    id             uuid NOT NULL,
    session_id     uuid NOT NULL,
    message_id     uuid,
    place          int NOT NULL DEFAULT 0,
    kind           text NOT NULL CHECK (kind IN ('coming', 'image', 'text', 'other')),
    name           text NOT NULL,
    media_type     text NOT NULL DEFAULT '',
    size_bytes     bigint NOT NULL DEFAULT 0,
    object_key     text,
    sha256         text,
    body           text,
    problem        text,
    refused        boolean NOT NULL DEFAULT false,
    file_id        uuid,
    file_version   int,
    classification int NOT NULL DEFAULT 0 CHECK (classification BETWEEN 0 AND 3),
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('attachments');
CREATE INDEX attachments_session ON attachments (tenant_id, session_id);
CREATE INDEX attachments_message ON attachments (tenant_id, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX attachments_coming ON attachments (tenant_id, created_at) WHERE kind = 'coming';
CREATE INDEX attachments_file ON attachments (tenant_id, file_id) WHERE file_id IS NOT NULL;

-- What the replies of some turns were drawn from: what they cite, the files that were sent with their turns' messages,
-- and the records and documents that their turns' calls name. Of each the level that it is of by now, and whether it is
-- gone. Rows are written anew: a citation whose row is gone is held against what the row belonged to. A record that a
-- turn itself deleted is no reason not to tell of that turn. It runs as its caller, under row-level security, and keeps
-- its plans: as a part of the statements that ask it was planned for three milliseconds each time.
CREATE FUNCTION drawn_from(turn_ids uuid[]) RETURNS TABLE (turn_id uuid, level int, is_gone boolean)
    LANGUAGE plpgsql STABLE ROWS 20
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT m.turn_id, COALESCE(r.classification, d.classification, f.classification, e.classification, 0)::int,
           CASE WHEN r.id IS NOT NULL THEN d.deleted_at IS NOT NULL
                WHEN c.document_id IS NOT NULL THEN d.id IS NULL OR d.deleted_at IS NOT NULL
                WHEN c.file_id IS NOT NULL THEN COALESCE(f.object_key, '') = ''
                ELSE e.id IS NULL OR e.deleted_at IS NOT NULL END
      FROM messages m
      JOIN citations c ON c.message_id = m.id
      LEFT JOIN context_rows r ON r.id = c.row_id
      LEFT JOIN documents d ON d.id = c.document_id
      LEFT JOIN files f ON f.id = c.file_id
      LEFT JOIN entities e ON e.id = c.entity_id
     WHERE m.turn_id = ANY(turn_ids) AND m.direction = 'outbound'
     UNION ALL
    SELECT m.turn_id, GREATEST(a.classification, COALESCE(f.classification, 0))::int, COALESCE(f.object_key, '') = ''
      FROM messages m
      JOIN attachments a ON a.message_id = m.id AND a.file_id IS NOT NULL
      LEFT JOIN files f ON f.id = a.file_id
     WHERE m.turn_id = ANY(turn_ids) AND m.direction = 'inbound'
     UNION ALL
    SELECT t.id, one.classification::int,
           one.deleted_at IS NOT NULL AND NOT EXISTS (
               SELECT
                 FROM jsonb_path_query(t.called, '$[*].content[*] ? (@.name like_regex "delete")') asked,
                      jsonb_path_query(t.called, '$[*].content[*] ? (@.is_error == false)') done
                WHERE done ->> 'tool_use_id' = asked ->> 'id'
                  AND jsonb_path_exists(asked -> 'input', '$.** ? (@ == $it)',
                                        jsonb_build_object('it', n.type || '/' || n.key)))
      FROM turns t
     CROSS JOIN LATERAL (
           SELECT DISTINCT found[1] AS type, found[2] AS key
             FROM regexp_matches(t.called::text, '([a-z][a-z0-9_]*)/([A-Za-z0-9][A-Za-z0-9_.~-]*)', 'g') found) n
     CROSS JOIN LATERAL (
           SELECT e.classification, e.deleted_at
             FROM entity_types y JOIN entities e ON e.type_id = y.id AND e.key = n.key
            WHERE y.key = n.type
            UNION ALL
           SELECT d.classification, d.deleted_at FROM documents d WHERE n.type = 'document' AND d.key = n.key) one
     WHERE t.id = ANY(turn_ids) AND t.called IS NOT NULL;
END
$$;
REVOKE ALL ON FUNCTION drawn_from FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drawn_from TO parlour_app;
