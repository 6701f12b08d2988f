-- What the prompts of a session stand on, and the record of every prompt that was sent.

-- called: the turn's tool calls as its session's history tells them, each result in one line.
ALTER TABLE turns ADD COLUMN called jsonb;

-- miss: which bytes of the prompt before were cached and had to be read anew, why, and what that cost.
ALTER TABLE llm_calls ADD COLUMN miss jsonb;

-- What a cited row belongs to: rows are written anew when that changes, and a citation is to tell then whether its source
-- is there still. No foreign keys: what became of it is to be told also when it is gone.
ALTER TABLE citations ADD COLUMN entity_id uuid, ADD COLUMN document_id uuid, ADD COLUMN file_id uuid;

-- prompt: where an agent's instructions stand; modes: what it may do with a request; reminders: said at the end.
ALTER TABLE agents
    ADD COLUMN prompt    text NOT NULL DEFAULT 'system' CHECK (prompt IN ('system', 'floating')),
    ADD COLUMN modes     text[] NOT NULL DEFAULT '{clarify,inform,act}',
    ADD COLUMN reminders text[] NOT NULL DEFAULT '{}';

-- One row a session: what its next prompt must repeat byte for byte. The briefing is apart: it is large, and changes
-- only when a cause has it rendered anew.
CREATE TABLE session_prompts (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    session_id uuid NOT NULL,
    standing   jsonb NOT NULL,
    briefing   jsonb,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('session_prompts');

-- Every text that stood in a prompt or was left out of one, once a month and tenant. Rows of a month go together when
-- their time is over; a text that was forgotten leaves its row without words.
CREATE TABLE ledger_blobs (
    tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    month     date NOT NULL,
    hash      text NOT NULL,
    words     text,
    PRIMARY KEY (tenant_id, month, hash)
);
CALL isolate('ledger_blobs');

-- One row a prompt. basis: what the turn's prompts were made of, with the first one; made: that prompt's own blocks
-- and candidates. Both are compressed JSON that names texts by hash.
CREATE TABLE ledgers (
    tenant_id   uuid NOT NULL,
    turn_id     uuid NOT NULL,
    step        int NOT NULL,
    month       date NOT NULL,
    at          timestamptz NOT NULL,
    model       text NOT NULL,
    prompt_hash text NOT NULL,
    basis       bytea,
    made        bytea NOT NULL,
    PRIMARY KEY (tenant_id, turn_id, step),
    FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('ledgers');
CREATE INDEX ledgers_month ON ledgers (tenant_id, month);

-- ledgers: what was kept of a tenant's prompts, some of which may have been kept long enough (id: the tenant).
ALTER TABLE work_due DROP CONSTRAINT work_due_kind_check;
ALTER TABLE work_due ADD CONSTRAINT work_due_kind_check
    CHECK (kind IN ('session', 'outbox', 'tool_call', 'embedding', 'file', 'record_type', 'ledgers'));

-- Tokens that a model reports for one token of cl100k_base, by the script of the text.
CREATE TABLE token_factors (
    tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    model     text NOT NULL,
    script    text NOT NULL,
    factor    float8 NOT NULL CHECK (factor > 0),
    learned   int NOT NULL DEFAULT 1,
    PRIMARY KEY (tenant_id, model, script)
);
CALL isolate('token_factors');
