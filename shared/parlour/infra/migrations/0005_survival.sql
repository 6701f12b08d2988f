-- What a turn, an effect and a sent reply need to survive anything: who holds a lease, what an effect came to,
-- what is due, and what may still be spent.

-- lease_holder: the worker that took the lease; a lease taken by a statement whose answer was lost is its own.
ALTER TABLE sessions ADD COLUMN lease_holder uuid;

-- attempted_by: the worker that the last attempt was counted for, so that a repeated statement counts it once.
-- redriven_at: when a failed turn was last opened again. dismissed_at: when somebody let it be.
ALTER TABLE turns
    ADD COLUMN attempted_by uuid, ADD COLUMN redriven_at timestamptz, ADD COLUMN dismissed_at timestamptz;
CREATE INDEX turns_parked ON turns (tenant_id, finished_at)
    WHERE state = 'failed' AND dismissed_at IS NULL;

-- lookup: where an endpoint tells by idempotency key what became of a call; timeout_seconds: null is the kind's default.
ALTER TABLE tools ADD COLUMN lookup text, ADD COLUMN timeout_seconds int CHECK (timeout_seconds > 0);

-- interim: what the model was told at once of a heavy call, whose result comes later as a message of its own.
-- runs: how often it was started. run_token: grows with every start; whoever writes the outcome names it.
-- run_until: when whoever runs it is given up. cancelled_at: when somebody asked for it to stop.
-- resolved_by, resolved_at: the person who settled an unknown outcome.
ALTER TABLE tool_calls
    ADD COLUMN heavy        boolean NOT NULL DEFAULT false,
    ADD COLUMN interim      jsonb,
    ADD COLUMN runs         int NOT NULL DEFAULT 0,
    ADD COLUMN run_token    bigint NOT NULL DEFAULT 0,
    ADD COLUMN run_until    timestamptz,
    ADD COLUMN cancelled_at timestamptz,
    ADD COLUMN resolved_by  text,
    ADD COLUMN resolved_at  timestamptz;
CREATE INDEX tool_calls_unknown ON tool_calls (tenant_id, started_at) WHERE state = 'unknown';

-- held: the channel takes no free text any more (WhatsApp: a day after the user last wrote), so a person decides.
-- sent_by: the sender that made the row `sending`; a row begun by a statement whose answer was lost is its own.
ALTER TABLE outbox DROP CONSTRAINT outbox_state_check;
ALTER TABLE outbox
    ADD CONSTRAINT outbox_state_check
        CHECK (state IN ('pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'unknown', 'held')),
    ADD COLUMN sent_by     uuid,
    ADD COLUMN resolved_by text,
    ADD COLUMN resolved_at timestamptz;
CREATE INDEX outbox_needs_a_person ON outbox (tenant_id, created_at) WHERE state IN ('unknown', 'held');

-- News of a message whose sending is not committed yet: it is consulted when the provider's id becomes known.
CREATE TABLE early_statuses (
    tenant_id           uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    provider_message_id text NOT NULL,
    status              text NOT NULL,
    problem             text,
    at                  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, provider_message_id, status)
);
CALL isolate('early_statuses');

-- What has to be looked at again by a certain time, should nothing else have seen to it: the sweep reads this before
-- it knows the tenant. It holds ids and times, nothing of a tenant's content.
CREATE TABLE work_due (
    tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    kind      text NOT NULL CHECK (kind IN ('session', 'outbox', 'tool_call')),
    id        uuid NOT NULL,
    due_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, kind, id)
);
CALL isolate('work_due');
CREATE POLICY anyone_finds_what_is_due ON work_due FOR SELECT USING (true);
CREATE INDEX work_due_time ON work_due (due_at);

-- daily_cap_usd: null is the deployment's default. spend_stopped_at: the kill switch; no model is called while it is set.
ALTER TABLE tenants
    ADD COLUMN daily_cap_usd    numeric(12, 4) CHECK (daily_cap_usd >= 0),
    ADD COLUMN spend_stopped_at timestamptz,
    ADD COLUMN spend_stopped_by text;

-- One row per tenant and day (UTC). warned_percent: the highest share of the cap that people were told of.
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
