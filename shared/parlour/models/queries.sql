-- What model calls may cost a tenant in a day, and what they did.

-- name: lock_day
-- Lock the tenant's row of a day, making it when it is the first call; the condition that never holds leaves it as it is.
INSERT INTO spend_days (tenant_id, day)
VALUES (current_tenant(), %(day)s)
ON CONFLICT (tenant_id, day) DO UPDATE SET spent_usd = spend_days.spent_usd WHERE false;

-- name: reserve
-- Reserve an amount if it fits under the cap, and say what there was: only while the day is held, and in a statement
-- of its own, so that it sees what whoever held the day before has committed. Repeated, it reserves once. Of the share
-- of visitors, one address may take a part; the call that reaches the part is still made, or a small cap had no room.
WITH room AS (
    SELECT t.spend_stopped_at IS NOT NULL AS is_stopped, COALESCE(t.daily_cap_usd, %(default_cap)s) AS cap_usd,
           d.spent_usd AS spent_usd,
           COALESCE((SELECT sum(r.amount_usd) FROM spend_reservations r
                      WHERE r.tenant_id = t.tenant_id AND r.day = d.day AND r.expires_at > %(now)s
                        AND r.id <> %(id)s), 0) AS reserved_usd,
           %(anonymous_share)s::numeric IS NULL OR %(amount)s = 0
           OR d.anonymous_usd + %(amount)s
              + COALESCE((SELECT sum(r.amount_usd) FROM spend_reservations r
                           WHERE r.tenant_id = t.tenant_id AND r.day = d.day AND r.expires_at > %(now)s
                             AND r.is_anonymous AND r.id <> %(id)s), 0)
              <= %(anonymous_share)s * COALESCE(t.daily_cap_usd, %(default_cap)s)
              AND (%(address)s = ''
                   OR COALESCE((SELECT a.spent_usd FROM spend_addresses a
                                 WHERE a.tenant_id = t.tenant_id AND a.day = d.day AND a.address = %(address)s), 0)
                      + COALESCE((SELECT sum(r.amount_usd) FROM spend_reservations r
                                   WHERE r.tenant_id = t.tenant_id AND r.day = d.day AND r.expires_at > %(now)s
                                     AND r.is_anonymous AND r.address = %(address)s AND r.id <> %(id)s), 0)
                      < %(address_part)s * %(anonymous_share)s * COALESCE(t.daily_cap_usd, %(default_cap)s)) AS has_share
      FROM tenants t
      JOIN spend_days d ON d.tenant_id = t.tenant_id AND d.day = %(day)s
), taken AS (
    INSERT INTO spend_reservations (tenant_id, id, day, purpose, amount_usd, expires_at, is_anonymous, address)
    SELECT current_tenant(), %(id)s, %(day)s, %(purpose)s, %(amount)s, %(expires_at)s,
           %(anonymous_share)s::numeric IS NOT NULL, NULLIF(%(address)s, '')
      FROM room
     WHERE NOT is_stopped AND has_share AND (%(amount)s = 0 OR spent_usd + reserved_usd + %(amount)s <= cap_usd)
    ON CONFLICT (tenant_id, id) DO UPDATE SET expires_at = EXCLUDED.expires_at
    RETURNING id
)
SELECT is_stopped, cap_usd, spent_usd, reserved_usd, has_share, EXISTS (SELECT FROM taken) AS is_reserved FROM room;

-- name: settle
-- Put what was spent in the place of its reservations, on the day of the last one; nothing when they are gone already.
-- Reservations that nobody settled are cleared away once no report of costs goes back to them, and what addresses spent
-- once its day is over.
WITH gone AS (
    DELETE FROM spend_reservations WHERE id = ANY(%(ids)s) RETURNING day, is_anonymous, address
), forgotten AS (
    DELETE FROM spend_reservations WHERE expires_at <= %(forgotten_before)s AND id <> ALL(%(ids)s)
), outdated AS (
    DELETE FROM spend_addresses WHERE day < (SELECT max(day) - 1 FROM gone)
), by_address AS (
    INSERT INTO spend_addresses AS a (tenant_id, day, address, spent_usd)
    SELECT current_tenant(), max(day), max(address), %(spent)s FROM gone WHERE is_anonymous AND address IS NOT NULL
    HAVING count(*) > 0
    ON CONFLICT (tenant_id, day, address) DO UPDATE SET spent_usd = a.spent_usd + excluded.spent_usd
)
UPDATE spend_days d
   SET spent_usd = d.spent_usd + %(spent)s,
       anonymous_usd = d.anonymous_usd + CASE WHEN (SELECT bool_or(is_anonymous) FROM gone) THEN %(spent)s ELSE 0 END
  FROM tenants t
 WHERE t.tenant_id = d.tenant_id AND d.day = (SELECT max(day) FROM gone)
RETURNING d.tenant_id, d.day, d.spent_usd AS spent_usd, COALESCE(t.daily_cap_usd, %(default_cap)s) AS cap_usd, d.warned_percent AS warned_percent;

-- name: mark_warned
-- People were told that this share of the day's cap is spent; nothing when they had been.
UPDATE spend_days SET warned_percent = %(percent)s WHERE day = %(day)s AND warned_percent < %(percent)s;

-- name: find_today
-- The day's spend against the cap, what is reserved at the moment, and whether model calls are switched off.
SELECT COALESCE(d.spent_usd, 0) AS spent_usd,
       COALESCE((SELECT sum(r.amount_usd) FROM spend_reservations r
                  WHERE r.tenant_id = t.tenant_id AND r.day = %(day)s AND r.expires_at > %(now)s), 0) AS reserved_usd,
       COALESCE(t.daily_cap_usd, %(default_cap)s) AS cap_usd, t.daily_cap_usd AS own_cap_usd,
       t.spend_stopped_at AS stopped_at, t.spend_stopped_by AS stopped_by, COALESCE(d.warned_percent, 0) AS warned_percent
  FROM tenants t
  LEFT JOIN spend_days d ON d.tenant_id = t.tenant_id AND d.day = %(day)s;

-- name: stop_model_calls
-- Switch the tenant's model calls off; nothing when they are.
UPDATE tenants SET spend_stopped_at = %(now)s, spend_stopped_by = %(by)s
 WHERE tenant_id = current_tenant() AND spend_stopped_at IS NULL;

-- name: resume_model_calls
-- Switch them on again; nothing when they are.
UPDATE tenants SET spend_stopped_at = NULL, spend_stopped_by = NULL
 WHERE tenant_id = current_tenant() AND spend_stopped_at IS NOT NULL;

-- name: set_daily_cap
-- Give the tenant a daily cap of its own, or the deployment's again; nothing when that is what it has.
UPDATE tenants SET daily_cap_usd = %(usd)s, updated_at = %(now)s
 WHERE tenant_id = current_tenant() AND daily_cap_usd IS DISTINCT FROM %(usd)s;

-- name: find_own_cap
-- The tenant's own daily cap.
SELECT daily_cap_usd FROM tenants;

-- name: list_usage
-- What was called since a moment: by day (UTC), agent, purpose and model. A call of unknown price has no cost.
SELECT (l.at AT TIME ZONE 'UTC')::date AS day, COALESCE(b.slug, '') AS binding, l.purpose, l.provider, l.model,
       count(*) AS calls, count(*) FILTER (WHERE l.outcome <> 'ok') AS failed_calls,
       count(*) FILTER (WHERE l.cost_usd IS NULL) AS unpriced_calls,
       sum(l.input_tokens) AS input_tokens, sum(l.cache_read_tokens) AS cache_read_tokens,
       sum(l.cache_write_tokens) AS cache_write_tokens, sum(l.output_tokens) AS output_tokens,
       COALESCE(sum(l.cost_usd), 0) AS cost_usd
  FROM llm_calls l
  LEFT JOIN bindings b ON b.tenant_id = l.tenant_id AND b.id = l.binding_id
 WHERE l.at >= %(since)s
 GROUP BY 1, 2, 3, 4, 5
 ORDER BY 1 DESC, cost_usd DESC, 2, 3, 4, 5;

-- name: list_daily_spend
-- Every day of a span: what was counted against the cap, what may have been spent besides (the reservations that
-- expired with whoever made them), and the turns that got a polite line for lack of it.
SELECT g.at::date AS day, COALESCE(d.spent_usd, 0) AS spent_usd, COALESCE(x.amount, 0) AS unsettled_usd,
       COALESCE(r.amount, 0) AS degraded_turns
  FROM tenants t
 CROSS JOIN generate_series(%(since)s::date, %(until)s::date, interval '1 day') AS g (at)
  LEFT JOIN spend_days d ON d.tenant_id = t.tenant_id AND d.day = g.at::date
  LEFT JOIN (SELECT day, sum(amount_usd) AS amount
               FROM spend_reservations
              WHERE day >= %(since)s::date AND expires_at <= %(now)s
              GROUP BY 1) x ON x.day = g.at::date
  LEFT JOIN (SELECT (finished_at AT TIME ZONE 'UTC')::date AS day, count(*) AS amount
               FROM turns
              WHERE problem = %(problem)s AND finished_at >= %(since)s::date
              GROUP BY 1) r ON r.day = g.at::date
 ORDER BY 1 DESC;

-- name: add_background_call
-- One answered call that no turn waited for, once.
INSERT INTO llm_calls (tenant_id, id, purpose, provider, model, outcome, input_tokens, output_tokens, cost_usd,
                       latency_ms, at)
VALUES (current_tenant(), %(id)s, %(purpose)s, %(provider)s, %(model)s, 'ok', %(input_tokens)s, %(output_tokens)s,
        %(cost_usd)s, %(latency_ms)s, %(at)s)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: list_failing_loops
-- The agent loops of the tenant's pack whose last call since a time failed, by binding, the latest first; none of a
-- binding of more clearance than the reader's.
SELECT latest.binding, latest.model AS function, latest.outcome, latest.at
  FROM (SELECT DISTINCT ON (l.binding_id, l.model) b.slug AS binding, l.model, l.outcome, l.at
          FROM llm_calls l
          JOIN bindings b ON b.tenant_id = l.tenant_id AND b.id = l.binding_id AND b.clearance <= %(clearance)s
         WHERE l.provider = 'function' AND l.at > %(since)s
         ORDER BY l.binding_id, l.model, l.at DESC) latest
 WHERE latest.outcome <> 'ok'
 ORDER BY latest.at DESC, latest.binding
 LIMIT %(most)s;
