-- In this order: routes, tenants, bindings, people, signing in, members and keys, versions and the audit trail.

-- name: find_routing_key
-- Where a routing key leads; it needs no tenant.
SELECT key, tenant_id, binding_id FROM routing_keys WHERE key = %(key)s;

-- name: count_tenants_with_numbers
-- How many tenants of this deployment are reached by a messaging number; it needs no tenant.
SELECT count(DISTINCT tenant_id) FROM routing_keys WHERE key LIKE 'gupshup:%%' OR key LIKE 'whatsapp:%%';

-- name: claim_routing_key
-- Take a key for this tenant or point its own key elsewhere; no row comes back when another tenant holds it.
INSERT INTO routing_keys (key, tenant_id, binding_id) VALUES (%(key)s, current_tenant(), %(binding_id)s)
ON CONFLICT (key) DO UPDATE SET binding_id = excluded.binding_id WHERE routing_keys.tenant_id = excluded.tenant_id
RETURNING key, tenant_id, binding_id;

-- name: release_routing_keys
-- Give up this tenant's channel keys except those kept; the key of the tenant itself stays. They are reserved from now on.
WITH gone AS (
    DELETE FROM routing_keys
     WHERE tenant_id = current_tenant() AND key NOT LIKE 'tenant:%%' AND key <> ALL (%(kept)s::text[])
    RETURNING key, tenant_id, binding_id
), reserved AS (
    INSERT INTO routing_claims (tenant_id, key, claimed_at, released_at) SELECT tenant_id, key, %(now)s, %(now)s FROM gone
    ON CONFLICT (tenant_id, key) DO UPDATE SET binding_id = NULL, released_at = excluded.released_at
)
SELECT key, tenant_id, binding_id FROM gone;

-- name: release_routing_key
-- Give up one key of this tenant without reserving it.
DELETE FROM routing_keys WHERE tenant_id = current_tenant() AND key = %(key)s;

-- name: list_own_routing_keys
-- The keys that lead to this tenant.
SELECT key, tenant_id, binding_id FROM routing_keys WHERE tenant_id = current_tenant() ORDER BY key;

-- name: count_tenants
-- How many tenants this deployment has; it needs no tenant.
SELECT count(*) FROM routing_keys WHERE key LIKE 'tenant:%%';

-- name: find_routing_claims
-- The claims of one key by all tenants; it needs no tenant.
SELECT key, tenant_id, claimed_at, released_at FROM find_routing_claims(%(key)s);

-- name: list_waiting_routes
-- The claims of all tenants that wait for the operator, oldest first; it needs no tenant.
SELECT slug, key FROM list_waiting_routes(%(most)s);

-- name: save_routing_claim
-- Claim a key for this tenant that leads nowhere until the operator accepts it.
INSERT INTO routing_claims (tenant_id, key, binding_id, claimed_at)
VALUES (current_tenant(), %(key)s, %(binding_id)s, %(now)s)
ON CONFLICT (tenant_id, key) DO UPDATE
   SET binding_id = excluded.binding_id, released_at = NULL,
       claimed_at = CASE WHEN routing_claims.released_at IS NULL THEN routing_claims.claimed_at ELSE excluded.claimed_at END;

-- name: drop_waiting_claims
-- Forget the claims of this tenant that wait and are not in the list.
DELETE FROM routing_claims
 WHERE tenant_id = current_tenant() AND released_at IS NULL AND key <> ALL (%(kept)s::text[]);

-- name: drop_routing_claim
-- Forget this tenant's claim of a key.
DELETE FROM routing_claims WHERE tenant_id = current_tenant() AND key = %(key)s;

-- name: list_waiting_claims
-- The claims of this tenant that wait for the operator, oldest first.
SELECT c.key, c.binding_id, b.slug AS binding, c.claimed_at
  FROM routing_claims c JOIN bindings b ON b.tenant_id = c.tenant_id AND b.id = c.binding_id
 WHERE c.released_at IS NULL
 ORDER BY c.claimed_at, c.key;

-- name: find_tenant
-- The tenant of this transaction.
SELECT tenant_id, slug, display_name, status, settings, version, created_at, updated_at FROM tenants;

-- name: create_tenant
-- A new tenant under the id that this transaction was opened with; no row comes back when there is one. Its old messages
-- are looked at for the first time once there may be any.
WITH made AS (
    INSERT INTO tenants (tenant_id, slug, display_name, settings, created_at, updated_at)
    VALUES (current_tenant(), %(slug)s, %(display_name)s, %(settings)s, %(now)s, %(now)s)
    ON CONFLICT (tenant_id) DO NOTHING
    RETURNING tenant_id, slug, display_name, status, settings, version, created_at, updated_at
), archived AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT tenant_id, 'archive', tenant_id, created_at + interval '90 days' FROM made
)
SELECT tenant_id, slug, display_name, status, settings, version, created_at, updated_at FROM made;

-- name: update_tenant
-- Give the tenant a new name or settings, and its next version; no row comes back when nothing differs.
UPDATE tenants SET display_name = %(display_name)s, settings = %(settings)s, version = version + 1, updated_at = %(now)s
 WHERE (display_name, settings) IS DISTINCT FROM (%(display_name)s, %(settings)s)
RETURNING tenant_id, slug, display_name, status, settings, version, created_at, updated_at;

-- name: set_tenant_status
-- Open, pause or close the tenant.
UPDATE tenants SET status = %(status)s, updated_at = %(now)s
RETURNING tenant_id, slug, display_name, status, settings, version, created_at, updated_at;

-- name: list_secrets
-- The tenant's secrets, and which active bindings and which tools of active bindings' agents need each.
SELECT s.name, s.reference,
       ARRAY(SELECT 'binding ' || b.slug
               FROM bindings b, jsonb_each(b.channels) AS channel (name, settings)
              WHERE b.tenant_id = s.tenant_id AND b.is_active AND channel.settings ->> 'api_key' = s.name
              ORDER BY b.slug COLLATE "C")
       || ARRAY(SELECT 'tool ' || one.name
                  FROM tools one
                 WHERE one.tenant_id = s.tenant_id AND one.auth = s.name
                   AND EXISTS (SELECT FROM agents a JOIN bindings b ON b.tenant_id = a.tenant_id AND b.agent_id = a.id
                                WHERE a.tenant_id = s.tenant_id AND b.is_active AND one.name = ANY(a.tools))
                 ORDER BY one.name COLLATE "C") AS used_by
  FROM secrets s
 ORDER BY s.name COLLATE "C";

-- name: find_persona
-- A binding with its three tiers and its tenant, as one text of JSON, and its agent's tools, by name, as another: they
-- change seldom, and the same text is read once. With them the types of records that the agent can read or write, and
-- the relations of the pack's public links, as the last apply stored them: no record changes them, so that the system
-- prompt stays. The user who talks to it, if one is named; and the mark of whoever wrote the tenant's records
-- last, where it covers all that this transaction sees.
SELECT json_build_object('tenant', t, 'binding', b, 'human', h, 'team', m, 'agent', a, 'handoff_targets', (
           SELECT json_agg(json_build_object('slug', o.slug, 'display_name', o.display_name, 'role', other.role)
                           ORDER BY o.slug COLLATE "C")
             FROM bindings o JOIN teams other ON other.tenant_id = o.tenant_id AND other.id = o.team_id
            WHERE o.tenant_id = b.tenant_id AND o.is_active AND o.id <> b.id
              AND b.allowed_handoffs || m.allowed_handoffs && ARRAY[o.slug, other.slug]))::text AS config,
       acting_user(u) AS "user",
       (SELECT json_agg(json_build_object('tool', one, 'secret_reference', s.reference) ORDER BY one.name COLLATE "C")::text
          FROM tools one
          LEFT JOIN secrets s ON s.tenant_id = one.tenant_id AND s.name = one.auth
         WHERE one.name = ANY(a.tools)) AS tools_json,
       CASE WHEN a.tools && ARRAY['create_entity', 'link_entities', 'list_entities', 'update_entity'] THEN (
           SELECT json_build_object('types', (
                      SELECT json_agg(json_build_object('key', k.key, 'properties', k.properties,
                                                             'property_order', k.rag -> 'property_order',
                                                             'is_built_in', EXISTS (
                                          SELECT FROM config_versions v
                                           WHERE (v.kind, v.config_id, v.version, v.created_by)
                                                 = ('entity_type', k.id, k.version, 'system'))) ORDER BY k.key COLLATE "C")
                        FROM entity_types k),
                  'relations', t.settings -> 'pack_relations')::text)
       END AS record_types_json,
       CASE WHEN pg_current_xact_id_if_assigned() IS NULL
            THEN COALESCE((SELECT transaction_id::text FROM record_writes), '') END AS last_record_write
  FROM bindings b
  JOIN tenants t USING (tenant_id)
  JOIN humans h ON h.tenant_id = b.tenant_id AND h.id = b.human_id
  JOIN teams m ON m.tenant_id = b.tenant_id AND m.id = b.team_id
  JOIN agents a ON a.tenant_id = b.tenant_id AND a.id = b.agent_id
  LEFT JOIN users u ON u.tenant_id = b.tenant_id AND u.id = %(user_id)s::uuid
 WHERE b.id = %(binding_id)s;

-- name: find_binding
-- One binding.
SELECT id, slug, display_name, human_id, team_id, agent_id, door, channels, clearance, greeting, is_active, version, owner,
       writes, tool_writes, limits, allowed_handoffs, inbox, queue
  FROM bindings WHERE id = %(binding_id)s;

-- name: find_binding_by_slug
-- One binding, by the name its pack gives it.
SELECT id, slug, display_name, human_id, team_id, agent_id, door, channels, clearance, greeting, is_active, version, owner,
       writes, tool_writes, limits, allowed_handoffs, inbox, queue
  FROM bindings WHERE slug = %(slug)s;

-- name: list_active_bindings
-- The bindings that are switched on.
SELECT id, slug, display_name, human_id, team_id, agent_id, door, channels, clearance, greeting, is_active, version, owner,
       writes, tool_writes, limits, allowed_handoffs, inbox, queue
  FROM bindings WHERE is_active ORDER BY slug;

-- name: list_bindings_of_agent
-- The bindings that are switched on and put this agent, by its slug, to work.
SELECT b.id, b.slug, b.display_name, b.human_id, b.team_id, b.agent_id, b.door, b.channels, b.clearance, b.greeting,
       b.is_active, b.version, b.owner, b.writes, b.tool_writes, b.limits, b.allowed_handoffs, b.inbox, b.queue
  FROM bindings b JOIN agents a ON a.tenant_id = b.tenant_id AND a.id = b.agent_id
 WHERE b.is_active AND a.slug = %(agent)s ORDER BY b.slug;

-- name: find_or_create_contact
-- Who writes from this number (or under this id, when they hide it), and their main session with the binding; what is missing is made. Every step is
-- an upsert that hands back the row that won, so two first messages at once end in one user and one session.
WITH known AS (
    SELECT user_id FROM channel_identities WHERE channel = %(channel)s AND address = %(address)s
), person AS (
    INSERT INTO users (tenant_id, id, phone, display_name, created_at)
    SELECT current_tenant(), %(user_id)s, CASE WHEN starts_with(%(address)s, '+') THEN %(address)s END,
           %(display_name)s, %(now)s
     WHERE NOT EXISTS (SELECT FROM known)
    ON CONFLICT (tenant_id, phone) DO UPDATE SET display_name = COALESCE(users.display_name, excluded.display_name)
    RETURNING id
), identity AS (
    INSERT INTO channel_identities (tenant_id, id, user_id, channel, address, created_at)
    SELECT current_tenant(), %(identity_id)s, id, %(channel)s, %(address)s, %(now)s FROM person
    ON CONFLICT (tenant_id, channel, address) DO UPDATE SET address = excluded.address
    RETURNING user_id
)
INSERT INTO sessions (tenant_id, id, user_id, binding_id, channel, is_main, created_at, last_active_at)
SELECT current_tenant(), %(session_id)s, writer.user_id, %(binding_id)s, %(channel)s, true, %(now)s, %(now)s
  FROM (SELECT user_id FROM known UNION ALL SELECT user_id FROM identity) AS writer
ON CONFLICT (tenant_id, user_id, binding_id) WHERE is_main
DO UPDATE SET last_active_at = GREATEST(sessions.last_active_at, excluded.last_active_at)
RETURNING user_id, id AS session_id, id = %(session_id)s AS is_new;

-- name: create_visitor
-- A new user on the web with a session, about an entity if one is named; no row comes back when the binding is missing
-- or switched off, or the entity is missing or out of its reach.
WITH door AS (
    SELECT b.id FROM bindings b
     WHERE b.id = %(binding_id)s AND b.is_active
       AND (%(entity_id)s::uuid IS NULL
            OR EXISTS (SELECT FROM entities e
                        WHERE e.id = %(entity_id)s::uuid AND e.classification <= b.clearance AND e.deleted_at IS NULL))
), person AS (
    INSERT INTO users (tenant_id, id, created_at)
    SELECT current_tenant(), %(user_id)s, %(now)s FROM door
    RETURNING id
), identity AS (
    INSERT INTO channel_identities (tenant_id, id, user_id, channel, address, created_at)
    SELECT current_tenant(), %(identity_id)s, id, 'web', id::text, %(now)s FROM person
    RETURNING user_id
), goes AS (
    INSERT INTO work_due (tenant_id, kind, id, due_at)
    SELECT current_tenant(), 'visitor_retention', current_tenant(), %(delete_silent_at)s FROM person
    ON CONFLICT (tenant_id, kind, id) DO NOTHING
)
INSERT INTO sessions (tenant_id, id, user_id, binding_id, entity_id, visibility, channel, created_at, last_active_at)
SELECT current_tenant(), %(session_id)s, identity.user_id, door.id, %(entity_id)s::uuid, %(visibility)s, 'web', %(now)s,
       %(now)s
  FROM identity, door
RETURNING user_id, id AS session_id, true AS is_new;

-- name: delete_silent_visitors
-- Visitors on the web who came in a span of time and wrote nothing since, a bounded number at a time, with their sessions.
DELETE FROM users
 WHERE (tenant_id, id) IN (
       SELECT u.tenant_id, u.id
         FROM users u
        WHERE u.tenant_id = current_tenant() AND u.phone IS NULL AND u.merged_into IS NULL
          AND u.created_at >= %(since)s AND u.created_at < %(before)s
          AND EXISTS (SELECT FROM channel_identities c
                       WHERE c.tenant_id = u.tenant_id AND c.channel = 'web' AND c.address = u.id::text)
          AND NOT EXISTS (SELECT FROM users o WHERE o.tenant_id = u.tenant_id AND o.merged_into = u.id)
          AND NOT EXISTS (SELECT FROM sessions s JOIN messages m ON (m.tenant_id, m.session_id) = (s.tenant_id, s.id)
                           WHERE s.tenant_id = u.tenant_id AND s.user_id = u.id)
        LIMIT %(most)s);

-- name: find_visitor_since
-- Somebody without a phone number who came since a time.
SELECT id FROM users WHERE phone IS NULL AND merged_into IS NULL AND created_at >= %(since)s LIMIT 1;

-- name: open_session
-- A further session of a user on the web; no row comes back when the binding, the user or the entity is missing
-- or out of reach.
INSERT INTO sessions (tenant_id, id, user_id, binding_id, entity_id, visibility, channel, created_at, last_active_at)
SELECT current_tenant(), %(session_id)s, u.id, b.id, %(entity_id)s::uuid, %(visibility)s, 'web', %(now)s, %(now)s
  FROM users u CROSS JOIN bindings b
 WHERE u.id = %(user_id)s AND b.id = %(binding_id)s AND b.is_active
   AND (%(entity_id)s::uuid IS NULL
        OR EXISTS (SELECT FROM entities e
                    WHERE e.id = %(entity_id)s::uuid AND e.classification <= %(clearance)s AND e.deleted_at IS NULL))
RETURNING id, user_id, binding_id, entity_id, visibility, channel, title, is_main, pinned_at, archived_at, created_at,
          last_active_at, last_event_number,
          (SELECT GREATEST(b.clearance, u.clearance) FROM users u CROSS JOIN bindings b
            WHERE u.id = %(user_id)s AND b.id = %(binding_id)s) AS required_clearance;

-- name: find_session
-- One session, and what clearance others need to read it.
SELECT s.id, s.user_id, s.binding_id, s.entity_id, s.visibility, s.channel, s.title, s.is_main, s.pinned_at,
       s.archived_at, s.created_at, s.last_active_at, s.last_event_number,
       session_clearance(s) AS required_clearance
  FROM sessions s
 WHERE s.id = %(session_id)s;

-- name: find_acting_user
-- A user and a binding, for what the user may do through it, and whether a phone writes in the session.
SELECT acting_user(u) AS "user", to_jsonb(b) AS binding, 'act' = ANY(a.modes) AS can_act, to_jsonb(t) AS tenant,
       v.token_epoch,
       EXISTS (SELECT FROM sessions s
                WHERE s.id = %(session_id)s::uuid AND (s.is_main OR s.channel <> 'web')) AS is_by_phone
  FROM users v
  JOIN users u ON u.tenant_id = v.tenant_id AND u.id = COALESCE(v.merged_into, v.id)
  JOIN bindings b ON b.tenant_id = v.tenant_id
  JOIN agents a ON a.tenant_id = b.tenant_id AND a.id = b.agent_id
  JOIN tenants t ON t.tenant_id = v.tenant_id
 WHERE v.id = %(user_id)s AND b.id = %(binding_id)s;

-- name: find_member_user
-- The user that a member talks as.
SELECT id FROM users WHERE member_id = %(member_id)s;

-- name: create_member_user
-- The user that a member talks as, made where there is none. The member's own clearance is kept with it.
WITH made AS (
    INSERT INTO users (tenant_id, id, display_name, clearance, member_id, created_at)
    SELECT current_tenant(), %(user_id)s, display_name, clearance, id, %(now)s FROM members WHERE id = %(member_id)s
    ON CONFLICT (tenant_id, member_id) DO UPDATE SET clearance = excluded.clearance
    RETURNING id
), identity AS (
    INSERT INTO channel_identities (tenant_id, id, user_id, channel, address, created_at)
    SELECT current_tenant(), %(identity_id)s, id, 'web', id::text, %(now)s FROM made
    ON CONFLICT (tenant_id, channel, address) DO NOTHING
)
SELECT id FROM made;

-- name: set_user_clearance
-- Set what a user may see; null is the binding's. A member's own clearance is set with the member.
UPDATE users SET clearance = %(clearance)s WHERE id = %(user_id)s AND merged_into IS NULL AND member_id IS NULL
RETURNING id;

-- name: find_member_credential
-- The active member whom an issuer calls by this subject.
SELECT m.id, m.display_name AS name, m.roles, m.clearance, NULL::bytea AS secret_hash, '{}'::text[] AS scopes, to_jsonb(t) AS tenant
  FROM members m JOIN tenants t USING (tenant_id)
 WHERE m.issuer = %(issuer)s AND m.subject = %(subject)s AND m.active;

-- name: find_key_credential
-- A key that is neither revoked nor expired; whoever asks compares the hash.
SELECT k.id, k.name, k.roles, k.clearance, k.secret_hash, k.scopes, to_jsonb(t) AS tenant
  FROM api_keys k JOIN tenants t USING (tenant_id)
 WHERE k.id = %(key_id)s AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > %(now)s);

-- name: list_member_tenants
-- The open tenants of which a signed-in person is an active member; it needs no tenant.
SELECT slug, display_name FROM list_member_tenants(%(issuer)s, %(subject)s, %(most)s);

-- name: list_all_tenants
-- All tenants of the deployment, for its operator; it needs no tenant.
SELECT slug, display_name FROM list_all_tenants(%(most)s);

-- name: mark_key_used
-- A key was used just now; written down every ten minutes.
UPDATE api_keys SET last_used_at = %(now)s
 WHERE id = %(key_id)s AND (last_used_at IS NULL OR last_used_at < %(now)s - interval '10 minutes');

-- name: raise_token_epoch
-- Every token that a user has is refused from now on; also those of visitors who turned out to be the same person.
UPDATE users SET token_epoch = token_epoch + 1 WHERE id = %(user_id)s OR merged_into = %(user_id)s;

-- name: add_member
-- A new member; no row comes back when the issuer's subject is one already.
INSERT INTO members (tenant_id, id, issuer, subject, display_name, roles, clearance, email, created_at)
VALUES (current_tenant(), %(member_id)s, %(issuer)s, %(subject)s, %(display_name)s, %(roles)s, %(clearance)s,
        NULLIF(%(email)s, ''), %(now)s)
ON CONFLICT (tenant_id, issuer, subject) DO NOTHING
RETURNING id, issuer, subject, display_name, roles, clearance, active, created_at, email;

-- name: update_member
-- Change what a member may do, also where they talk to an agent; not of one with more clearance than the caller's.
WITH changed AS (
    UPDATE members
       SET roles = %(roles)s, clearance = %(clearance)s, active = %(active)s,
           email = NULLIF(COALESCE(%(email)s, email), '')
     WHERE id = %(member_id)s AND clearance <= %(own_clearance)s
    RETURNING id, issuer, subject, display_name, roles, clearance, active, created_at, email
), talking AS (
    UPDATE users u SET clearance = c.clearance FROM changed c WHERE u.member_id = c.id
)
SELECT * FROM changed;

-- name: list_members
-- Everybody of the tenant by name, behind a position.
SELECT id, issuer, subject, display_name, roles, clearance, active, created_at, email
  FROM members
 WHERE %(after_id)s::uuid IS NULL OR (display_name, id) > (%(after_name)s, %(after_id)s)
 ORDER BY display_name, id LIMIT %(most)s;

-- name: create_key
-- A new API key, by the hash of its secret.
INSERT INTO api_keys (tenant_id, id, name, secret_hash, roles, clearance, created_at, expires_at, scopes)
VALUES (current_tenant(), %(key_id)s, %(name)s, %(secret_hash)s, %(roles)s, %(clearance)s, %(now)s, %(expires_at)s,
        %(scopes)s)
RETURNING id, name, roles, clearance, created_at, revoked_at, expires_at, last_used_at, scopes;

-- name: revoke_key
-- End a key; one that has ended keeps its time.
UPDATE api_keys SET revoked_at = COALESCE(revoked_at, %(now)s) WHERE id = %(key_id)s
RETURNING id, name, roles, clearance, created_at, revoked_at, expires_at, last_used_at, scopes;

-- name: list_keys
-- The tenant's keys, the newest first, behind a position.
SELECT id, name, roles, clearance, created_at, revoked_at, expires_at, last_used_at, scopes
  FROM api_keys
 WHERE %(after_id)s::uuid IS NULL OR (created_at, id) < (%(after_at)s::timestamptz, %(after_id)s)
 ORDER BY created_at DESC, id DESC LIMIT %(most)s;

-- name: add_config_version
-- Keep a version of a piece of configuration; nothing is written when that version is there already.
INSERT INTO config_versions (tenant_id, id, kind, config_id, version, config, created_by, created_at)
VALUES (current_tenant(), %(id)s, %(tier)s, %(tier_id)s, %(version)s, %(config)s, %(created_by)s, %(now)s)
ON CONFLICT (tenant_id, kind, config_id, version) DO NOTHING;

-- name: add_audit_entry
-- Add to the audit trail; an act that is there stays, for what does it may be committed twice.
INSERT INTO audit_log (tenant_id, id, actor, action, target, details, at)
VALUES (current_tenant(), %(id)s, %(actor)s, %(action)s, %(target)s, %(details)s, %(now)s)
    ON CONFLICT DO NOTHING;

-- name: list_audit_entries
-- The audit trail, the latest first, from before an entry on, with the names of who acted and of what they changed.
SELECT l.id, l.actor, COALESCE(m.display_name, k.name, '') AS actor_name, l.action, l.target,
       COALESCE(tm.display_name, tk.name, e.name, '') AS target_name, l.details, l.at
  FROM audit_log l
  LEFT JOIN members m ON m.tenant_id = l.tenant_id AND l.actor = 'member:' || m.id
  LEFT JOIN api_keys k ON k.tenant_id = l.tenant_id AND l.actor = 'key:' || k.id
  LEFT JOIN members tm ON tm.tenant_id = l.tenant_id AND l.target = 'member:' || tm.id
  LEFT JOIN api_keys tk ON tk.tenant_id = l.tenant_id AND l.target = 'key:' || tk.id
  LEFT JOIN entities e ON e.tenant_id = l.tenant_id
                      AND e.id = CASE WHEN l.target LIKE 'entity:%%' THEN split_part(l.target, ':', 2)::uuid END
                      AND e.classification <= %(clearance)s
 WHERE %(before_at)s::timestamptz IS NULL OR (l.at, l.id) < (%(before_at)s::timestamptz, %(before_id)s::uuid)
 ORDER BY l.at DESC, l.id DESC LIMIT %(most)s;

-- name: take_token
-- Take a token from a bucket, which is full when it is new; without one the refusal is counted. A few buckets that nobody
-- has used for a day are cleared away.
WITH idle AS (
    DELETE FROM rate_limits
     WHERE ctid = ANY(ARRAY(SELECT ctid FROM rate_limits
                             WHERE tenant_id = current_tenant() AND refilled_at < %(now)s - interval '1 day'
                               AND (scope, key) <> (%(scope)s, %(key)s)
                             LIMIT 20 FOR UPDATE SKIP LOCKED))
)
INSERT INTO rate_limits AS b (tenant_id, scope, key, tokens, refilled_at, was_refused, refused_count)
VALUES (current_tenant(), %(scope)s, %(key)s, GREATEST(%(per_minute)s - 1, 0), %(now)s, %(per_minute)s < 1,
        CASE WHEN %(per_minute)s < 1 THEN 1 ELSE 0 END)
ON CONFLICT (tenant_id, scope, key) DO UPDATE
   SET (tokens, refilled_at, was_refused, refused_count) = (
       SELECT CASE WHEN there.tokens >= 1 THEN there.tokens - 1 ELSE there.tokens END, GREATEST(b.refilled_at, %(now)s),
              there.tokens < 1, b.refused_count + CASE WHEN there.tokens < 1 THEN 1 ELSE 0 END
         FROM (SELECT LEAST(%(per_minute)s, b.tokens + %(per_minute)s / 60.0
                            * GREATEST(0, extract(epoch FROM %(now)s - b.refilled_at))) AS tokens) there)
RETURNING scope, key, tokens, refilled_at, was_refused, refused_count;

-- name: lock_open_streams
-- Whoever else of the tenant opens a stream waits until the transaction ends: they are counted one at a time.
SELECT pg_advisory_xact_lock(hashtextextended('open_streams:' || tenant_id, 0)) FROM users WHERE id = %(user_id)s;

-- name: add_open_stream
-- A stream, unless its visitor or address has as many open as they may; those that have ended for certain go.
WITH ended AS (
    DELETE FROM open_streams WHERE expires_at <= %(now)s
)
INSERT INTO open_streams (tenant_id, id, user_id, address, expires_at)
SELECT current_tenant(), %(id)s, %(user_id)s, NULLIF(%(address)s, ''), %(expires_at)s
 WHERE (SELECT count(*) FROM open_streams o WHERE o.user_id = %(user_id)s AND o.expires_at > %(now)s)
       < %(most_of_visitor)s
   AND (SELECT count(*) FROM open_streams o WHERE o.address = %(address)s AND o.expires_at > %(now)s)
       < %(most_of_address)s;

-- name: delete_open_stream
-- A stream has ended.
DELETE FROM open_streams WHERE id = %(id)s;

-- name: lock_session_owner
-- A user, locked: their sessions are counted one at a time.
SELECT id FROM users WHERE id = %(user_id)s FOR UPDATE;

-- name: delete_unused_sessions
-- The oldest sessions of a user in which nothing was ever said or done, beyond so many; how many are left. One that
-- files were sent for stays: they are found by it.
WITH unused AS (
    SELECT s.id, row_number() OVER (ORDER BY s.created_at DESC, s.id DESC) AS newness,
           EXISTS (SELECT FROM attachments a WHERE a.session_id = s.id) AS has_files
      FROM sessions s
     WHERE s.user_id = %(user_id)s AND NOT s.is_main AND s.last_event_number = 0 AND s.last_active_at = s.created_at
       AND NOT EXISTS (SELECT FROM messages m WHERE m.session_id = s.id)
       AND NOT EXISTS (SELECT FROM inbox_threads t WHERE t.session_id = s.id)
), deleted AS (
    DELETE FROM sessions WHERE id IN (SELECT id FROM unused WHERE newness > %(most)s AND NOT has_files) RETURNING id
)
SELECT (SELECT count(*) FROM unused) - (SELECT count(*) FROM deleted) AS unused_count;

-- name: mark_notified
-- Somebody is told that they have to wait; nothing when they were told since that moment.
UPDATE rate_limits SET notified_at = %(now)s
 WHERE scope = %(scope)s AND key = %(key)s AND (notified_at IS NULL OR notified_at < %(since)s);

-- name: list_rate_limits
-- Buckets, those that have refused somebody first, then those used last, behind a position.
SELECT scope, key, tokens, refilled_at, was_refused, refused_count
  FROM rate_limits
 WHERE %(after_at)s::timestamptz IS NULL
    OR (refused_count > 0, refilled_at, scope, key) < (%(after_refused)s, %(after_at)s, %(after_scope)s, %(after_key)s)
 ORDER BY refused_count > 0 DESC, refilled_at DESC, scope DESC, key DESC
 LIMIT %(most)s;
