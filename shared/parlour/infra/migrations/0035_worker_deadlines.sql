-- Workers that were given a turn of the session and did not report its end: {worker id: when its invocation is over at
-- the latest}. A worker that hangs neither renews its lease nor stops, so the tenant's share counts it until then.
ALTER TABLE sessions ADD COLUMN worker_deadlines jsonb NOT NULL DEFAULT '{}';
DROP INDEX sessions_leased;
CREATE INDEX sessions_with_workers ON sessions (tenant_id) WHERE worker_deadlines <> '{}';
