-- Records that people and agents write, documents in a tree, files, and rows whose vectors come later.

-- project_id: the project that a record belongs to. stale_since, stale_causes: since when, and for what, its Pulse no
-- longer says what is; null while it does. origin: the idempotency key of the call that made it, so that a call that
-- is repeated finds what it has done. described: the version of its type that its rows were made from.
ALTER TABLE entities
    ADD COLUMN described    int NOT NULL DEFAULT 1,
    ADD COLUMN project_id   uuid,
    ADD COLUMN created_by   text NOT NULL DEFAULT '',
    ADD COLUMN updated_by   text NOT NULL DEFAULT '',
    ADD COLUMN origin       text,
    ADD COLUMN stale_since  timestamptz,
    ADD COLUMN stale_causes text[] NOT NULL DEFAULT '{}',
    ADD FOREIGN KEY (tenant_id, project_id) REFERENCES entities (tenant_id, id) ON DELETE SET NULL (project_id);
CREATE UNIQUE INDEX entities_origin ON entities (tenant_id, origin) WHERE origin IS NOT NULL;
CREATE INDEX entities_type ON entities (tenant_id, type_id, updated_at DESC) WHERE deleted_at IS NULL;
CREATE INDEX entities_project ON entities (tenant_id, project_id) WHERE project_id IS NOT NULL;

ALTER TABLE edges ADD COLUMN created_by text NOT NULL DEFAULT '', ADD COLUMN origin text;
CREATE UNIQUE INDEX edges_origin ON edges (tenant_id, origin) WHERE origin IS NOT NULL;

-- A file as somebody uploaded it. object_key: where its bytes are. entity_id: the record it is about; team_id: the team
-- whose own it is (an SOP, a catalogue), null for everybody's. version counts its uploads.
CREATE TABLE files (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id             uuid NOT NULL,
    entity_id      uuid,
    team_id        uuid,
    name           text NOT NULL,
    media_type     text NOT NULL,
    object_key     text NOT NULL,
    size_bytes     bigint NOT NULL,
    sha256         text,
    classification int NOT NULL DEFAULT 0 CHECK (classification BETWEEN 0 AND 3),
    state          text NOT NULL DEFAULT 'uploading'
        CHECK (state IN ('uploading', 'queued', 'parsing', 'embedding', 'ready', 'failed')),
    problem        text,
    attempts       int NOT NULL DEFAULT 0,
    pages          int,
    tokens         int,
    chunks         int,
    version        int NOT NULL DEFAULT 1,
    created_by     text NOT NULL,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE SET NULL (entity_id),
    FOREIGN KEY (tenant_id, team_id) REFERENCES teams (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('files');
CREATE INDEX files_entity ON files (tenant_id, entity_id);

-- record_id: the document's own record of the kind `document`, when it was written as one. project_id: whose tree it is
-- in. is_context: the document in the user's own words that was made with the project.
ALTER TABLE documents
    ADD COLUMN description    text NOT NULL DEFAULT '',
    ADD COLUMN record_id      uuid,
    ADD COLUMN project_id     uuid,
    ADD COLUMN team_id        uuid,
    ADD COLUMN is_context     boolean NOT NULL DEFAULT false,
    ADD COLUMN version        int NOT NULL DEFAULT 1,
    ADD COLUMN deleted_at     timestamptz,
    ADD COLUMN content_length int GENERATED ALWAYS AS (length(content)) STORED,
    ADD FOREIGN KEY (tenant_id, record_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    ADD FOREIGN KEY (tenant_id, project_id) REFERENCES entities (tenant_id, id) ON DELETE SET NULL (project_id),
    ADD FOREIGN KEY (tenant_id, team_id) REFERENCES teams (tenant_id, id) ON DELETE CASCADE;
CREATE UNIQUE INDEX documents_record ON documents (tenant_id, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX documents_project ON documents (tenant_id, project_id) WHERE project_id IS NOT NULL;
CREATE INDEX documents_entity ON documents (tenant_id, entity_id) WHERE entity_id IS NOT NULL;

-- A project's tree: which document stands under which, and in what order. Titles and lengths are the documents' own.
-- parent_id null: at the top. position: unique among siblings, from 0, without gaps.
CREATE TABLE document_nodes (
    tenant_id   uuid NOT NULL,
    project_id  uuid NOT NULL,
    document_id uuid NOT NULL,
    parent_id   uuid,
    position    int NOT NULL CHECK (position >= 0),
    PRIMARY KEY (tenant_id, project_id, document_id),
    UNIQUE NULLS NOT DISTINCT (tenant_id, project_id, parent_id, position) DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (tenant_id, project_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, document_id) REFERENCES documents (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, project_id, parent_id) REFERENCES document_nodes (tenant_id, project_id, document_id)
);
CALL isolate('document_nodes');

-- pending: no vector yet in the tenant's space. session_id: the conversation that a row is from; only a search of that
-- conversation finds it. team_id: only that team's bindings and the tenant's members find it. other_id: the record that
-- the row names besides its own (a link's other end); it goes with that one, and is as closed as that one.
ALTER TABLE context_rows
    ADD COLUMN other_id   uuid,
    ADD COLUMN file_id    uuid,
    ADD COLUMN session_id uuid,
    ADD COLUMN message_id uuid,
    ADD COLUMN team_id    uuid,
    ADD COLUMN pending    boolean NOT NULL DEFAULT false,
    ADD FOREIGN KEY (tenant_id, other_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    ADD FOREIGN KEY (tenant_id, file_id) REFERENCES files (tenant_id, id) ON DELETE CASCADE,
    ADD FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    ADD FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE CASCADE,
    ADD FOREIGN KEY (tenant_id, team_id) REFERENCES teams (tenant_id, id) ON DELETE CASCADE;
CREATE INDEX context_rows_other ON context_rows (tenant_id, other_id) WHERE other_id IS NOT NULL;
CREATE INDEX context_rows_file ON context_rows (tenant_id, file_id) WHERE file_id IS NOT NULL;
CREATE INDEX context_rows_session ON context_rows (tenant_id, session_id) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX context_rows_message ON context_rows (tenant_id, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX context_rows_pending ON context_rows (tenant_id, id) WHERE pending;

-- indexed: whether the message has its searchable row, or needs none.
ALTER TABLE messages ADD COLUMN indexed boolean NOT NULL DEFAULT false;
CREATE INDEX messages_unindexed ON messages (tenant_id, id) WHERE NOT indexed;

-- embedding_space: the space that the tenant's searches look into; null is the deployment's.
ALTER TABLE tenants ADD COLUMN embedding_space text;

-- A tenant on its way to another model. cursor: the last row that has its vector there. cleared_at: since when the
-- vectors of the model it came from are gone.
CREATE TABLE reembeddings (
    tenant_id   uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
    space       text NOT NULL,
    cursor      uuid,
    done        int NOT NULL DEFAULT 0,
    total       int NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    cleared_at  timestamptz
);
CALL isolate('reembeddings');

-- embedding: a tenant's rows without a vector (id: the tenant). file: one that has to be taken in.
-- record_type: one whose records have to be described anew.
-- held_until: until when a worker is at it, for work that has no row of its own to say so.
ALTER TABLE work_due ADD COLUMN held_until timestamptz;
ALTER TABLE work_due DROP CONSTRAINT work_due_kind_check;
ALTER TABLE work_due ADD CONSTRAINT work_due_kind_check
    CHECK (kind IN ('session', 'outbox', 'tool_call', 'embedding', 'file', 'record_type'));

-- Which transaction wrote a tenant's records last, so that whoever keeps what they read can tell in one look whether it
-- still holds, on every worker. Noted when the transaction commits: the tenant's row is locked for that moment only, and
-- nothing is waited for after it, so that two writers cannot wait for each other. The mark is seen if and only if what
-- it stands for is seen.
CREATE TABLE record_writes (
    tenant_id uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
    latest    xid8 NOT NULL
);
CALL isolate('record_writes');

CREATE FUNCTION note_record_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO record_writes AS w (tenant_id, latest)
    SELECT t.tenant_id, pg_current_xact_id() FROM tenants t WHERE t.tenant_id = COALESCE(NEW.tenant_id, OLD.tenant_id)
    ON CONFLICT (tenant_id) DO UPDATE SET latest = EXCLUDED.latest WHERE w.latest <> EXCLUDED.latest;
    RETURN NULL;
END
$$;

DO $$
DECLARE
    written regclass;
BEGIN
    FOREACH written IN ARRAY ARRAY['entities', 'edges', 'documents', 'entity_types']::regclass[] LOOP
        EXECUTE format('CREATE CONSTRAINT TRIGGER note_record_write AFTER INSERT OR UPDATE OR DELETE ON %s
                        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_record_write()', written);
    END LOOP;
END
$$;
