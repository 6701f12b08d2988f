-- What is due, whoever's it is.

-- name: mark_due
-- Have a piece of work looked at when its time has come; a later word replaces an earlier one.
INSERT INTO work_due (tenant_id, kind, id, due_at)
VALUES (current_tenant(), %(kind)s, %(id)s, %(due_at)s)
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at;

-- name: hold_due
-- Take a piece of work for one worker, unless another is at it; said twice by the same, it is taken once.
INSERT INTO work_due (tenant_id, kind, id, due_at, held_until)
SELECT tenant_id, %(kind)s, %(id)s, %(until)s, %(until)s FROM tenants
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at, held_until = EXCLUDED.held_until
      WHERE work_due.held_until IS NULL OR work_due.held_until <= %(now)s
         OR work_due.held_until = EXCLUDED.held_until;

-- name: let_go_due
-- Leave a piece of work that is held to whoever comes next.
UPDATE work_due SET held_until = NULL, due_at = %(due_at)s
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s AND held_until = %(until)s;

-- name: lock_due
-- Keep a piece of work that is held as it is until the transaction ends: whoever says that there is more of it waits.
SELECT held_until FROM work_due
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s AND held_until = %(until)s
   FOR UPDATE;

-- name: held_due
-- Until when a worker is at the tenant's own piece of work; null when none is.
SELECT held_until FROM work_due
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s;

-- name: settle_due
-- A piece of work is done.
DELETE FROM work_due WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s;

-- name: put_off_due
-- Look again later, unless somebody else has seen to it since it was read; said twice, it is done once.
UPDATE work_due SET due_at = %(due_at)s
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s AND due_at IN (%(was)s, %(due_at)s);

-- name: when_due
-- When the tenant's own piece of work is to be looked at.
SELECT tenant_id, kind, id, due_at FROM work_due
 WHERE tenant_id = current_tenant() AND kind = %(kind)s AND id = %(id)s;

-- name: due
-- What is due in any tenant besides Pulses, longest first.
SELECT tenant_id, kind, id, due_at FROM work_due
 WHERE due_at <= %(now)s AND kind <> 'pulse'
 ORDER BY due_at LIMIT %(most)s;
