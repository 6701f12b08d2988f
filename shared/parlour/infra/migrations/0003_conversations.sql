-- People, threads, messages, and the turns that answer them.

CREATE TABLE users (
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id           uuid NOT NULL,
    phone        text,
    display_name text,
    locale       text,
    clearance    int CHECK (clearance BETWEEN 0 AND 3),
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, phone)
);
CALL isolate('users');

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

CREATE TABLE entities (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id             uuid NOT NULL,
    type_id        uuid NOT NULL,
    key            text NOT NULL,
    name           text NOT NULL,
    properties     jsonb NOT NULL DEFAULT '{}',
    classification int NOT NULL DEFAULT 0 CHECK (classification BETWEEN 0 AND 3),
    version        int NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    deleted_at     timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, type_id, key),
    FOREIGN KEY (tenant_id, type_id) REFERENCES entity_types (tenant_id, id)
);
CALL isolate('entities');

-- lease_token grows with every lease taken; a write of a turn names the token it was taken with.
-- last_event: the number of the session's newest event. next_source: the next citation number.
CREATE TABLE sessions (
    tenant_id      uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id             uuid NOT NULL,
    user_id        uuid NOT NULL,
    binding_id     uuid NOT NULL,
    entity_id      uuid,
    channel        text NOT NULL,
    title          text NOT NULL DEFAULT '',
    is_main        boolean NOT NULL DEFAULT false,
    lease_token    bigint NOT NULL DEFAULT 0,
    lease_until    timestamptz,
    last_event     bigint NOT NULL DEFAULT 0,
    next_source    int NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL,
    last_active_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE SET NULL (entity_id)
);
CALL isolate('sessions');
CREATE UNIQUE INDEX sessions_main ON sessions (tenant_id, user_id, binding_id) WHERE is_main;
CREATE INDEX sessions_user ON sessions (tenant_id, user_id, last_active_at DESC);

CREATE TABLE turns (
    tenant_id   uuid NOT NULL,
    id          uuid NOT NULL,
    session_id  uuid NOT NULL,
    binding_id  uuid NOT NULL,
    number      int NOT NULL,
    state       text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'failed')),
    attempts    int NOT NULL DEFAULT 0,
    frozen_at   timestamptz NOT NULL,
    config      jsonb NOT NULL DEFAULT '{}',
    degraded    boolean NOT NULL DEFAULT false,
    stage_ms    jsonb NOT NULL DEFAULT '{}',
    problem     text,
    finished_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, session_id, number),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id)
);
CALL isolate('turns');
-- A session has one open turn at most.
CREATE UNIQUE INDEX turns_open ON turns (tenant_id, session_id) WHERE state = 'open';

-- position: the order of arrival. state of an inbound message: unanswered -> taken (frozen into turn_id)
-- -> answered, or parked when its turn failed; ignored is one that needs no answer.
CREATE TABLE messages (
    tenant_id           uuid NOT NULL,
    id                  uuid NOT NULL,
    position            bigint GENERATED ALWAYS AS IDENTITY,
    session_id          uuid NOT NULL,
    binding_id          uuid NOT NULL,
    turn_id             uuid,
    direction           text NOT NULL CHECK (direction IN ('inbound', 'outbound')),
    state               text NOT NULL CHECK (state IN ('unanswered', 'taken', 'answered', 'parked', 'ignored', 'reply')),
    channel             text NOT NULL,
    kind                text NOT NULL,
    body                text NOT NULL DEFAULT '',
    media               jsonb,
    provider_message_id text,
    sent_at             timestamptz NOT NULL,
    received_at         timestamptz NOT NULL,
    metadata            jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, binding_id, provider_message_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE SET NULL (turn_id)
);
CALL isolate('messages');
CREATE INDEX messages_session ON messages (tenant_id, session_id, position DESC);
CREATE INDEX messages_turn ON messages (tenant_id, turn_id);
CREATE INDEX messages_unanswered ON messages (tenant_id, session_id, position) WHERE state = 'unanswered';

-- One model inference. The request is committed before the call (its hash), the content blocks after it.
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
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, turn_id, step, call_id),
    UNIQUE (tenant_id, idempotency_key),
    FOREIGN KEY (tenant_id, turn_id, step) REFERENCES steps (tenant_id, turn_id, number) ON DELETE CASCADE
);
CALL isolate('tool_calls');

-- One row per call to a provider, the failed ones included. input_tokens counts what was neither read
-- from nor written to the prompt cache. cost_usd is null when the price list does not know the model.
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
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE SET NULL (session_id),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE SET NULL (turn_id),
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE SET NULL (binding_id)
);
CALL isolate('llm_calls');
CREATE INDEX llm_calls_turn ON llm_calls (tenant_id, turn_id);
CREATE INDEX llm_calls_day ON llm_calls (tenant_id, at DESC);

-- What the web reads while a turn runs: numbered per session, in order, ended by 'done'.
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

-- One row per reply that has to leave through a provider. A reply too long for one message goes out in
-- parts: parts of them in all (null until the first try), parts_sent of them taken by the provider so far.
CREATE TABLE outbox (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    session_id uuid NOT NULL,
    message_id uuid NOT NULL,
    binding_id uuid NOT NULL,
    channel    text NOT NULL,
    recipient  text NOT NULL,
    state      text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'unknown')),
    attempts   int NOT NULL DEFAULT 0,
    parts      int,
    parts_sent int NOT NULL DEFAULT 0,
    problem    text,
    created_at timestamptz NOT NULL,
    sent_at    timestamptz,
    status_at  timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, message_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id)
);
CALL isolate('outbox');
CREATE INDEX outbox_session ON outbox (tenant_id, session_id);

-- The provider's id of every part it took: what its later statuses are about. A table of its own, because
-- under row-level security only a plain comparison may use an index, not "is one of".
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
