-- Pulses: what is going on with a record now, written once and read often.

-- stale_since: the first change that the record's Pulses do not tell of; null while they tell of all. stale_causes: why,
-- once each, in the order in which they came up. stale_marks: {cause: {"since", "first"}}, when it first came up since
-- stale_since, and at which mark. marks counts all marks there ever were: a writer that read at mark n clears what is not
-- younger than n. marks_told: the n of the writer that cleared last.
ALTER TABLE entities
    ADD COLUMN stale_marks jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN marks       bigint NOT NULL DEFAULT 0,
    ADD COLUMN marks_told  bigint NOT NULL DEFAULT 0;

-- Marks for a cause that stands in the record already: written without its row, which a writer counts them into before it
-- reads. Who changes one of a record's many parts waits for nobody who changes another.
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

-- What Pulses may cost a tenant in a day (UTC), within its daily cap; null is the deployment's default.
ALTER TABLE tenants ADD COLUMN pulse_daily_cap_usd numeric(12, 4) CHECK (pulse_daily_cap_usd >= 0);

-- pulse: a record whose Pulses are to be looked at (id: the record).
ALTER TABLE work_due DROP CONSTRAINT work_due_kind_check;
ALTER TABLE work_due ADD CONSTRAINT work_due_kind_check
    CHECK (kind IN ('session', 'outbox', 'tool_call', 'embedding', 'file', 'record_type', 'ledgers', 'pulse'));
-- Every record with a Pulse has a row that comes due with its age: the two sweeps must not read each other's.
DROP INDEX work_due_time;
CREATE INDEX work_due_time ON work_due (due_at) WHERE kind <> 'pulse';
CREATE INDEX work_due_pulse ON work_due (tenant_id, due_at) WHERE kind = 'pulse';

-- One row a record that has Pulses, or tried to have one.
-- reads: how often they were looked at, those of a week ago counting half, as of read_at.
-- cost_usd: of the last writing, all levels together. expected_usd: what one that was asked for at asked_at will cost,
-- until its writer has ended.
-- failures: tries in a row that gave nothing; problem: why the last one did, failed_level: whose text it was, those of lower
-- levels were written; null: nobody's was. dead_at: since when it is tried once a day only.
-- waiting_for: what a Pulse that is due waits for.
CREATE TABLE pulse_states (
    tenant_id    uuid NOT NULL,
    entity_id    uuid NOT NULL,
    reads        float8 NOT NULL DEFAULT 0 CHECK (reads >= 0),
    read_at      timestamptz,
    cost_usd     numeric(14, 8),
    expected_usd numeric(14, 8),
    asked_at     timestamptz,
    failures     int NOT NULL DEFAULT 0,
    problem      text,
    problem_at   timestamptz,
    failed_level int,
    dead_at      timestamptz,
    waiting_for  text CHECK (waiting_for IN ('budget', 'backoff')),
    PRIMARY KEY (tenant_id, entity_id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_states');
CREATE INDEX pulse_states_waiting ON pulse_states (tenant_id) WHERE waiting_for IS NOT NULL;
CREATE INDEX pulse_states_expected ON pulse_states (tenant_id) WHERE expected_usd IS NOT NULL;

-- Where no schedule looks every minute: when the tenant's next wake-up comes, when that was planned, and the time of the
-- last one that is delayed again and again until it comes.
CREATE TABLE pulse_wakeups (
    tenant_id  uuid PRIMARY KEY REFERENCES tenants (tenant_id) ON DELETE CASCADE,
    at         timestamptz,
    far_at     timestamptz,
    planned_at timestamptz
);
CALL isolate('pulse_wakeups');

-- One Pulse a record and level: made of nothing above the level. version counts its texts, from 1. read_at: the moment
-- at which everything it was made of was read; checked_at: the last one at which that was found to be the same.
-- statements: [{"text", "sources": [number]}]; citations: [{"number", "title", "locator", "table", "id", "level"}].
-- told_of: every row that was in its prompt, cited or not, as table/id: when one comes to stand above the level, the text
-- is withheld, whatever the model said that it took its words from.
-- dropped: {"unknown_source", "number"}, statements of the model that were not taken.
CREATE TABLE pulses (
    tenant_id      uuid NOT NULL,
    entity_id      uuid NOT NULL,
    level          int NOT NULL CHECK (level BETWEEN 0 AND 3),
    version        int NOT NULL DEFAULT 1,
    markdown       text NOT NULL,
    statements     jsonb NOT NULL,
    citations      jsonb NOT NULL,
    told_of        text[] NOT NULL,
    dropped        jsonb NOT NULL DEFAULT '{}',
    fingerprint    text NOT NULL,
    prompt_version text NOT NULL DEFAULT '',
    provider       text NOT NULL DEFAULT '',
    model          text NOT NULL,
    cost_usd       numeric(14, 8) NOT NULL DEFAULT 0,
    read_at        timestamptz NOT NULL,
    generated_at   timestamptz NOT NULL,
    checked_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, entity_id, level),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulses');

-- Every text that a Pulse ever had, the present one too. causes: [{"cause", "since"}], what it was written for;
-- marks: how many marks it answers.
CREATE TABLE pulse_versions (
    tenant_id    uuid NOT NULL,
    entity_id    uuid NOT NULL,
    level        int NOT NULL,
    version      int NOT NULL,
    markdown     text NOT NULL,
    statements   jsonb NOT NULL,
    citations    jsonb NOT NULL,
    told_of      text[] NOT NULL,
    fingerprint  text NOT NULL,
    provider     text NOT NULL DEFAULT '',
    model        text NOT NULL,
    cost_usd     numeric(14, 8) NOT NULL DEFAULT 0,
    causes       jsonb NOT NULL DEFAULT '[]',
    marks        bigint NOT NULL DEFAULT 0,
    generated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, entity_id, level, version),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_versions');

-- What somebody asked about a record with a refresh; the answer is theirs alone and never a Pulse. asked_by: kind:id;
-- level: the asker's clearance; nothing above it is in the prompt. problem: why there is no answer.
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
    told_of     text[] NOT NULL DEFAULT '{}',
    fingerprint text NOT NULL DEFAULT '',
    model       text NOT NULL DEFAULT '',
    cost_usd    numeric(14, 8) NOT NULL DEFAULT 0,
    problem     text,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_questions');
CREATE INDEX pulse_questions_entity ON pulse_questions (tenant_id, entity_id, asked_at DESC);

-- What became of a record's Pulses on a day (UTC). regenerated: by a model; skipped: their sources were the same;
-- coalesced: marks that another one's writing answered; failed: tries without a text.
-- reads, stale_reads: looks at them, and those at which something was not told of yet; stale_seconds, stale_seconds_most:
-- how long the oldest such change had waited, over all those looks and at most.
CREATE TABLE pulse_days (
    tenant_id          uuid NOT NULL,
    day                date NOT NULL,
    entity_id          uuid NOT NULL,
    regenerated        int NOT NULL DEFAULT 0,
    skipped            int NOT NULL DEFAULT 0,
    coalesced          bigint NOT NULL DEFAULT 0,
    failed             int NOT NULL DEFAULT 0,
    reads              int NOT NULL DEFAULT 0,
    stale_reads        int NOT NULL DEFAULT 0,
    stale_seconds      float8 NOT NULL DEFAULT 0,
    stale_seconds_most float8 NOT NULL DEFAULT 0,
    cost_usd           numeric(14, 8) NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day, entity_id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_days');

-- One row a prompt for a Pulse, compressed as turns' are (`ledgers`), its texts among the same blobs. version: of the text
-- that came of it; null when none did, or when it answered a question (question_id). told_of: every candidate, in the
-- prompt or not, as table/id. outcome: written, or why not.
CREATE TABLE pulse_ledgers (
    tenant_id   uuid NOT NULL,
    id          uuid NOT NULL,
    entity_id   uuid NOT NULL,
    level       int NOT NULL,
    version     int,
    month       date NOT NULL,
    at          timestamptz NOT NULL,
    model       text NOT NULL,
    prompt_hash text NOT NULL,
    basis       bytea NOT NULL,
    told_of     text[] NOT NULL,
    question_id uuid,
    outcome     text NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pulse_ledgers');
CREATE INDEX pulse_ledgers_entity ON pulse_ledgers (tenant_id, entity_id, at DESC);
CREATE INDEX pulse_ledgers_month ON pulse_ledgers (tenant_id, month);

-- Whether one of the rows that a text was written from (table/id) stands above the text's level by now, by itself or by
-- what it belongs to. What is gone does not: it tells nobody more than it did. It runs as its caller, under row-level
-- security, and keeps its plans, as `drawn_from` does.
CREATE FUNCTION stands_above(told text[], bound int) RETURNS boolean
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
REVOKE ALL ON FUNCTION stands_above FROM PUBLIC;
GRANT EXECUTE ON FUNCTION stands_above TO parlour_app;

-- What was marked before there were writers is due now.
ALTER TABLE entities NO FORCE ROW LEVEL SECURITY;
ALTER TABLE work_due NO FORCE ROW LEVEL SECURITY;
UPDATE entities e
   SET marks = 1,
       stale_marks = (SELECT jsonb_object_agg(c, jsonb_build_object('since', e.stale_since, 'first', 1))
                        FROM unnest(e.stale_causes) AS c)
 WHERE e.stale_since IS NOT NULL AND e.stale_causes <> '{}';
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT e.tenant_id, 'pulse', e.id, e.stale_since
  FROM entities e
 WHERE e.stale_since IS NOT NULL AND e.deleted_at IS NULL
ON CONFLICT DO NOTHING;
SET CONSTRAINTS ALL IMMEDIATE; -- no table is altered while its deferred triggers wait
ALTER TABLE entities FORCE ROW LEVEL SECURITY;
ALTER TABLE work_due FORCE ROW LEVEL SECURITY;
