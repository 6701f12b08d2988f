-- Visitors who came before 0018 and wrote nothing are due as well: the sweep begins with the oldest of each tenant. The
-- owner reads and writes for all tenants here.

ALTER TABLE users NO FORCE ROW LEVEL SECURITY;
ALTER TABLE work_due NO FORCE ROW LEVEL SECURITY;

INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT tenant_id, 'visitor_retention', tenant_id, min(created_at) + interval '30 days'
  FROM users
 WHERE phone IS NULL AND merged_into IS NULL
 GROUP BY tenant_id
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = LEAST(work_due.due_at, excluded.due_at);

ALTER TABLE work_due FORCE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
