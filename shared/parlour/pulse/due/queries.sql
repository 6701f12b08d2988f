-- Which Pulses are due, what they are worth and what they may cost.

-- name: list_tenants_with_due_pulses
-- The tenants that have a Pulse that is due, whose is due longest first: one look at the index for each tenant that has
-- any, however many of them are fresh. It names tenants and nothing of theirs.
WITH RECURSIVE every AS (
    (SELECT tenant_id FROM work_due WHERE kind = 'pulse' ORDER BY tenant_id LIMIT 1)
     UNION ALL
    SELECT (SELECT w.tenant_id FROM work_due w
             WHERE w.kind = 'pulse' AND w.tenant_id > t.tenant_id
             ORDER BY w.tenant_id LIMIT 1)
      FROM every t
     WHERE t.tenant_id IS NOT NULL
)
SELECT t.tenant_id AS id
  FROM every t
 CROSS JOIN LATERAL (SELECT w.due_at FROM work_due w
                      WHERE w.kind = 'pulse' AND w.tenant_id = t.tenant_id
                      ORDER BY w.due_at LIMIT 1) first
 WHERE first.due_at <= %(now)s
 ORDER BY first.due_at
 LIMIT %(most)s;

-- name: list_due_pulses
-- The tenant's Pulses that are due and that no writer is at, longest first: since when they are stale and what they are
-- worth. Those of records that have none, or none any more, are said to be gone.
SELECT w.id, w.due_at, e.stale_since AS stale_since, coalesce(s.decayed_reads, 0) AS decayed_reads, s.reads_counted_at, s.last_cost_usd,
       (e.id IS NULL OR e.deleted_at IS NOT NULL OR t.rag->>'pulse' IS DISTINCT FROM 'auto'
        OR t.key = %(talk)s AND coalesce(e.properties->>'state' = ANY(%(over)s::text[]), false)) AS is_obsolete
  FROM (SELECT d.tenant_id, d.id, d.due_at
          FROM work_due d
         WHERE d.tenant_id = (SELECT current_tenant()) AND d.kind = 'pulse' AND d.due_at <= %(now)s
           AND (d.leased_until IS NULL OR d.leased_until <= %(now)s)
         ORDER BY d.due_at
         LIMIT %(most)s) w
  LEFT JOIN entities e ON (e.tenant_id, e.id) = (w.tenant_id, w.id)
  LEFT JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
  LEFT JOIN pulse_states s ON (s.tenant_id, s.entity_id) = (w.tenant_id, w.id)
 ORDER BY w.due_at, w.id;

-- name: find_next_due_at
-- When the tenant's next Pulse is due, if that is soon, or waits for something; what a writer was sent that is not at it
-- yet is left to the queue, and what is merely old some day to the daily sweep.
SELECT due_at
  FROM ((SELECT w.due_at
           FROM work_due w
          WHERE w.tenant_id = (SELECT current_tenant()) AND w.kind = 'pulse' AND w.due_at < %(soon)s
            AND (w.leased_until IS NOT NULL
                 OR NOT EXISTS (SELECT FROM pulse_states s
                                 WHERE s.tenant_id = w.tenant_id AND s.entity_id = w.id AND s.expected_usd IS NOT NULL
                                   AND s.requested_at > %(asked_after)s))
          ORDER BY w.due_at LIMIT 1)
         UNION ALL
        (SELECT w.due_at
           FROM pulse_states s
           JOIN work_due w ON (w.tenant_id, w.kind, w.id) = (s.tenant_id, 'pulse', s.entity_id)
          WHERE s.waiting_for IS NOT NULL
          ORDER BY w.due_at LIMIT 1)) next
 ORDER BY due_at LIMIT 1;

-- name: lock_wakeup
-- Nobody else plans the tenant's next wake-up before the transaction ends.
INSERT INTO pulse_wakeups (tenant_id) SELECT tenant_id FROM tenants
    ON CONFLICT (tenant_id) DO UPDATE SET tenant_id = EXCLUDED.tenant_id
RETURNING wakeup_at, redelayed_wakeup_at, planned_at;

-- name: plan_wakeup
-- When the tenant's next wake-up comes; null: none.
UPDATE pulse_wakeups SET wakeup_at = %(at)s, redelayed_wakeup_at = %(far_at)s, planned_at = %(now)s
 WHERE tenant_id = (SELECT current_tenant());

-- name: read_budget
-- What Pulses may cost the tenant in a day, what they did cost, what is expected of those that were sent to a writer and
-- have not ended, and whether model calls are switched off. It is no more than what other calls left of the day's cap,
-- where that is asked for. A tenant that is not open spends nothing.
SELECT least(coalesce(t.pulse_daily_cap_usd, %(pulse_cap)s),
             CASE WHEN %(default_cap)s::numeric IS NOT NULL THEN coalesce(t.daily_cap_usd, %(default_cap)s) END
                 - coalesce(d.spent_usd, 0) + p.spent_usd) AS cap_usd,
       p.spent_usd,
       coalesce((SELECT sum(s.expected_usd) FROM pulse_states s
                  WHERE s.expected_usd IS NOT NULL AND s.requested_at > %(asked_after)s), 0) AS expected_usd,
       t.spend_stopped_at IS NOT NULL OR t.status <> 'active' AS is_stopped
  FROM tenants t
 CROSS JOIN (SELECT coalesce(sum(cost_usd), 0) AS spent_usd FROM pulse_days WHERE day = %(day)s) p
  LEFT JOIN spend_days d ON %(default_cap)s::numeric IS NOT NULL AND d.tenant_id = t.tenant_id AND d.day = %(day)s;

-- name: read_reserved_usd
-- What is reserved for the tenant's Pulses on a day, besides one reservation.
SELECT sum(r.amount_usd)
  FROM spend_reservations r
 WHERE r.day = %(day)s AND r.purpose = %(purpose)s AND r.expires_at > %(now)s AND r.id IS DISTINCT FROM %(id)s::uuid
HAVING count(*) > 0;

-- name: set_pulse_cap
-- Give the tenant a daily Pulse budget of its own, or the deployment's again; nothing when that is what it has.
UPDATE tenants SET pulse_daily_cap_usd = %(usd)s, updated_at = %(now)s
 WHERE tenant_id = current_tenant() AND pulse_daily_cap_usd IS DISTINCT FROM %(usd)s;

-- name: release_budget_waits
-- What waits for budget is looked at again now; locked in the order of ids, as those who mark do it.
WITH held AS (
    SELECT w.id
      FROM pulse_states s
      JOIN work_due w ON (w.tenant_id, w.kind, w.id) = (s.tenant_id, 'pulse', s.entity_id)
     WHERE s.waiting_for = 'budget' AND w.due_at > %(now)s AND w.leased_until IS NULL
     ORDER BY w.id
       FOR UPDATE OF w
)
UPDATE work_due w SET due_at = %(now)s
  FROM held h
 WHERE w.tenant_id = (SELECT current_tenant()) AND w.kind = 'pulse' AND w.id = h.id AND w.leased_until IS NULL;

-- name: count_in_flight
-- How many of the tenant's Pulses were sent to a writer and have not ended.
SELECT count(*) FROM pulse_states
 WHERE expected_usd IS NOT NULL AND requested_at > %(asked_after)s
HAVING count(*) > 0;

-- name: reschedule_unchanged
-- Look at some Pulses again later, each unless somebody else has seen to it since it was read; which those are. Rows are
-- locked in the order of their ids, as those who mark lock them.
WITH asked AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(was)s::timestamptz[], %(again)s::timestamptz[]) AS asked (id, was, again)
), held AS (
    SELECT w.id, a.again
      FROM work_due w
      JOIN asked a ON a.id = w.id
     WHERE w.tenant_id = (SELECT current_tenant()) AND w.kind = 'pulse' AND w.due_at = a.was
       AND (w.leased_until IS NULL OR w.leased_until <= %(now)s)
     ORDER BY w.id
       FOR UPDATE OF w
)
UPDATE work_due w
   SET due_at = h.again
  FROM held h
 WHERE w.tenant_id = (SELECT current_tenant()) AND w.kind = 'pulse' AND w.id = h.id
RETURNING w.id;

-- name: try_lock_records
-- Keep records from being marked until the transaction ends, but for those that somebody is just marking.
SELECT id FROM entities WHERE id = ANY(%(ids)s) ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: delete_obsolete_work
-- Nobody has to look at the Pulses of these records any more: unless they are due at another time by now, have Pulses
-- after all, or are just being marked.
DELETE FROM work_due w
 USING unnest(%(ids)s::uuid[], %(was)s::timestamptz[]) AS asked (id, was)
 WHERE w.tenant_id = (SELECT current_tenant()) AND w.kind = 'pulse' AND w.id = asked.id
   AND (asked.was IS NULL OR w.due_at = asked.was)
   AND NOT EXISTS (SELECT FROM entities e
                     JOIN entity_types t ON (t.tenant_id, t.id) = (e.tenant_id, e.type_id)
                    WHERE e.id = w.id
                      AND (e.id <> ALL(%(quiet)s::uuid[])
                           OR e.deleted_at IS NULL AND t.rag->>'pulse' = 'auto'
                              AND NOT (t.key = %(talk)s
                                       AND coalesce(e.properties->>'state' = ANY(%(over)s::text[]), false))));

-- name: record_requests
-- Writers were asked for these records' Pulses, and what that is expected to cost.
INSERT INTO pulse_states (tenant_id, entity_id, expected_usd, requested_at)
SELECT current_tenant(), asked.id, asked.usd, %(now)s
  FROM unnest(%(ids)s::uuid[], %(usd)s::numeric[]) AS asked (id, usd)
 ORDER BY asked.id
    ON CONFLICT (tenant_id, entity_id) DO UPDATE
   SET expected_usd = EXCLUDED.expected_usd, requested_at = EXCLUDED.requested_at, waiting_for = NULL;

-- name: is_requested
-- Whether the sweep has asked for a record's Pulses and they were not written since, or somebody wants them now.
SELECT entity_id AS id FROM pulse_states WHERE entity_id = %(id)s AND expected_usd IS NOT NULL
 UNION
SELECT id FROM entities WHERE id = %(id)s AND 'manual' = ANY(stale_causes);

-- name: lock_record
-- Keep a record from being marked until the transaction ends.
SELECT id FROM entities WHERE id = %(id)s FOR NO KEY UPDATE;

-- name: set_waiting
-- These records' Pulses wait for something.
INSERT INTO pulse_states (tenant_id, entity_id, waiting_for)
SELECT current_tenant(), asked.id, %(waiting_for)s
  FROM unnest(%(ids)s::uuid[]) AS asked (id)
 ORDER BY asked.id
    ON CONFLICT (tenant_id, entity_id) DO UPDATE
   SET waiting_for = EXCLUDED.waiting_for, expected_usd = NULL, requested_at = NULL
 WHERE pulse_states.waiting_for IS DISTINCT FROM EXCLUDED.waiting_for OR pulse_states.expected_usd IS NOT NULL;

-- name: record_success
-- A record's Pulses were written, for so much, or nothing was different: nothing is wrong with them. Without a model
-- call, what a writing costs stays as it is known.
INSERT INTO pulse_states (tenant_id, entity_id, last_cost_usd)
VALUES (current_tenant(), %(id)s, %(cost_usd)s)
    ON CONFLICT (tenant_id, entity_id) DO UPDATE
   SET last_cost_usd = coalesce(EXCLUDED.last_cost_usd, pulse_states.last_cost_usd), expected_usd = NULL, requested_at = NULL,
       failures = 0, problem = NULL, problem_at = NULL, failed_level = NULL, given_up_at = NULL, waiting_for = NULL;

-- name: record_failure
-- A try at a record's Pulses gave nothing; how many in a row that were. Outages and what is wrong with the record itself
-- are counted apart, and nobody is given up for an outage.
INSERT INTO pulse_states (tenant_id, entity_id, failures, problem, problem_at, failed_level, waiting_for)
VALUES (current_tenant(), %(id)s, 1, %(problem)s, %(now)s, %(level)s, 'backoff')
    ON CONFLICT (tenant_id, entity_id) DO UPDATE
   SET failures = CASE WHEN (coalesce(pulse_states.problem, '') = ANY(%(outages)s::text[]))
                            = (EXCLUDED.problem = ANY(%(outages)s::text[]))
                       THEN pulse_states.failures + 1 ELSE 1 END,
       problem = EXCLUDED.problem, problem_at = EXCLUDED.problem_at,
       failed_level = EXCLUDED.failed_level,
       given_up_at = CASE WHEN EXCLUDED.problem <> ALL(%(outages)s::text[])
                           AND coalesce(pulse_states.problem, '') <> ALL(%(outages)s::text[])
                           AND pulse_states.failures + 1 >= %(given_up)s THEN coalesce(pulse_states.given_up_at, %(now)s) END,
       waiting_for = 'backoff', expected_usd = NULL, requested_at = NULL
RETURNING failures;
