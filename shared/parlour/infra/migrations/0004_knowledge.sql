-- Records, links, documents, and the searchable text made from them.

CREATE TABLE edges (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    source_id  uuid NOT NULL,
    target_id  uuid NOT NULL,
    relation   text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, source_id, target_id, relation),
    FOREIGN KEY (tenant_id, source_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, target_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('edges');
CREATE INDEX edges_target ON edges (tenant_id, target_id);

CREATE TABLE documents (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id             uuid NOT NULL,
    entity_id      uuid,
    key            text NOT NULL,
    title          text NOT NULL,
    kind           text NOT NULL DEFAULT 'document',
    content        text NOT NULL,
    content_hash   text NOT NULL,
    classification int NOT NULL DEFAULT 0 CHECK (classification BETWEEN 0 AND 3),
    metadata       jsonb NOT NULL DEFAULT '{}',
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, key),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE SET NULL (entity_id)
);
CALL isolate('documents');

-- content is what is indexed and embedded: it carries its own title, heading and date.
-- The lexemes use the 'english' configuration: it stems English and leaves words of other scripts as they are.
CREATE TABLE context_rows (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id             uuid NOT NULL,
    entity_id      uuid,
    document_id    uuid,
    kind           text NOT NULL CHECK (kind IN ('snapshot', 'delta', 'file_distillation', 'file_chunk', 'document_chunk',
                                                 'relationship', 'chat_message', 'summary_anchor')),
    ordinal        int NOT NULL DEFAULT 0,
    title          text NOT NULL,
    content        text NOT NULL,
    content_hash   text NOT NULL,
    classification int NOT NULL DEFAULT 0 CHECK (classification BETWEEN 0 AND 3),
    metadata       jsonb NOT NULL DEFAULT '{}',
    lexemes        tsvector GENERATED ALWAYS AS (to_tsvector('english', title || ' ' || content)) STORED,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, document_id) REFERENCES documents (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('context_rows');
CREATE INDEX context_rows_entity ON context_rows (tenant_id, entity_id);
CREATE INDEX context_rows_document ON context_rows (tenant_id, document_id);
CREATE INDEX context_rows_lexemes ON context_rows USING gin (lexemes);

-- A side table, so that a tenant can be moved from one model to another while search goes on.
CREATE TABLE embeddings (
    tenant_id uuid NOT NULL,
    row_id    uuid NOT NULL,
    model     text NOT NULL,
    vector    vector NOT NULL,
    PRIMARY KEY (tenant_id, row_id, model),
    FOREIGN KEY (tenant_id, row_id) REFERENCES context_rows (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('embeddings');
CREATE INDEX embeddings_model ON embeddings (tenant_id, model);

-- The number by which a session's prompts and replies cite a row; it never changes within the session.
CREATE TABLE sources (
    tenant_id  uuid NOT NULL,
    session_id uuid NOT NULL,
    number     int NOT NULL,
    row_id     uuid NOT NULL,
    title      text NOT NULL,
    locator    text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, session_id, number),
    UNIQUE (tenant_id, session_id, row_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, row_id) REFERENCES context_rows (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('sources');

CREATE TABLE citations (
    tenant_id  uuid NOT NULL,
    message_id uuid NOT NULL,
    number     int NOT NULL,
    row_id     uuid,
    title      text NOT NULL,
    locator    text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, message_id, number),
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, row_id) REFERENCES context_rows (tenant_id, id) ON DELETE SET NULL (row_id)
);
CALL isolate('citations');

-- Keyword search over a whole tenant. Under row-level security the planner may not use the GIN index for @@
-- (the operator is not leakproof), so this one function runs as parlour_search, whose policy is true, and
-- compares the tenant itself. It reads the tenant from the setting, never from an argument.
GRANT SELECT ON context_rows TO parlour_search;
GRANT EXECUTE ON FUNCTION current_tenant() TO parlour_search;
CREATE POLICY keyword_search ON context_rows FOR SELECT TO parlour_search USING (true);

CREATE FUNCTION search_lexemes(query tsquery, clearance int, most int)
    RETURNS TABLE (id uuid, rank real)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
    SELECT r.id, ts_rank(r.lexemes, query) AS rank
      FROM context_rows r
     WHERE r.lexemes @@ query AND r.tenant_id = current_tenant() AND r.classification <= clearance
     ORDER BY rank DESC, r.id
     LIMIT most
$$;
REVOKE ALL ON FUNCTION search_lexemes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_lexemes TO parlour_app;

GRANT parlour_search TO CURRENT_USER WITH SET TRUE, INHERIT FALSE;
GRANT CREATE ON SCHEMA public TO parlour_search;
ALTER FUNCTION search_lexemes OWNER TO parlour_search;
REVOKE CREATE ON SCHEMA public FROM parlour_search;
