-- Handing a conversation from one binding to another of the same tenant.

-- allowed_handoffs: slugs of bindings that a conversation may be handed to; of a team also slugs of teams.
ALTER TABLE teams ADD COLUMN allowed_handoffs text[] NOT NULL DEFAULT '{}';
ALTER TABLE bindings ADD COLUMN allowed_handoffs text[] NOT NULL DEFAULT '{}';

-- binding_id does not change: it has the number or page that the user writes to, sends the replies, and owns the user's
-- facts. answering_binding_id: the binding that answers instead, from the next turn on; null: the same.
-- answering_clearance: the highest clearance of a binding that the conversation was handed to.
ALTER TABLE sessions
    ADD COLUMN answering_binding_id uuid,
    ADD COLUMN answering_clearance  int NOT NULL DEFAULT 0 CHECK (answering_clearance BETWEEN 0 AND 3),
    ADD FOREIGN KEY (tenant_id, answering_binding_id) REFERENCES bindings (tenant_id, id)
        ON DELETE SET NULL (answering_binding_id);
CREATE INDEX sessions_answering ON sessions (tenant_id, answering_binding_id) WHERE answering_binding_id IS NOT NULL;

-- One row per handoff. idempotency_key: of the call or request that asked for it. classification: the highest level that
-- the conversation had shown; a binding with less clearance is not shown the brief.
CREATE TABLE handoffs (
    tenant_id       uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id              uuid NOT NULL,
    session_id      uuid NOT NULL,
    turn_id         uuid,
    from_binding_id uuid NOT NULL,
    to_binding_id   uuid NOT NULL,
    idempotency_key text NOT NULL,
    reason          text NOT NULL DEFAULT '',
    brief           text NOT NULL DEFAULT '',
    classification  int NOT NULL DEFAULT 0 CHECK (classification BETWEEN 0 AND 3),
    at              timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, session_id, idempotency_key),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, from_binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, to_binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('handoffs');
CREATE INDEX handoffs_session ON handoffs (tenant_id, session_id, at DESC);
CREATE INDEX handoffs_turn ON handoffs (tenant_id, turn_id) WHERE turn_id IS NOT NULL;

-- Who answers in a session: the binding of its open turn, else the one that it was handed to while that is active, else
-- its door's.
CREATE FUNCTION answering_binding(session sessions) RETURNS uuid
    LANGUAGE sql STABLE
    RETURN COALESCE(
        (SELECT t.binding_id FROM turns t
          WHERE t.tenant_id = session.tenant_id AND t.session_id = session.id AND t.state = 'open'),
        (SELECT b.id FROM bindings b
          WHERE b.tenant_id = session.tenant_id AND b.id = session.answering_binding_id AND b.is_active),
        session.binding_id);

-- shown_level: the highest level that a turn's agent was shown; set once the conversation goes on with another binding,
-- which is told only of turns at or below its own level. A reply may repeat what it does not cite.
ALTER TABLE turns ADD COLUMN shown_level int CHECK (shown_level BETWEEN 0 AND 3);

-- As before, and of turns that another binding answered the level that was shown.
CREATE OR REPLACE FUNCTION turn_source_status(turn_ids uuid[]) RETURNS TABLE (turn_id uuid, classification int, is_deleted boolean)
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
                 FROM jsonb_path_query(t.tool_messages, '$[*].content[*] ? (@.name like_regex "delete")') asked,
                      jsonb_path_query(t.tool_messages, '$[*].content[*] ? (@.is_error == false)') done
                WHERE done ->> 'tool_use_id' = asked ->> 'id'
                  AND jsonb_path_exists(asked -> 'input', '$.** ? (@ == $it)',
                                        jsonb_build_object('it', n.type || '/' || n.key)))
      FROM turns t
     CROSS JOIN LATERAL (
           SELECT DISTINCT found[1] AS type, found[2] AS key
             FROM regexp_matches(t.tool_messages::text, '([a-z][a-z0-9_]*)/([A-Za-z0-9][A-Za-z0-9_.~-]*)', 'g') found) n
     CROSS JOIN LATERAL (
           SELECT e.classification, e.deleted_at
             FROM entity_types y JOIN entities e ON e.type_id = y.id AND e.key = n.key
            WHERE y.key = n.type
            UNION ALL
           SELECT d.classification, d.deleted_at FROM documents d WHERE n.type = 'document' AND d.key = n.key) one
     WHERE t.id = ANY(turn_ids) AND t.tool_messages IS NOT NULL
     UNION ALL
    SELECT t.id, t.shown_level, false FROM turns t WHERE t.id = ANY(turn_ids) AND t.shown_level > 0;
END
$$;

-- The highest level of the turns that a summary tells of, where other bindings answered them.
CREATE FUNCTION summary_level(summary summaries) RETURNS int
    LANGUAGE sql STABLE
    RETURN (SELECT max(t.shown_level) FROM turns t
             WHERE t.tenant_id = summary.tenant_id AND t.session_id = summary.session_id
               AND t.number <= summary.until_turn);
