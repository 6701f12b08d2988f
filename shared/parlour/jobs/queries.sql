-- Due work of all tenants.

-- name: schedule_work
-- Make a piece of work due at a time; a later call replaces an earlier one.
INSERT INTO work_due (tenant_id, kind, id, due_at)
VALUES (current_tenant(), %(kind)s, %(id)s, %(due_at)s)
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at;

-- name: lease_work
-- Lease a piece of work to one worker, unless another one has it; repeated by the same worker it is leased once.
INSERT INTO work_due (tenant_id, kind, id, due_at, leased_until)
SELECT tenant_id, %(kind)s, %(id)s, %(until)s, %(until)s FROM tenants
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at, leased_until = EXCLUDED.leased_until
      WHERE work_due.leased_until IS NULL OR work_due.leased_until <= %(now)s
         OR work_due.leased_until = EXCLUDED.leased_until;

-- name: lock_work
-- Lock a leased piece of work until the transaction ends: transactions that add to it wait. Its failed attempts.
SELECT failures, problem FROM work_due
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s AND leased_until = %(until)s
   FOR UPDATE;

-- name: record_attempts
-- How the attempts at a piece of work ended.
UPDATE work_due SET failures = %(failures)s, problem = %(problem)s
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s;

-- name: release_work
-- End the lease of a piece of work and make it due at a time.
UPDATE work_due SET leased_until = NULL, due_at = %(due_at)s
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s AND leased_until = %(until)s;

-- name: find_lease_end
-- Until when a worker has the tenant's piece of work; null when none has.
SELECT leased_until FROM work_due
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s;

-- name: complete_work
-- A piece of work is done.
DELETE FROM work_due WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s;

-- name: reschedule_work
-- Make a piece of work due later, unless its time was changed since it was read; repeated, it is done once.
UPDATE work_due SET due_at = %(due_at)s
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s AND due_at IN (%(was)s, %(due_at)s);

-- name: find_work
-- The tenant's piece of work with the time at which it is due.
SELECT tenant_id, kind, id, due_at FROM work_due
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s;

-- name: list_overdue_work
-- What is due in any tenant, except Pulses: the oldest of every tenant, then the next of every tenant, so that one tenant's
-- backlog does not make the others wait. Of a million overdue rows only the 10,000 oldest are read and ranked.
WITH oldest AS (
    SELECT tenant_id, kind, id, due_at
      FROM work_due
     WHERE due_at <= %(now)s AND kind <> 'pulse'
  ORDER BY due_at LIMIT 10000),
ranked AS (
    SELECT tenant_id, kind, id, due_at, row_number() OVER (PARTITION BY tenant_id ORDER BY due_at, id) AS place
      FROM oldest)
SELECT tenant_id, kind, id, due_at FROM ranked ORDER BY place, due_at LIMIT %(limit)s;
