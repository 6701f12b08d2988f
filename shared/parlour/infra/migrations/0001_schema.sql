-- The whole schema, section by section in the order of the rooms. Later changes are new files beside this one.
--
-- Every table with tenant data has row-level security that also binds its owner (FORCE). The functions connect as
-- parlour_app, which owns nothing. parlour_search owns the one function that searches a whole tenant by keyword: it
-- cannot log in and bypasses nothing. Foreign keys that would have to outlive their target are left out on purpose;
-- the comment of the column says so.

-- =====================================================================================================================
-- Roles and tenant isolation
-- =====================================================================================================================

CREATE EXTENSION IF NOT EXISTS vector;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'parlour_app') THEN
        CREATE ROLE parlour_app NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'parlour_search') THEN
        CREATE ROLE parlour_search NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
END
$$;

-- Settings of the role, because RDS Proxy refuses settings in a connection's start-up packet.
ALTER ROLE parlour_app SET statement_timeout = '20s';
ALTER ROLE parlour_app SET timezone = 'UTC';

REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO parlour_app, parlour_search;

-- The tenant of the transaction. NULLIF: after a transaction a setting that was local to it is '', not unset.
CREATE FUNCTION current_tenant() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('app.tenant_id', true), '')::uuid;

-- Isolate a tenant table: row-level security that also binds the owner, one policy, and rights for the app role. The
-- tenant is read in a subquery, so once per statement and not once per row (a scan of 4,300 rows: 9 ms, not 14).
CREATE PROCEDURE isolate(tenant_table regclass) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format(
        'CREATE POLICY tenant_isolation ON %s USING (tenant_id = (SELECT current_tenant()))
         WITH CHECK (tenant_id = (SELECT current_tenant()))',
        tenant_table
    );
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO parlour_app', tenant_table);
END
$$;

-- =====================================================================================================================
-- Tenants, members and the three tiers of a binding
-- =====================================================================================================================

-- daily_cap_usd: cap on model spend per UTC day; null is the deployment's default. pulse_daily_cap_usd: the part of it
-- that Pulses may spend. spend_stopped_at: the kill switch; no model is called while it is set.
-- embedding_space: the embedding space that searches use; null is the deployment's.
CREATE TABLE tenants (
    tenant_id           uuid PRIMARY KEY,
    slug                text NOT NULL CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    display_name        text NOT NULL,
    status              text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'archived')),
    settings            jsonb NOT NULL DEFAULT '{}',
    version             int NOT NULL DEFAULT 1,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    daily_cap_usd       numeric(12, 4) CHECK (daily_cap_usd >= 0),
    spend_stopped_at    timestamptz,
    spend_stopped_by    text,
    embedding_space     text,
    pulse_daily_cap_usd numeric(12, 4) CHECK (pulse_daily_cap_usd >= 0)
);
CALL isolate('tenants');
-- A tenant's audit trail would be deleted with it, so only the owner deletes tenants.
REVOKE DELETE ON tenants FROM parlour_app;

CREATE TABLE members (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    issuer       text NOT NULL,
    subject      text NOT NULL,
    display_name text NOT NULL,
    roles        text[] NOT NULL DEFAULT '{}',
    clearance    int NOT NULL DEFAULT 1 CHECK (clearance BETWEEN 0 AND 3),
    active       boolean NOT NULL DEFAULT true,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, issuer, subject)
);
CALL isolate('members');

CREATE TABLE api_keys (
    tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id          uuid NOT NULL,
    name        text NOT NULL,
    secret_hash bytea NOT NULL,
    roles       text[] NOT NULL DEFAULT '{}',
    clearance   int NOT NULL DEFAULT 1 CHECK (clearance BETWEEN 0 AND 3),
    created_at  timestamptz NOT NULL,
    revoked_at  timestamptz,
    PRIMARY KEY (tenant_id, id)
);
CALL isolate('api_keys');

-- References only. The value is in the secret store.
CREATE TABLE secrets (
    tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id        uuid NOT NULL,
    name      text NOT NULL,
    reference text NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
);
CALL isolate('secrets');

CREATE TABLE humans (
    tenant_id         uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id                uuid NOT NULL,
    slug              text NOT NULL,
    display_name      text NOT NULL,
    identity          text NOT NULL DEFAULT '',
    voice             jsonb NOT NULL DEFAULT '{}',
    languages         text[] NOT NULL DEFAULT '{en}',
    cultural_register text NOT NULL DEFAULT '',
    guardrails        jsonb NOT NULL DEFAULT '[]',
    version           int NOT NULL DEFAULT 1,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, slug)
);
CALL isolate('humans');

CREATE TABLE teams (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    slug         text NOT NULL,
    display_name text NOT NULL,
    department   text NOT NULL DEFAULT '',
    role         text NOT NULL DEFAULT '',
    sops         jsonb NOT NULL DEFAULT '[]',
    escalation   jsonb NOT NULL DEFAULT '{}',
    guardrails   jsonb NOT NULL DEFAULT '[]',
    version      int NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, slug)
);
CALL isolate('teams');

-- prompt: where the instructions are placed. modes: what the agent may do with a request. reminders: repeated at the
-- end of the prompt.
CREATE TABLE agents (
    tenant_id           uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id                  uuid NOT NULL,
    slug                text NOT NULL,
    display_name        text NOT NULL,
    instructions        text NOT NULL DEFAULT '',
    model_routing       jsonb NOT NULL DEFAULT '{}',
    tools               text[] NOT NULL DEFAULT '{}',
    memory_policy       jsonb NOT NULL DEFAULT '{}',
    budget              jsonb NOT NULL DEFAULT '{}',
    guardrails          jsonb NOT NULL DEFAULT '[]',
    max_tool_iterations int NOT NULL DEFAULT 4 CHECK (max_tool_iterations BETWEEN 0 AND 20),
    version             int NOT NULL DEFAULT 1,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    prompt              text NOT NULL DEFAULT 'system' CHECK (prompt IN ('system', 'floating')),
    modes               text[] NOT NULL DEFAULT '{clarify,inform,act}',
    reminders           text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, slug)
);
CALL isolate('agents');

-- channels: {"whatsapp": {"provider": "gupshup", "app", "source", "api_key": <name in secrets>}, "web": {"host"}}.
-- clearance: what people who come in through this binding may see, unless their user row says otherwise.
CREATE TABLE bindings (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    slug         text NOT NULL,
    display_name text NOT NULL,
    human_id     uuid NOT NULL,
    team_id      uuid NOT NULL,
    agent_id     uuid NOT NULL,
    door         text NOT NULL DEFAULT 'public' CHECK (door IN ('private', 'public', 'distribution')),
    channels     jsonb NOT NULL DEFAULT '{}',
    clearance    int NOT NULL DEFAULT 0 CHECK (clearance BETWEEN 0 AND 3),
    greeting     text NOT NULL DEFAULT '',
    is_active    boolean NOT NULL DEFAULT true,
    version      int NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, slug),
    FOREIGN KEY (tenant_id, human_id) REFERENCES humans (tenant_id, id),
    FOREIGN KEY (tenant_id, team_id) REFERENCES teams (tenant_id, id),
    FOREIGN KEY (tenant_id, agent_id) REFERENCES agents (tenant_id, id)
);
CALL isolate('bindings');

-- The lookup that runs before the tenant is known: which tenant and binding a key leads to. It holds no tenant content,
-- so everybody may read it. Only the tenant that a row leads to may write it, so no route can be stolen.
-- key: 'tenant:<slug>', 'gupshup:<app>' or 'web:<host>'; unique in the deployment.
CREATE TABLE routing_keys (
    key        text PRIMARY KEY,
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    binding_id uuid,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('routing_keys');
CREATE POLICY anyone_finds_the_tenant ON routing_keys FOR SELECT USING (true);
CREATE INDEX routing_keys_tenant ON routing_keys (tenant_id, binding_id);

-- endpoint: 'python:<name>' (built in), 'http:' or 'mcp:'. auth: a name in secrets, never a value.
-- lookup: the endpoint that reports by idempotency key what happened to a call.
-- timeout_seconds: null is the default of the endpoint's kind.
CREATE TABLE tools (
    tenant_id       uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id              uuid NOT NULL,
    name            text NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,63}$'),
    description     text NOT NULL,
    schema          jsonb NOT NULL,
    endpoint        text NOT NULL,
    auth            text,
    writes          boolean NOT NULL DEFAULT false,
    idempotent      boolean NOT NULL DEFAULT false,
    heavy           boolean NOT NULL DEFAULT false,
    needs_approval  boolean NOT NULL DEFAULT false,
    version         int NOT NULL DEFAULT 1,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    lookup          text,
    timeout_seconds int CHECK (timeout_seconds > 0),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
);
CALL isolate('tools');

CREATE TABLE entity_types (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    key          text NOT NULL,
    display_name text NOT NULL,
    properties   jsonb NOT NULL DEFAULT '{}',
    rag          jsonb NOT NULL DEFAULT '{}',
    version      int NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, key)
);
CALL isolate('entity_types');

-- Every version that a persona tier, a binding, a tool or an entity type ever had.
CREATE TABLE config_versions (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id         uuid NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('tenant', 'human', 'team', 'agent', 'binding', 'tool', 'entity_type')),
    config_id  uuid NOT NULL,
    version    int NOT NULL,
    config     jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, kind, config_id, version)
);
CALL isolate('config_versions');
-- A stored version is never rewritten.
REVOKE UPDATE, DELETE ON config_versions FROM parlour_app;

CREATE TABLE audit_log (
    tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id        uuid NOT NULL,
    actor     text NOT NULL,
    action    text NOT NULL,
    target    text NOT NULL,
    details   jsonb NOT NULL DEFAULT '{}',
    at        timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CALL isolate('audit_log');
CREATE INDEX audit_log_time ON audit_log (tenant_id, at DESC);
-- The trail is append-only.
REVOKE UPDATE, DELETE ON audit_log FROM parlour_app;

-- =====================================================================================================================
-- Users, records and links
-- =====================================================================================================================

-- merged_into: the user that this web visitor turned out to be. The visitor's data and tokens are that user's.
CREATE TABLE users (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    phone        text,
    display_name text,
    locale       text,
    clearance    int CHECK (clearance BETWEEN 0 AND 3),
    created_at   timestamptz NOT NULL,
    merged_into  uuid,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, phone),
    FOREIGN KEY (tenant_id, merged_into) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('users');
CREATE INDEX users_merged ON users (tenant_id, merged_into) WHERE merged_into IS NOT NULL;

CREATE TABLE channel_identities (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    user_id    uuid NOT NULL,
    channel    text NOT NULL,
    address    text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, channel, address),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('channel_identities');

-- project_id: the project that a record belongs to.
-- origin: the idempotency key of the call that created it, so that a repeated call finds its own result.
-- snapshot_type_version: the version of the type that the record's searchable rows were made from.
-- stale_since: the first change that the record's Pulses do not include; null while they include all.
-- stale_causes: the causes, once each, in order of arrival. stale_marks: {cause: {"since", "first"}}: when the cause
-- first came up since stale_since, and at which mark.
-- stale_mark_count: counts all marks ever made; a writer that read at mark n clears the marks up to n.
-- reflected_mark_count: the n of the
-- writer that cleared last.
CREATE TABLE entities (
    tenant_id             uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id                    uuid NOT NULL,
    type_id               uuid NOT NULL,
    key                   text NOT NULL,
    name                  text NOT NULL,
    properties            jsonb NOT NULL DEFAULT '{}',
    classification        int NOT NULL DEFAULT 0 CHECK (classification BETWEEN 0 AND 3),
    version               int NOT NULL DEFAULT 1,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    deleted_at            timestamptz,
    snapshot_type_version int NOT NULL DEFAULT 1,
    project_id            uuid,
    created_by            text NOT NULL DEFAULT '',
    updated_by            text NOT NULL DEFAULT '',
    origin                text,
    stale_since           timestamptz,
    stale_causes          text[] NOT NULL DEFAULT '{}',
    stale_marks           jsonb NOT NULL DEFAULT '{}',
    stale_mark_count      bigint NOT NULL DEFAULT 0,
    reflected_mark_count  bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, type_id, key),
    FOREIGN KEY (tenant_id, type_id) REFERENCES entity_types (tenant_id, id),
    FOREIGN KEY (tenant_id, project_id) REFERENCES entities (tenant_id, id) ON DELETE SET NULL (project_id)
);
CALL isolate('entities');
CREATE UNIQUE INDEX entities_origin ON entities (tenant_id, origin) WHERE origin IS NOT NULL;
CREATE INDEX entities_type ON entities (tenant_id, type_id, updated_at DESC) WHERE deleted_at IS NULL;
CREATE INDEX entities_project ON entities (tenant_id, project_id) WHERE project_id IS NOT NULL;

CREATE TABLE edges (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    source_id  uuid NOT NULL,
    target_id  uuid NOT NULL,
    relation   text NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL DEFAULT '',
    origin     text,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, source_id, target_id, relation),
    FOREIGN KEY (tenant_id, source_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, target_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('edges');
CREATE INDEX edges_target ON edges (tenant_id, target_id);
CREATE UNIQUE INDEX edges_origin ON edges (tenant_id, origin) WHERE origin IS NOT NULL;

-- The transaction that last wrote a tenant's records. A worker that caches records compares it to see whether the cache
-- is still valid. It is written at commit, so the row is locked only for a moment and two writers cannot deadlock. The
-- mark is visible exactly when the change is visible.
CREATE TABLE record_writes (
    tenant_id      uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
    transaction_id xid8 NOT NULL
);
CALL isolate('record_writes');

-- =====================================================================================================================
-- Conversations: sessions, turns, messages
-- =====================================================================================================================

-- lease_token: grows with every lease; each write of a turn names the token that it was started with.
-- lease_holder: the worker that took the lease. It recognises its own lease when the answer to its statement was lost.
-- last_event_number: the number of the newest event. next_citation_number: the next citation number.
-- visibility: who else of the tenant reads a conversation about a record. It is copied from the record's type when the
-- session is opened, so that a private session stays private when the type changes.
-- archived_at: the user archived it. pinned_at: the user pinned it. titled_by: who set the title; '' is nobody.
-- consolidated_turn: the last turn that a consolidation has read. shared_until_turn: for a session that was made
-- private, the last turn that others could read.
CREATE TABLE sessions (
    tenant_id            uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id                   uuid NOT NULL,
    user_id              uuid NOT NULL,
    binding_id           uuid NOT NULL,
    entity_id            uuid,
    channel              text NOT NULL,
    title                text NOT NULL DEFAULT '',
    is_main              boolean NOT NULL DEFAULT false,
    lease_token          bigint NOT NULL DEFAULT 0,
    lease_until          timestamptz,
    last_event_number    bigint NOT NULL DEFAULT 0,
    next_citation_number int NOT NULL DEFAULT 1,
    created_at           timestamptz NOT NULL,
    last_active_at       timestamptz NOT NULL,
    lease_holder         uuid,
    visibility           text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'role_gated', 'shared')),
    archived_at          timestamptz,
    pinned_at            timestamptz,
    titled_by            text NOT NULL DEFAULT '' CHECK (titled_by IN ('', 'code', 'model', 'user', 'member')),
    consolidated_at      timestamptz,
    consolidated_turn    int NOT NULL DEFAULT 0,
    shared_until_turn    int NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE SET NULL (entity_id)
);
CALL isolate('sessions');
CREATE UNIQUE INDEX sessions_main ON sessions (tenant_id, user_id, binding_id) WHERE is_main;
CREATE INDEX sessions_user ON sessions (tenant_id, user_id, last_active_at DESC);

-- attempt_id: the worker that the last attempt was counted for, so that a repeated statement counts it once.
-- redriven_at: when a failed turn was last reopened. dismissed_at: when a person dismissed it.
-- tool_messages: the turn's tool calls as the session's history shows them, each result in one line.
CREATE TABLE turns (
    tenant_id     uuid NOT NULL,
    id            uuid NOT NULL,
    session_id    uuid NOT NULL,
    binding_id    uuid NOT NULL,
    number        int NOT NULL,
    state         text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'failed')),
    attempt_count int NOT NULL DEFAULT 0,
    frozen_at     timestamptz NOT NULL,
    config        jsonb NOT NULL DEFAULT '{}',
    degraded      boolean NOT NULL DEFAULT false,
    stage_ms      jsonb NOT NULL DEFAULT '{}',
    problem       text,
    finished_at   timestamptz,
    attempt_id    uuid,
    redriven_at   timestamptz,
    dismissed_at  timestamptz,
    tool_messages jsonb,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, session_id, number),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id)
);
CALL isolate('turns');
CREATE UNIQUE INDEX turns_open ON turns (tenant_id, session_id) WHERE state = 'open';
CREATE INDEX turns_parked ON turns (tenant_id, finished_at) WHERE state = 'failed' AND dismissed_at IS NULL;

-- Where the bodies of archived messages are stored: JSON lines in object storage, one message per line, by position.
CREATE TABLE archived_messages (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id             uuid NOT NULL,
    session_id     uuid NOT NULL,
    object_key     text NOT NULL,
    first_position bigint NOT NULL,
    last_position  bigint NOT NULL,
    from_at        timestamptz NOT NULL,
    until_at       timestamptz NOT NULL,
    message_count  int NOT NULL,
    size_bytes     bigint NOT NULL,
    sha256         text NOT NULL,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, session_id, first_position),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('archived_messages');

-- position: the order of arrival. state of an inbound message: unanswered -> in_turn (frozen into turn_id) -> answered,
-- or parked when its turn failed; ignored needs no answer.
-- indexed: the message has its searchable row, or needs none. archive_id: the archive that holds the body, if it is no
-- longer here.
CREATE TABLE messages (
    tenant_id           uuid NOT NULL,
    id                  uuid NOT NULL,
    position            bigint GENERATED ALWAYS AS IDENTITY,
    session_id          uuid NOT NULL,
    binding_id          uuid NOT NULL,
    turn_id             uuid,
    direction           text NOT NULL CHECK (direction IN ('inbound', 'outbound')),
    state               text NOT NULL
        CHECK (state IN ('unanswered', 'in_turn', 'answered', 'parked', 'ignored', 'reply')),
    channel             text NOT NULL,
    kind                text NOT NULL,
    body                text NOT NULL DEFAULT '',
    media               jsonb,
    provider_message_id text,
    sent_at             timestamptz NOT NULL,
    received_at         timestamptz NOT NULL,
    metadata            jsonb NOT NULL DEFAULT '{}',
    indexed             boolean NOT NULL DEFAULT false,
    archive_id          uuid,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, binding_id, provider_message_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE SET NULL (turn_id),
    FOREIGN KEY (tenant_id, archive_id) REFERENCES archived_messages (tenant_id, id) ON DELETE SET NULL (archive_id)
);
CALL isolate('messages');
CREATE INDEX messages_session ON messages (tenant_id, session_id, position DESC);
CREATE INDEX messages_turn ON messages (tenant_id, turn_id);
CREATE INDEX messages_unanswered ON messages (tenant_id, session_id, position) WHERE state = 'unanswered';
CREATE INDEX messages_unindexed ON messages (tenant_id, id) WHERE NOT indexed;
CREATE INDEX messages_archived ON messages (tenant_id, archive_id) WHERE archive_id IS NOT NULL;

-- What people sent with their messages, as it was at that time. kind: pending_upload (an upload that no message names
-- yet); image, with its bytes under object_key; text, with its text in body; other, of which the model sees only the
-- name, because of `problem`.
-- file_id, file_version: the tenant's file that the text was read from. No foreign key: its status is reported also
-- when the file is gone.
-- is_omitted: it did not fit into the prompt that it was sent for, and is left out of all later prompts.
CREATE TABLE attachments (
    tenant_id      uuid NOT NULL,
    id             uuid NOT NULL,
    session_id     uuid NOT NULL,
    message_id     uuid,
    position       int NOT NULL DEFAULT 0,
    kind           text NOT NULL CHECK (kind IN ('pending_upload', 'image', 'text', 'other')),
    name           text NOT NULL,
    media_type     text NOT NULL DEFAULT '',
    size_bytes     bigint NOT NULL DEFAULT 0,
    object_key     text,
    sha256         text,
    body           text,
    problem        text,
    is_omitted     boolean NOT NULL DEFAULT false,
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
CREATE INDEX attachments_pending ON attachments (tenant_id, created_at) WHERE kind = 'pending_upload';
CREATE INDEX attachments_file ON attachments (tenant_id, file_id) WHERE file_id IS NOT NULL;

-- One model inference. The hash of the request is committed before the call, the content blocks after it.
CREATE TABLE steps (
    tenant_id    uuid NOT NULL,
    turn_id      uuid NOT NULL,
    number       int NOT NULL,
    provider     text NOT NULL,
    model        text NOT NULL,
    prompt_hash  text NOT NULL,
    blocks       jsonb,
    stop_reason  text,
    requested_at timestamptz NOT NULL,
    completed_at timestamptz,
    PRIMARY KEY (tenant_id, turn_id, number),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('steps');

-- interim: what the model is told at once about a heavy call; its result comes later as a message.
-- runs: how often it was started. run_token: grows with every start; a write of the outcome names it. run_until: when
-- the run is given up. run_holder: the dispatcher that runs it.
-- cancelled_at: when a person asked for it to stop. resolved_by, resolved_at: the person who settled an unknown
-- outcome.
CREATE TABLE tool_calls (
    tenant_id       uuid NOT NULL,
    id              uuid NOT NULL,
    turn_id         uuid NOT NULL,
    step            int NOT NULL,
    call_id         text NOT NULL,
    name            text NOT NULL,
    arguments       jsonb NOT NULL,
    writes          boolean NOT NULL DEFAULT false,
    state           text NOT NULL CHECK (state IN ('reserved', 'running', 'done', 'failed', 'unknown')),
    idempotency_key text NOT NULL,
    result          jsonb,
    code            text,
    latency_ms      int,
    started_at      timestamptz NOT NULL,
    finished_at     timestamptz,
    heavy           boolean NOT NULL DEFAULT false,
    interim         jsonb,
    runs            int NOT NULL DEFAULT 0,
    run_token       bigint NOT NULL DEFAULT 0,
    run_until       timestamptz,
    cancelled_at    timestamptz,
    resolved_by     text,
    resolved_at     timestamptz,
    run_holder      uuid,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, turn_id, step, call_id),
    UNIQUE (tenant_id, idempotency_key),
    FOREIGN KEY (tenant_id, turn_id, step) REFERENCES steps (tenant_id, turn_id, number) ON DELETE CASCADE
);
CALL isolate('tool_calls');
CREATE INDEX tool_calls_unknown ON tool_calls (tenant_id, started_at) WHERE state = 'unknown';

-- What the web client reads while a turn runs: numbered per session, in order, ended by 'done'.
CREATE TABLE events (
    tenant_id  uuid NOT NULL,
    session_id uuid NOT NULL,
    number     bigint NOT NULL,
    turn_id    uuid NOT NULL,
    kind       text NOT NULL,
    payload    jsonb NOT NULL DEFAULT '{}',
    at         timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id, number),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('events');
CREATE INDEX events_turn ON events (tenant_id, turn_id);

-- One row per reply that leaves through a provider. A long reply is sent in parts: part_count is their number (null
-- until the first try), parts_sent is how many the provider has accepted. state held: the channel no longer takes free
-- text (WhatsApp: a day after the user last wrote), so a person decides.
-- attempt_id: the sender that set the state to sending. It recognises its own row when the answer to its statement was
-- lost.
CREATE TABLE outbox (
    tenant_id   uuid NOT NULL,
    id          uuid NOT NULL,
    session_id  uuid NOT NULL,
    message_id  uuid NOT NULL,
    binding_id  uuid NOT NULL,
    channel     text NOT NULL,
    recipient   text NOT NULL,
    state       text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'unknown', 'held')),
    attempts    int NOT NULL DEFAULT 0,
    part_count  int,
    parts_sent  int NOT NULL DEFAULT 0,
    problem     text,
    created_at  timestamptz NOT NULL,
    sent_at     timestamptz,
    status_at   timestamptz,
    attempt_id  uuid,
    resolved_by text,
    resolved_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, message_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id)
);
CALL isolate('outbox');
CREATE INDEX outbox_session ON outbox (tenant_id, session_id);
CREATE INDEX outbox_needs_a_person ON outbox (tenant_id, created_at) WHERE state IN ('unknown', 'held');

-- The provider's id of each accepted part, which its later status updates name. A separate table, because under
-- row-level security only a plain comparison can use an index, not "is one of".
CREATE TABLE outbox_parts (
    tenant_id           uuid NOT NULL,
    outbox_id           uuid NOT NULL,
    number              int NOT NULL,
    provider_message_id text NOT NULL,
    sent_at             timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, outbox_id, number),
    FOREIGN KEY (tenant_id, outbox_id) REFERENCES outbox (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('outbox_parts');
CREATE INDEX outbox_parts_provider ON outbox_parts (tenant_id, provider_message_id);

-- Status updates that arrive before the send is committed. They are applied when the provider's id is known.
CREATE TABLE pending_delivery_updates (
    tenant_id           uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    provider_message_id text NOT NULL,
    status              text NOT NULL,
    problem             text,
    at                  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, provider_message_id, status)
);
CALL isolate('pending_delivery_updates');

-- A web visitor (user_id) claims a phone number and consents to merging both users; a code was sent to the number.
-- contact_id: the user with that number, created for it if is_contact_new; null when the number cannot be reached and
-- no code was sent. message_id: the message that carried the code. attempt_count: codes entered so far. linked_at: when
-- the right code came.
CREATE TABLE phone_links (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id             uuid NOT NULL,
    user_id        uuid NOT NULL,
    binding_id     uuid NOT NULL,
    session_id     uuid,
    contact_id     uuid,
    is_contact_new boolean NOT NULL DEFAULT false,
    message_id     uuid,
    phone          text NOT NULL,
    code_hash      bytea NOT NULL,
    attempt_count  int NOT NULL DEFAULT 0,
    consented_at   timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    linked_at      timestamptz,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE SET NULL (session_id),
    FOREIGN KEY (tenant_id, contact_id) REFERENCES users (tenant_id, id) ON DELETE SET NULL (contact_id),
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE SET NULL (message_id)
);
CALL isolate('phone_links');
CREATE INDEX phone_links_user ON phone_links (tenant_id, user_id, created_at DESC);
CREATE INDEX phone_links_phone ON phone_links (tenant_id, phone, created_at DESC);
CREATE INDEX phone_links_binding ON phone_links (tenant_id, binding_id, created_at DESC);
CREATE INDEX phone_links_contact ON phone_links (tenant_id, contact_id) WHERE contact_id IS NOT NULL;
CREATE INDEX phone_links_message ON phone_links (tenant_id, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX phone_links_session ON phone_links (tenant_id, session_id) WHERE session_id IS NOT NULL;

-- Redirect rows that are still written for a merged visitor to the user they were merged into. It waits for a running
-- merge.
CREATE FUNCTION follow_merged_user() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    other uuid;
BEGIN
    SELECT u.merged_into INTO other FROM users u WHERE u.tenant_id = NEW.tenant_id AND u.id = NEW.user_id FOR KEY SHARE;
    NEW.user_id := COALESCE(other, NEW.user_id);
    RETURN NEW;
END
$$;
CREATE TRIGGER follow_merged_user BEFORE INSERT ON sessions
    FOR EACH ROW WHEN (NEW.channel = 'web') EXECUTE FUNCTION follow_merged_user();

-- =====================================================================================================================
-- Work, spend and model calls
-- =====================================================================================================================

-- What must be looked at again by a certain time, in case nothing else does it first. The sweep reads it before it
-- knows the tenant, so it holds ids and times and no tenant content. leased_until: until when a worker holds work that
-- has no row of its own to say so.
-- failures: attempts of a job that failed in a row; problem: the code of its last error, 'died' while it runs.
-- id of each kind: session, outbox, tool_call, file, record_type, pulse (the record) and phone_link (an expired code):
-- the row itself; embedding, prompt_retention, archive: the tenant; extraction, summary, consolidation: the session.
-- work_due_time leaves out pulse, because every record with a Pulse has a row and two sweeps must not read each
-- other's.
CREATE TABLE work_due (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    kind         text NOT NULL
        CHECK (kind IN ('session', 'outbox', 'tool_call', 'embedding', 'file', 'record_type', 'prompt_retention',
            'pulse', 'extraction', 'summary', 'consolidation', 'archive', 'phone_link')),
    id           uuid NOT NULL,
    due_at       timestamptz NOT NULL,
    leased_until timestamptz,
    failures     int NOT NULL DEFAULT 0,
    problem      text,
    PRIMARY KEY (tenant_id, kind, id)
);
CALL isolate('work_due');
CREATE POLICY anyone_finds_what_is_due ON work_due FOR SELECT USING (true);
CREATE INDEX work_due_time ON work_due (due_at) WHERE kind <> 'pulse';
CREATE INDEX work_due_pulse ON work_due (tenant_id, due_at) WHERE kind = 'pulse';

-- One row per tenant and UTC day. warned_percent: the highest share of the cap that people were warned about.
CREATE TABLE spend_days (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    day            date NOT NULL,
    spent_usd      numeric(14, 8) NOT NULL DEFAULT 0,
    warned_percent int NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day)
);
CALL isolate('spend_days');

-- The worst case of a model call that is under way. It counts until it is settled or has expired.
CREATE TABLE spend_reservations (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id         uuid NOT NULL,
    day        date NOT NULL,
    purpose    text NOT NULL,
    amount_usd numeric(14, 8) NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CALL isolate('spend_reservations');
CREATE INDEX spend_reservations_day ON spend_reservations (tenant_id, day, expires_at);

-- One row per call to a provider, failed ones included. input_tokens: tokens neither read from nor written to the
-- prompt cache. cost_usd: null when the price list does not know the model.
-- cache_miss: which cached bytes of the previous prompt had to be read again, why, and what that cost.
CREATE TABLE llm_calls (
    tenant_id          uuid NOT NULL,
    id                 uuid NOT NULL,
    session_id         uuid,
    turn_id            uuid,
    step               int,
    binding_id         uuid,
    purpose            text NOT NULL,
    provider           text NOT NULL,
    model              text NOT NULL,
    outcome            text NOT NULL CHECK (outcome IN ('ok', 'unavailable', 'rejected')),
    input_tokens       int NOT NULL DEFAULT 0,
    output_tokens      int NOT NULL DEFAULT 0,
    cache_read_tokens  int NOT NULL DEFAULT 0,
    cache_write_tokens int NOT NULL DEFAULT 0,
    tokens_by_layer    jsonb NOT NULL DEFAULT '{}',
    cost_usd           numeric(14, 8),
    first_token_ms     int,
    latency_ms         int NOT NULL,
    at                 timestamptz NOT NULL,
    cache_miss         jsonb,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE SET NULL (session_id),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE SET NULL (turn_id),
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE SET NULL (binding_id)
);
CALL isolate('llm_calls');
CREATE INDEX llm_calls_turn ON llm_calls (tenant_id, turn_id);
CREATE INDEX llm_calls_day ON llm_calls (tenant_id, at DESC);
CREATE INDEX llm_calls_session ON llm_calls (tenant_id, session_id) WHERE session_id IS NOT NULL;

-- Tokens that a model reports per token of cl100k_base, by the script of the text.
CREATE TABLE token_factors (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    model        text NOT NULL,
    script       text NOT NULL,
    factor       float8 NOT NULL CHECK (factor > 0),
    report_count int NOT NULL DEFAULT 1,
    PRIMARY KEY (tenant_id, model, script)
);
CALL isolate('token_factors');

-- =====================================================================================================================
-- Knowledge: documents, files, searchable rows
-- =====================================================================================================================

-- An uploaded file. object_key: where its bytes are. entity_id: the record it is about. team_id: the team that owns it
-- (an SOP, a catalogue); null is everybody's. version: counts its uploads.
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

-- own_entity_id: the document's own record of the type `document`, when it was written as one. project_id: the project
-- whose tree it is in. is_context: the document in the user's own words that was created with the project.
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
    description    text NOT NULL DEFAULT '',
    own_entity_id  uuid,
    project_id     uuid,
    team_id        uuid,
    is_context     boolean NOT NULL DEFAULT false,
    version        int NOT NULL DEFAULT 1,
    deleted_at     timestamptz,
    content_length int GENERATED ALWAYS AS (length(content)) STORED,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, key),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE SET NULL (entity_id),
    FOREIGN KEY (tenant_id, own_entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, project_id) REFERENCES entities (tenant_id, id) ON DELETE SET NULL (project_id),
    FOREIGN KEY (tenant_id, team_id) REFERENCES teams (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('documents');
CREATE UNIQUE INDEX documents_record ON documents (tenant_id, own_entity_id) WHERE own_entity_id IS NOT NULL;
CREATE INDEX documents_project ON documents (tenant_id, project_id) WHERE project_id IS NOT NULL;
CREATE INDEX documents_entity ON documents (tenant_id, entity_id) WHERE entity_id IS NOT NULL;

-- The tree of a project: parent and order of each document. parent_id null: at the top. position: unique among
-- siblings, from 0, without gaps.
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

-- The searchable text. content is what is indexed and embedded: it carries its own title, heading and date. lexemes use
-- the 'english' configuration, which stems English and leaves words of other scripts unchanged.
-- kind episode: what a conversation came to, in a few sentences; only sessions of its own user and binding find it.
-- pending: no vector yet in the tenant's space. session_id: the row's conversation; only a search of that conversation
-- finds it. team_id: only bindings of that team and the tenant's members find it. related_entity_id: the second record
-- that the row names (the other end of a link); the row is deleted with that record and restricted like it.
CREATE TABLE context_rows (
    tenant_id         uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id                uuid NOT NULL,
    entity_id         uuid,
    document_id       uuid,
    kind              text NOT NULL
        CHECK (kind IN ('snapshot', 'delta', 'file_summary', 'file_chunk', 'document_chunk', 'relationship',
            'chat_message', 'summary_anchor', 'episode')),
    ordinal           int NOT NULL DEFAULT 0,
    title             text NOT NULL,
    content           text NOT NULL,
    content_hash      text NOT NULL,
    classification    int NOT NULL DEFAULT 0 CHECK (classification BETWEEN 0 AND 3),
    metadata          jsonb NOT NULL DEFAULT '{}',
    lexemes           tsvector GENERATED ALWAYS AS (to_tsvector('english', title || ' ' || content)) STORED,
    created_at        timestamptz NOT NULL,
    related_entity_id uuid,
    file_id           uuid,
    session_id        uuid,
    message_id        uuid,
    team_id           uuid,
    pending           boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, document_id) REFERENCES documents (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, related_entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, file_id) REFERENCES files (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, team_id) REFERENCES teams (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('context_rows');
CREATE INDEX context_rows_document ON context_rows (tenant_id, document_id);
CREATE INDEX context_rows_lexemes ON context_rows USING gin (lexemes);
CREATE INDEX context_rows_other ON context_rows (tenant_id, related_entity_id) WHERE related_entity_id IS NOT NULL;
CREATE INDEX context_rows_file ON context_rows (tenant_id, file_id) WHERE file_id IS NOT NULL;
CREATE INDEX context_rows_session ON context_rows (tenant_id, session_id) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX context_rows_message ON context_rows (tenant_id, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX context_rows_pending ON context_rows (tenant_id, id) WHERE pending;
CREATE UNIQUE INDEX context_rows_anchor ON context_rows (tenant_id, session_id, ordinal) WHERE kind = 'summary_anchor';
CREATE INDEX context_rows_about ON context_rows (tenant_id, entity_id, kind, created_at DESC)
    WHERE entity_id IS NOT NULL;

-- The vectors. A separate table, so that a tenant can move to another model while it is searched.
CREATE TABLE embeddings (
    tenant_id uuid NOT NULL,
    row_id    uuid NOT NULL,
    space     text NOT NULL,
    vector    vector NOT NULL,
    PRIMARY KEY (tenant_id, row_id, space),
    FOREIGN KEY (tenant_id, row_id) REFERENCES context_rows (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('embeddings');
CREATE INDEX embeddings_model ON embeddings (tenant_id, space);

-- A vector of 512 numbers is slightly too long for PostgreSQL to keep it in its row by default. Recall compares all
-- vectors of a conversation, so they stay in the row as long as it fits a page.
ALTER TABLE embeddings ALTER vector SET STORAGE MAIN;

-- A tenant that moves to another model. cursor: the last row that has its vector in the new space. cleared_at: since
-- when the vectors of the old space are deleted.
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

-- The number by which a session's prompts and replies cite a row. It never changes within the session.
CREATE TABLE citation_numbers (
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
CALL isolate('citation_numbers');
CREATE INDEX citation_numbers_row ON citation_numbers (tenant_id, row_id);

-- entity_id, document_id, file_id: what the cited row belongs to. No foreign keys: rows are rewritten when their source
-- changes, and the source's status is reported also when it is gone.
CREATE TABLE citations (
    tenant_id   uuid NOT NULL,
    message_id  uuid NOT NULL,
    number      int NOT NULL,
    row_id      uuid,
    title       text NOT NULL,
    locator     text NOT NULL DEFAULT '',
    entity_id   uuid,
    document_id uuid,
    file_id     uuid,
    PRIMARY KEY (tenant_id, message_id, number),
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, row_id) REFERENCES context_rows (tenant_id, id) ON DELETE SET NULL (row_id)
);
CALL isolate('citations');
CREATE INDEX citations_row ON citations (tenant_id, row_id) WHERE row_id IS NOT NULL;

-- Under row-level security the planner may not use the GIN index for @@, because the operator is not leakproof. So
-- search_lexemes runs as parlour_search, whose policy is true, and compares the tenant itself. It reads the tenant from
-- the setting, never from an argument.
GRANT SELECT ON context_rows TO parlour_search;
GRANT EXECUTE ON FUNCTION current_tenant() TO parlour_search;
CREATE POLICY keyword_search ON context_rows FOR SELECT TO parlour_search USING (true);

-- Search a whole tenant by keyword, without its conversations. What the reader may not see is filtered before the
-- limit, so that it takes no place. team: the team that searches; any_team: rows of all teams are searched. The lexemes
-- are returned, because the caller weighs each word by how well it tells the rows apart.
CREATE FUNCTION search_lexemes(query tsquery, clearance int, team uuid, any_team boolean, most int)
    RETURNS TABLE (id uuid, rank real, lexemes tsvector)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
    SELECT r.id, ts_rank(r.lexemes, query) AS rank, r.lexemes
      FROM context_rows r
     WHERE r.lexemes @@ query AND r.tenant_id = current_tenant() AND r.classification <= clearance
       AND r.session_id IS NULL AND (r.team_id IS NULL OR any_team OR r.team_id = team)
     ORDER BY rank DESC, r.id
     LIMIT most
$$;
REVOKE ALL ON FUNCTION search_lexemes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_lexemes TO parlour_app;

GRANT parlour_search TO CURRENT_USER WITH SET TRUE, INHERIT FALSE;
GRANT CREATE ON SCHEMA public TO parlour_search;
ALTER FUNCTION search_lexemes OWNER TO parlour_search;
REVOKE CREATE ON SCHEMA public FROM parlour_search;

-- The settings of the vector extension are known once it is loaded, which the first vector does.
DO $$ BEGIN PERFORM '[1]'::vector; END $$;

-- Return the rows of a tenant that are nearest to a vector, without its conversations. Up to `few` vectors in the space
-- all are compared: exact, and faster than the index. Above, the HNSW index of the space is scanned until enough rows
-- pass the filters (iterative, relaxed order); if it gives up too early, all are compared. The index has half
-- precision; returned distances have full precision. It runs as its caller, under row-level security. The number of
-- dimensions is part of the index's expression and cannot be a parameter. The indexes are built after the migrations
-- (vector_indexes.py).
CREATE FUNCTION search_nearest(
    space text, question vector, clearance int, team uuid, any_team boolean, most int, few int
)
    RETURNS TABLE (id uuid, distance float8)
    LANGUAGE plpgsql STABLE ROWS 60
    SET hnsw.iterative_scan = 'relaxed_order' SET hnsw.ef_search = 400 SET hnsw.max_scan_tuples = 40000
AS $$
#variable_conflict use_column
DECLARE
    is_small boolean;
    given int := 0;
BEGIN
    SELECT reltuples BETWEEN 0 AND few INTO is_small FROM pg_class WHERE oid = 'embeddings'::regclass;
    IF NOT is_small THEN
        SELECT count(*) <= few INTO is_small FROM (SELECT FROM embeddings e WHERE e.space = search_nearest.space LIMIT few + 1) counted;
    END IF;
    IF NOT is_small THEN
        RETURN QUERY EXECUTE format(
            'SELECT v.row_id, (v.vector <=> $1)::float8
               FROM embeddings v
               JOIN context_rows r ON (r.tenant_id, r.id) = (v.tenant_id, v.row_id)
              WHERE v.space = %2$L AND r.classification <= $2 AND r.session_id IS NULL
                AND (r.team_id IS NULL OR $4 OR r.team_id = $3)
              ORDER BY v.vector::halfvec(%1$s) <=> $1::halfvec(%1$s)
              LIMIT $5',
            vector_dims(question), search_nearest.space
        ) USING question, clearance, team, any_team, most;
        GET DIAGNOSTICS given = ROW_COUNT;
        IF given >= most THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
        SELECT v.row_id, v.vector <=> question AS distance
          FROM embeddings v
          JOIN context_rows r ON (r.tenant_id, r.id) = (v.tenant_id, v.row_id)
         WHERE v.space = search_nearest.space AND r.classification <= clearance AND r.session_id IS NULL
           AND (r.team_id IS NULL OR any_team OR r.team_id = team)
         ORDER BY distance, v.row_id
         LIMIT most;
END
$$;
REVOKE ALL ON FUNCTION search_nearest FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_nearest TO parlour_app;

-- Note the writing transaction in record_writes, once it commits.
CREATE FUNCTION note_record_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO record_writes AS w (tenant_id, transaction_id)
    SELECT t.tenant_id, pg_current_xact_id() FROM tenants t WHERE t.tenant_id = COALESCE(NEW.tenant_id, OLD.tenant_id)
    ON CONFLICT (tenant_id) DO UPDATE SET transaction_id = EXCLUDED.transaction_id
     WHERE w.transaction_id <> EXCLUDED.transaction_id;
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

-- Return the body of an archived message as its searchable row has it; '' where it has none. It runs as its caller,
-- under row-level security. Queries call it as `CASE WHEN archive_id IS NULL THEN body ELSE archived_text(id) END`, so
-- that it is called only for the few archived messages.
CREATE FUNCTION archived_text(archived uuid) RETURNS text
    LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN COALESCE((SELECT substr(r.content, (r.metadata ->> 'prefix_length')::int + 1)
                       FROM context_rows r WHERE r.message_id = archived), '');
END
$$;
REVOKE ALL ON FUNCTION archived_text FROM PUBLIC;
GRANT EXECUTE ON FUNCTION archived_text TO parlour_app;

-- =====================================================================================================================
-- Prompts and their records
-- =====================================================================================================================

-- One row per session: what its next prompt must repeat byte for byte. The briefing is a column of its own: it is large
-- and changes only when a cause has it rendered again.
CREATE TABLE session_prompts (
    tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    session_id  uuid NOT NULL,
    cache_state jsonb NOT NULL,
    briefing    jsonb,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('session_prompts');

-- Every text that was in a prompt or was left out of one, once per month and tenant. The rows of a month are deleted
-- together when their retention is over. An erased text leaves its row without a text.
CREATE TABLE ledger_texts (
    tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    month     date NOT NULL,
    hash      text NOT NULL,
    text      text,
    PRIMARY KEY (tenant_id, month, hash)
);
CALL isolate('ledger_texts');

-- One row per prompt. prompt_inputs: what the turn's prompts were made of, with the first one. step_record: the
-- prompt's own blocks and candidates. Both are compressed JSON that names texts by hash.
CREATE TABLE ledgers (
    tenant_id     uuid NOT NULL,
    turn_id       uuid NOT NULL,
    step          int NOT NULL,
    month         date NOT NULL,
    at            timestamptz NOT NULL,
    model         text NOT NULL,
    prompt_hash   text NOT NULL,
    prompt_inputs bytea,
    step_record   bytea NOT NULL,
    PRIMARY KEY (tenant_id, turn_id, step),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('ledgers');
CREATE INDEX ledgers_month ON ledgers (tenant_id, month);

-- Return the sources of the replies of some turns: what they cite, the files sent with the turns' messages, and the
-- records and documents that the turns' calls name; for each its current classification and whether it is deleted. Rows
-- are
-- rewritten: when the cited row is deleted, what it belonged to counts. A record that the turn itself deleted does not
-- count as deleted. It runs as its caller, under row-level security. It is PL/pgSQL, because that keeps its plans:
-- inlined, planning took 3 ms per call.
CREATE FUNCTION turn_source_status(turn_ids uuid[]) RETURNS TABLE (turn_id uuid, classification int, is_deleted boolean)
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
     WHERE t.id = ANY(turn_ids) AND t.tool_messages IS NOT NULL;
END
$$;
REVOKE ALL ON FUNCTION turn_source_status FROM PUBLIC;
GRANT EXECUTE ON FUNCTION turn_source_status TO parlour_app;

-- Return the sources of the replies of some turns that still exist, as `table/id`: what they cite, the files sent with
-- the turns' messages, and the records and documents that the turns' calls name. It runs as its caller, under row-level
-- security.
CREATE FUNCTION turn_source_ids(turn_ids uuid[]) RETURNS TABLE (source text)
    LANGUAGE plpgsql STABLE ROWS 20
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT COALESCE('documents/' || d.id, 'files/' || f.id, 'entities/' || e.id, 'context_rows/' || r.id)
      FROM messages m
      JOIN citations c ON c.message_id = m.id
      LEFT JOIN context_rows r ON r.id = c.row_id
      LEFT JOIN documents d ON d.id = c.document_id AND d.deleted_at IS NULL
      LEFT JOIN files f ON f.id = c.file_id AND f.object_key <> ''
      LEFT JOIN entities e ON e.id = c.entity_id AND e.deleted_at IS NULL
     WHERE m.turn_id = ANY(turn_ids) AND m.direction = 'outbound'
       AND num_nonnulls(r.id, d.id, f.id, e.id) > 0
     UNION
    SELECT 'files/' || f.id
      FROM messages m
      JOIN attachments a ON a.message_id = m.id
      JOIN files f ON f.id = a.file_id AND f.object_key <> ''
     WHERE m.turn_id = ANY(turn_ids) AND m.direction = 'inbound'
     UNION
    SELECT one.source
      FROM turns t
     CROSS JOIN LATERAL (
           SELECT DISTINCT found[1] AS type, found[2] AS key
             FROM regexp_matches(t.tool_messages::text, '([a-z][a-z0-9_]*)/([A-Za-z0-9][A-Za-z0-9_.~-]*)', 'g') found) n
     CROSS JOIN LATERAL (
           SELECT 'entities/' || e.id AS source
             FROM entity_types y JOIN entities e ON e.type_id = y.id AND e.key = n.key AND e.deleted_at IS NULL
            WHERE y.key = n.type
            UNION ALL
           SELECT 'documents/' || d.id
             FROM documents d WHERE n.type = 'document' AND d.key = n.key AND d.deleted_at IS NULL) one
     WHERE t.id = ANY(turn_ids) AND t.tool_messages IS NOT NULL;
END
$$;
REVOKE ALL ON FUNCTION turn_source_ids FROM PUBLIC;
GRANT EXECUTE ON FUNCTION turn_source_ids TO parlour_app;

-- Return the status of some sources (`table/id`): the highest current level among them, and whether any is gone.
CREATE FUNCTION source_status(told text[]) RETURNS TABLE (classification int, is_deleted boolean)
    LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH named AS MATERIALIZED (
        SELECT split_part(one, '/', 1) AS place, substr(one, strpos(one, '/') + 1)::uuid AS id FROM unnest(told) AS one
    ), known AS (
        SELECT e.classification, e.id IS NULL OR e.deleted_at IS NOT NULL AS gone
          FROM named n LEFT JOIN entities e ON e.id = n.id WHERE n.place = 'entities'
         UNION ALL
        SELECT d.classification, d.id IS NULL OR d.deleted_at IS NOT NULL
          FROM named n LEFT JOIN documents d ON d.id = n.id WHERE n.place = 'documents'
         UNION ALL
        SELECT f.classification, COALESCE(f.object_key, '') = ''
          FROM named n LEFT JOIN files f ON f.id = n.id WHERE n.place = 'files'
         UNION ALL
        SELECT r.classification, false
          FROM named n JOIN context_rows r ON r.id = n.id WHERE n.place = 'context_rows'
    )
    SELECT COALESCE(max(k.classification), 0)::int, COALESCE(bool_or(k.gone), false) FROM known k;
END
$$;
REVOKE ALL ON FUNCTION source_status FROM PUBLIC;
GRANT EXECUTE ON FUNCTION source_status TO parlour_app;

-- =====================================================================================================================
-- Pulses
-- =====================================================================================================================

-- Marks for a cause that the record already has. They are written without locking the record's row, so that two changes
-- of its parts do not wait for each other; a writer counts them into the row before it reads.
CREATE TABLE pulse_marks (
    tenant_id uuid NOT NULL,
    id        bigint GENERATED ALWAYS AS IDENTITY,
    entity_id uuid NOT NULL,
    cause     text NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, entity_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_marks');

-- One row per record that has Pulses, or tried to have one.
-- decayed_reads: how often they were read; reads of a week ago count half, as of reads_counted_at.
-- last_cost_usd: of the last writing, all levels together. expected_usd: the expected cost of the one requested at
-- requested_at, until its writer has ended.
-- failures: failed attempts in a row. problem: why the last one failed; failed_level: the level that failed (lower
-- levels were written), null: no level was written. given_up_at: since when it is tried only once a day.
-- waiting_for: what a due Pulse waits for.
CREATE TABLE pulse_states (
    tenant_id        uuid NOT NULL,
    entity_id        uuid NOT NULL,
    decayed_reads    float8 NOT NULL DEFAULT 0 CHECK (decayed_reads >= 0),
    reads_counted_at timestamptz,
    last_cost_usd    numeric(14, 8),
    expected_usd     numeric(14, 8),
    requested_at     timestamptz,
    failures         int NOT NULL DEFAULT 0,
    problem          text,
    problem_at       timestamptz,
    failed_level     int,
    given_up_at      timestamptz,
    waiting_for      text CHECK (waiting_for IN ('budget', 'backoff')),
    PRIMARY KEY (tenant_id, entity_id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_states');
CREATE INDEX pulse_states_waiting ON pulse_states (tenant_id) WHERE waiting_for IS NOT NULL;
CREATE INDEX pulse_states_expected ON pulse_states (tenant_id) WHERE expected_usd IS NOT NULL;

-- For deployments without a schedule that runs every minute: when the tenant's next wake-up comes (wakeup_at), when
-- that was planned, and the time of the last one that is delayed repeatedly until it is due (redelayed_wakeup_at).
CREATE TABLE pulse_wakeups (
    tenant_id           uuid PRIMARY KEY REFERENCES tenants (tenant_id) ON DELETE CASCADE,
    wakeup_at           timestamptz,
    redelayed_wakeup_at timestamptz,
    planned_at          timestamptz
);
CALL isolate('pulse_wakeups');

-- One Pulse per record and level, made of nothing above the level. version: counts its texts, from 1. sources_read_at:
-- when all its sources were read; checked_at: when they were last found unchanged.
-- statements: [{"text", "sources": [number]}]; citations: [{"number", "title", "locator", "table", "id", "level"}].
-- source_ids: every row that was in its prompt, cited or not, as table/id. When one is raised above the level, the text
-- is withheld, whatever the model cited.
-- rejected_statements: {"unknown_source", "unsupported_number"}: statements of the model that were rejected.
CREATE TABLE pulses (
    tenant_id           uuid NOT NULL,
    entity_id           uuid NOT NULL,
    level               int NOT NULL CHECK (level BETWEEN 0 AND 3),
    version             int NOT NULL DEFAULT 1,
    markdown            text NOT NULL,
    statements          jsonb NOT NULL,
    citations           jsonb NOT NULL,
    source_ids          text[] NOT NULL,
    rejected_statements jsonb NOT NULL DEFAULT '{}',
    fingerprint         text NOT NULL,
    prompt_version      text NOT NULL DEFAULT '',
    provider            text NOT NULL DEFAULT '',
    model               text NOT NULL,
    cost_usd            numeric(14, 8) NOT NULL DEFAULT 0,
    sources_read_at     timestamptz NOT NULL,
    generated_at        timestamptz NOT NULL,
    checked_at          timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, entity_id, level),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulses');

-- Every text that a Pulse ever had, the current one included. causes: [{"cause", "since"}]: what it was written for.
-- mark_count: how many marks it answers.
CREATE TABLE pulse_versions (
    tenant_id    uuid NOT NULL,
    entity_id    uuid NOT NULL,
    level        int NOT NULL,
    version      int NOT NULL,
    markdown     text NOT NULL,
    statements   jsonb NOT NULL,
    citations    jsonb NOT NULL,
    source_ids   text[] NOT NULL,
    fingerprint  text NOT NULL,
    provider     text NOT NULL DEFAULT '',
    model        text NOT NULL,
    cost_usd     numeric(14, 8) NOT NULL DEFAULT 0,
    causes       jsonb NOT NULL DEFAULT '[]',
    mark_count   bigint NOT NULL DEFAULT 0,
    generated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, entity_id, level, version),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_versions');

-- A question that somebody asked about a record, with a refresh. Only the asker sees the answer, and it is never a
-- Pulse.
-- requested_by: kind:id. level: the asker's clearance; nothing above it is in the prompt. problem: why there is no
-- answer.
CREATE TABLE pulse_questions (
    tenant_id   uuid NOT NULL,
    id          uuid NOT NULL,
    entity_id   uuid NOT NULL,
    question    text NOT NULL,
    asked_by    text NOT NULL,
    level       int NOT NULL CHECK (level BETWEEN 0 AND 3),
    asked_at    timestamptz NOT NULL,
    answered_at timestamptz,
    markdown    text NOT NULL DEFAULT '',
    statements  jsonb NOT NULL DEFAULT '[]',
    citations   jsonb NOT NULL DEFAULT '[]',
    source_ids  text[] NOT NULL DEFAULT '{}',
    fingerprint text NOT NULL DEFAULT '',
    model       text NOT NULL DEFAULT '',
    cost_usd    numeric(14, 8) NOT NULL DEFAULT 0,
    problem     text,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_questions');
CREATE INDEX pulse_questions_entity ON pulse_questions (tenant_id, entity_id, asked_at DESC);

-- What happened to a record's Pulses on a UTC day. regenerated: written by a model. skipped: their sources were
-- unchanged.
-- coalesced: marks that the writing for another mark answered. failed: attempts without a text.
-- reads, stale_reads: reads, and reads while a change was missing. stale_seconds, max_stale_seconds: how long the
-- oldest missing change had waited, summed over those reads and at most.
CREATE TABLE pulse_days (
    tenant_id         uuid NOT NULL,
    day               date NOT NULL,
    entity_id         uuid NOT NULL,
    regenerated       int NOT NULL DEFAULT 0,
    skipped           int NOT NULL DEFAULT 0,
    coalesced         bigint NOT NULL DEFAULT 0,
    failed            int NOT NULL DEFAULT 0,
    reads             int NOT NULL DEFAULT 0,
    stale_reads       int NOT NULL DEFAULT 0,
    stale_seconds     float8 NOT NULL DEFAULT 0,
    max_stale_seconds float8 NOT NULL DEFAULT 0,
    cost_usd          numeric(14, 8) NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day, entity_id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_days');

-- One row per prompt for a Pulse, compressed like `ledgers`, with its texts in ledger_texts too. version: of the text
-- that it produced; null when it produced none or answered a question (question_id). source_ids: every candidate, in
-- the prompt or not, as table/id. outcome: written, or why not.
CREATE TABLE pulse_ledgers (
    tenant_id     uuid NOT NULL,
    id            uuid NOT NULL,
    entity_id     uuid NOT NULL,
    level         int NOT NULL,
    version       int,
    month         date NOT NULL,
    created_at    timestamptz NOT NULL,
    model         text NOT NULL,
    prompt_hash   text NOT NULL,
    prompt_inputs bytea NOT NULL,
    source_ids    text[] NOT NULL,
    question_id   uuid,
    outcome       text NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_ledgers');
CREATE INDEX pulse_ledgers_entity ON pulse_ledgers (tenant_id, entity_id, created_at DESC);
CREATE INDEX pulse_ledgers_month ON pulse_ledgers (tenant_id, month);

-- Return whether one of the rows that a text was written from (table/id) is above the text's level now, by itself or by
-- what it belongs to. A row that is gone does not count: it reveals nothing more. It runs as its caller, under
-- row-level security, and keeps its plans, as `turn_source_status` does.
CREATE FUNCTION has_source_above_level(told text[], bound int) RETURNS boolean
    LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN (
        WITH named AS MATERIALIZED (
            SELECT split_part(one, '/', 1) AS place, substr(one, strpos(one, '/') + 1) AS id FROM unnest(told) AS one
        ), known AS MATERIALIZED (
            SELECT n.place, n.id::uuid AS id
              FROM named n
             WHERE n.place IN ('entities', 'documents', 'files', 'context_rows')
        )
        SELECT EXISTS (SELECT FROM known k JOIN entities e ON e.id = k.id
                        WHERE k.place = 'entities' AND e.classification > bound)
            OR EXISTS (SELECT FROM known k JOIN documents d ON d.id = k.id
                        WHERE k.place = 'documents' AND d.classification > bound)
            OR EXISTS (SELECT FROM known k JOIN files f ON f.id = k.id
                        WHERE k.place = 'files' AND f.classification > bound)
            OR EXISTS (SELECT FROM known k
                         JOIN context_rows r ON r.id = k.id
                         LEFT JOIN entities e ON e.id = r.entity_id
                         LEFT JOIN documents d ON d.id = r.document_id
                         LEFT JOIN files f ON f.id = r.file_id
                        WHERE k.place = 'context_rows'
                          AND greatest(r.classification, e.classification, d.classification, f.classification) > bound)
            OR EXISTS (SELECT FROM named n
                         JOIN entity_types t ON t.key = split_part(n.id, '/', 1)
                         JOIN entities e ON e.type_id = t.id AND e.key = substr(n.id, strpos(n.id, '/') + 1)
                        WHERE n.place = 'handles' AND e.classification > bound)
    );
END
$$;
REVOKE ALL ON FUNCTION has_source_above_level FROM PUBLIC;
GRANT EXECUTE ON FUNCTION has_source_above_level TO parlour_app;

-- =====================================================================================================================
-- Memory
-- =====================================================================================================================

-- What is known of a person in one binding (scope user: user_id and binding_id), or by a whole persona or team. One row
-- per value: valid from when it was stated until something else was stated; live while valid_until is null.
-- origin: stated and found by a rule, extracted or consolidated by a model, or edited by a person (edited_by).
-- end_reason: why it is no longer live. superseded_by: the fact that replaced it.
-- message_ids: the user's messages, of session_id, that it was taken from. last_confirmed_at: when it was last stated
-- or confirmed.
-- recall_count, use_count: how many prompts it was in, and how many of their replies used it.
CREATE TABLE facts (
    tenant_id         uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id                uuid NOT NULL,
    scope             text NOT NULL CHECK (scope IN ('human', 'team', 'user')),
    human_id          uuid,
    team_id           uuid,
    user_id           uuid,
    binding_id        uuid,
    key               text NOT NULL,
    value             text NOT NULL,
    confidence        float8 NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    origin            text NOT NULL CHECK (origin IN ('stated', 'extracted', 'consolidated', 'edited')),
    edited_by         text,
    valid_from        timestamptz NOT NULL,
    valid_until       timestamptz,
    end_reason        text
        CHECK (end_reason IN ('refined', 'contradicted', 'retracted', 'edited', 'deleted', 'merged', 'evicted')),
    superseded_by     uuid,
    session_id        uuid,
    turn_id           uuid,
    message_ids       uuid[] NOT NULL DEFAULT '{}',
    last_confirmed_at timestamptz NOT NULL,
    recall_count      int NOT NULL DEFAULT 0,
    use_count         int NOT NULL DEFAULT 0,
    last_used_at      timestamptz,
    created_at        timestamptz NOT NULL,
    lexemes           tsvector
        GENERATED ALWAYS AS (to_tsvector('english', translate(key, '._', '  ') || ' ' || value)) STORED,
    PRIMARY KEY (tenant_id, id),
    CHECK (CASE scope WHEN 'human' THEN num_nonnulls(human_id) = 1 AND num_nonnulls(team_id, user_id, binding_id) = 0
                      WHEN 'team' THEN num_nonnulls(team_id) = 1 AND num_nonnulls(human_id, user_id, binding_id) = 0
                      ELSE num_nonnulls(user_id, binding_id) = 2 AND num_nonnulls(human_id, team_id) = 0 END),
    CHECK ((valid_until IS NULL) = (end_reason IS NULL)),
    FOREIGN KEY (tenant_id, human_id) REFERENCES humans (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, team_id) REFERENCES teams (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, superseded_by) REFERENCES facts (tenant_id, id)
        ON DELETE SET NULL (superseded_by) DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE SET NULL (session_id),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE SET NULL (turn_id)
);
CALL isolate('facts');
CREATE UNIQUE INDEX facts_live ON facts (tenant_id, user_id, binding_id, human_id, team_id, key) NULLS NOT DISTINCT
    WHERE valid_until IS NULL;
CREATE INDEX facts_user ON facts (tenant_id, user_id, binding_id, valid_until) WHERE user_id IS NOT NULL;
CREATE INDEX facts_human ON facts (tenant_id, human_id, valid_until) WHERE human_id IS NOT NULL;
CREATE INDEX facts_team ON facts (tenant_id, team_id, valid_until) WHERE team_id IS NOT NULL;
CREATE INDEX facts_ended ON facts (tenant_id, user_id, binding_id, key, valid_until DESC) WHERE valid_until IS NOT NULL;
CREATE INDEX facts_turn ON facts (tenant_id, turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX facts_binding ON facts (tenant_id, binding_id) WHERE binding_id IS NOT NULL;
CREATE INDEX facts_session ON facts (tenant_id, session_id);
CREATE INDEX facts_superseded ON facts (tenant_id, superseded_by) WHERE superseded_by IS NOT NULL;

-- What happened to every proposed fact. decision: same, refines, contradicts, new, retracted, erased; or why nothing
-- was kept. key: '' where not even that could be read. No row holds the value: the fact has it, if one was kept.
CREATE TABLE fact_decisions (
    tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id          uuid NOT NULL,
    user_id     uuid,
    binding_id  uuid,
    session_id  uuid,
    turn_id     uuid,
    fact_id     uuid,
    key         text NOT NULL DEFAULT '',
    origin      text NOT NULL CHECK (origin IN ('stated', 'extracted', 'consolidated', 'edited')),
    decision    text NOT NULL,
    reason      text NOT NULL DEFAULT '',
    confidence  float8,
    message_ids uuid[] NOT NULL DEFAULT '{}',
    decided_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, fact_id) REFERENCES facts (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('fact_decisions');
CREATE INDEX fact_decisions_fact ON fact_decisions (tenant_id, fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX fact_decisions_user ON fact_decisions (tenant_id, user_id, binding_id) WHERE user_id IS NOT NULL;
CREATE INDEX fact_decisions_erased ON fact_decisions (tenant_id, user_id, binding_id) WHERE decision = 'erased';
CREATE INDEX fact_decisions_binding ON fact_decisions (tenant_id, binding_id) WHERE binding_id IS NOT NULL;
CREATE INDEX fact_decisions_session ON fact_decisions (tenant_id, session_id, decided_at DESC);

-- What a part of a conversation came to. row_id: its searchable row, which has the vector. merged_count: how many
-- similar episodes were merged into it.
CREATE TABLE episodes (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    user_id      uuid NOT NULL,
    binding_id   uuid NOT NULL,
    session_id   uuid NOT NULL,
    origin       text NOT NULL DEFAULT 'extracted' CHECK (origin IN ('extracted', 'consolidated')),
    text         text NOT NULL,
    from_at      timestamptz NOT NULL,
    until_at     timestamptz NOT NULL,
    message_ids  uuid[] NOT NULL DEFAULT '{}',
    row_id       uuid,
    merged_count int NOT NULL DEFAULT 0,
    recall_count int NOT NULL DEFAULT 0,
    use_count    int NOT NULL DEFAULT 0,
    last_used_at timestamptz,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, row_id) REFERENCES context_rows (tenant_id, id) ON DELETE SET NULL (row_id)
);
CALL isolate('episodes');
CREATE INDEX episodes_user ON episodes (tenant_id, user_id, binding_id);
CREATE INDEX episodes_binding ON episodes (tenant_id, binding_id);
CREATE INDEX episodes_session ON episodes (tenant_id, session_id);
CREATE INDEX episodes_row ON episodes (tenant_id, row_id) WHERE row_id IS NOT NULL;

-- One row per session that memory has read. extraction_cursor: the last turn that was read. anchor_count: how many
-- anchors there are; anchored_message_count: the messages that they cover.
CREATE TABLE session_memory_state (
    tenant_id              uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    session_id             uuid NOT NULL,
    extraction_cursor      int NOT NULL DEFAULT 0,
    anchor_count           int NOT NULL DEFAULT 0,
    anchored_message_count int NOT NULL DEFAULT 0,
    extracted_at           timestamptz,
    PRIMARY KEY (tenant_id, session_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('session_memory_state');

-- The summary of a session's older turns; prompts get the newest version at their next compaction. until_turn: the last
-- turn that it covers. text: '' where no model was available. included_message_ids, omitted_message_ids: the messages
-- that its writer included, and those that needed no mention. message_count: how many it covers in all. source_ids: the
-- sources of the replies it covers, as `table/id`. is_skipped: no model would summarise these turns, and the text is
-- the previous one.
CREATE TABLE summaries (
    tenant_id            uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    session_id           uuid NOT NULL,
    version              int NOT NULL,
    until_turn           int NOT NULL,
    text                 text NOT NULL,
    included_message_ids uuid[] NOT NULL DEFAULT '{}',
    omitted_message_ids  uuid[] NOT NULL DEFAULT '{}',
    message_count        int NOT NULL DEFAULT 0,
    source_ids           text[] NOT NULL DEFAULT '{}',
    is_skipped           boolean NOT NULL DEFAULT false,
    provider             text NOT NULL DEFAULT '',
    model                text NOT NULL DEFAULT '',
    cost_usd             numeric(14, 8) NOT NULL DEFAULT 0,
    created_at           timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id, version),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('summaries');

-- Details that must survive a summary word for word: identifiers, amounts, dates, names, decisions, approvals and
-- promises of the messages that it covers. first_turn, message_id: where it was said first; last_turn: where last.
-- text: the words around it; value: what must be found again. from_agent: the agent said it. missing_from_summary: the
-- newest summary does not contain it.
CREATE TABLE summary_key_details (
    tenant_id            uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id                   uuid NOT NULL,
    session_id           uuid NOT NULL,
    message_id           uuid NOT NULL,
    first_turn           int NOT NULL,
    last_turn            int NOT NULL,
    kind                 text NOT NULL
        CHECK (kind IN ('identifier', 'amount', 'date', 'name', 'decision', 'approval', 'promise')),
    value                text NOT NULL,
    text                 text NOT NULL,
    from_agent           boolean NOT NULL,
    missing_from_summary boolean NOT NULL,
    created_at           timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, session_id, kind, value),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('summary_key_details');
CREATE INDEX summary_key_details_session ON summary_key_details (tenant_id, session_id, last_turn DESC);
CREATE INDEX summary_key_details_missing ON summary_key_details (tenant_id, session_id, kind, last_turn DESC)
    WHERE missing_from_summary;
CREATE INDEX summary_key_details_message ON summary_key_details (tenant_id, message_id);

-- The agent's notes on a session: what it understood, assumes and expects. version: counts the changes.
CREATE TABLE agent_states (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    session_id uuid NOT NULL,
    state      jsonb NOT NULL DEFAULT '{}',
    version    int NOT NULL DEFAULT 1,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('agent_states');

-- Which facts and episodes were in a turn's prompt, by position, and whether its reply used them; null until there is a
-- reply.
CREATE TABLE recalls (
    tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    turn_id     uuid NOT NULL,
    position    int NOT NULL,
    fact_id     uuid,
    episode_id  uuid,
    score       float8,
    is_used     boolean,
    recalled_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, turn_id, position),
    CHECK (num_nonnulls(fact_id, episode_id) = 1),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, fact_id) REFERENCES facts (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, episode_id) REFERENCES episodes (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('recalls');
CREATE INDEX recalls_fact ON recalls (tenant_id, fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX recalls_episode ON recalls (tenant_id, episode_id) WHERE episode_id IS NOT NULL;

CREATE TRIGGER follow_merged_user BEFORE INSERT ON facts
    FOR EACH ROW WHEN (NEW.user_id IS NOT NULL) EXECUTE FUNCTION follow_merged_user();
CREATE TRIGGER follow_merged_user BEFORE INSERT ON fact_decisions
    FOR EACH ROW WHEN (NEW.user_id IS NOT NULL) EXECUTE FUNCTION follow_merged_user();
CREATE TRIGGER follow_merged_user BEFORE INSERT ON episodes
    FOR EACH ROW EXECUTE FUNCTION follow_merged_user();

-- =====================================================================================================================
-- Erasure
-- =====================================================================================================================

-- One row per erasure: what was erased, and what was removed where. report: table, id and action of each row, and what
-- is out of reach; it holds nothing of what was erased. While one is running, a repeated request continues it:
-- search_progress: how far the prompt records were searched; remaining_work: what is left to do, with addresses and
-- ids; partial_report: the report so far; completed_work: which parts are done. These are empty at the end.
CREATE TABLE erasures (
    tenant_id       uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id              uuid NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('user', 'message', 'file', 'fact')),
    target_id       uuid NOT NULL,
    requested_by    text NOT NULL,
    keep_records    boolean NOT NULL DEFAULT false,
    state           text NOT NULL CHECK (state IN ('running', 'done')),
    report          jsonb NOT NULL DEFAULT '{}',
    at              timestamptz NOT NULL,
    search_progress jsonb,
    remaining_work  jsonb,
    partial_report  jsonb,
    completed_work  jsonb,
    PRIMARY KEY (tenant_id, id),
    CHECK (state = 'running' OR num_nonnulls(search_progress, remaining_work, partial_report, completed_work) = 0)
);
CALL isolate('erasures');
CREATE INDEX erasures_time ON erasures (tenant_id, at DESC);
CREATE INDEX erasures_target ON erasures (tenant_id, target_id, kind);
CREATE UNIQUE INDEX erasures_running ON erasures (tenant_id, kind, target_id) WHERE state = 'running';
