-- A tenant, its people and keys, and the three tiers that a binding puts together.

CREATE TABLE tenants (
    tenant_id    uuid PRIMARY KEY,
    slug         text NOT NULL CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    display_name text NOT NULL,
    status       text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'archived')),
    settings     jsonb NOT NULL DEFAULT '{}',
    version      int NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);
CALL isolate('tenants');
-- Deleting a tenant would take its audit trail along; that is the owner's business.
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

-- References only: the value lives in the secret store.
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
    tenant_id        uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id               uuid NOT NULL,
    slug             text NOT NULL,
    display_name     text NOT NULL,
    department       text NOT NULL DEFAULT '',
    role             text NOT NULL DEFAULT '',
    sops             jsonb NOT NULL DEFAULT '[]',
    escalation       jsonb NOT NULL DEFAULT '{}',
    allowed_handoffs text[] NOT NULL DEFAULT '{}',
    guardrails       jsonb NOT NULL DEFAULT '[]',
    version          int NOT NULL DEFAULT 1,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, slug)
);
CALL isolate('teams');

CREATE TABLE team_members (
    tenant_id uuid NOT NULL,
    team_id   uuid NOT NULL,
    human_id  uuid NOT NULL,
    PRIMARY KEY (tenant_id, team_id, human_id),
    FOREIGN KEY (tenant_id, team_id) REFERENCES teams (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, human_id) REFERENCES humans (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('team_members');

CREATE TABLE agents (
    tenant_id           uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id                  uuid NOT NULL,
    slug                text NOT NULL,
    display_name        text NOT NULL,
    instructions        text NOT NULL DEFAULT '',
    model_routing       jsonb NOT NULL DEFAULT '{}',
    tools               text[] NOT NULL DEFAULT '{}',
    memory_policy       jsonb NOT NULL DEFAULT '{}',
    retrieval           jsonb NOT NULL DEFAULT '{}',
    budget              jsonb NOT NULL DEFAULT '{}',
    guardrails          jsonb NOT NULL DEFAULT '[]',
    max_tool_iterations int NOT NULL DEFAULT 4 CHECK (max_tool_iterations BETWEEN 0 AND 20),
    version             int NOT NULL DEFAULT 1,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
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

-- What is known before the tenant is: which tenant and binding a key leads to. It holds nothing of a tenant's
-- content, so anyone may read it; a row is written only by the tenant it leads to, so none can be stolen.
-- key: 'tenant:<slug>', 'gupshup:<app>', 'web:<host>'; unique in the whole deployment.
CREATE TABLE routes (
    key        text PRIMARY KEY,
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    binding_id uuid,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('routes');
CREATE POLICY anyone_finds_the_tenant ON routes FOR SELECT USING (true);
CREATE INDEX routes_tenant ON routes (tenant_id, binding_id);

-- endpoint: 'python:<name>' (built in), later 'http:' and 'mcp:'. auth: a name in secrets, never a value.
CREATE TABLE tools (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id             uuid NOT NULL,
    name           text NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,63}$'),
    description    text NOT NULL,
    schema         jsonb NOT NULL,
    endpoint       text NOT NULL,
    auth           text,
    writes         boolean NOT NULL DEFAULT false,
    idempotent     boolean NOT NULL DEFAULT false,
    heavy          boolean NOT NULL DEFAULT false,
    needs_approval boolean NOT NULL DEFAULT false,
    version        int NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
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

-- Every version that a tier, a binding, a tool or an entity type ever had.
CREATE TABLE config_versions (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id         uuid NOT NULL,
    tier       text NOT NULL CHECK (tier IN ('tenant', 'human', 'team', 'agent', 'binding', 'tool', 'entity_type')),
    tier_id    uuid NOT NULL,
    version    int NOT NULL,
    config     jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, tier, tier_id, version)
);
CALL isolate('config_versions');
-- What was once in force is not rewritten.
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
-- The trail is written and read, never rewritten.
REVOKE UPDATE, DELETE ON audit_log FROM parlour_app;
