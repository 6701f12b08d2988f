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
CREATE INDEX attachments_file ON attachments (tenant_id, file_id) WHERE file_id IS NOT NULL;
