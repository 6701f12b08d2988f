-- name: lock_tenant
-- Let one apply at a time change a tenant; messages, which only refer to it, go on being stored.
SELECT tenant_id FROM tenants FOR NO KEY UPDATE;

-- name: read_configuration
-- Every part of the tenant's configuration as a pack has it: references by name, not by id.
SELECT 'human' AS kind, id, slug AS name, version, jsonb_build_object(
           'display_name', display_name, 'identity', identity, 'voice', voice, 'languages', languages,
           'cultural_register', cultural_register, 'guardrails', guardrails) AS config
  FROM humans
UNION ALL
SELECT 'team', id, slug, version, jsonb_build_object(
           'display_name', display_name, 'department', department, 'role', role, 'sops', sops,
           'escalation', escalation, 'allowed_handoffs', allowed_handoffs, 'guardrails', guardrails)
  FROM teams
UNION ALL
SELECT 'agent', id, slug, version, jsonb_build_object(
           'display_name', display_name, 'instructions', instructions, 'model_routing', model_routing, 'tools', tools,
           'memory_policy', memory_policy, 'budget', budget, 'guardrails', guardrails,
           'max_tool_iterations', max_tool_iterations, 'prompt', prompt, 'modes', modes, 'reminders', reminders)
  FROM agents
UNION ALL
SELECT 'tool', id, name, version, jsonb_build_object(
           'description', description, 'schema', schema, 'endpoint', endpoint, 'auth', auth, 'writes', writes,
           'idempotent', idempotent, 'heavy', heavy, 'needs_approval', needs_approval, 'approver', approver,
           'approval_hours', approval_hours, 'editable', editable, 'trusted_results', trusted_results, 'lookup', lookup, 'timeout_seconds', timeout_seconds)
  FROM tools
UNION ALL
SELECT 'entity_type', id, key, version, jsonb_build_object(
           'display_name', display_name, 'properties', properties, 'rag', rag)
  FROM entity_types
UNION ALL
SELECT 'binding', b.id, b.slug, b.version, jsonb_build_object(
           'display_name', b.display_name, 'human', h.slug, 'team', t.slug, 'agent', a.slug, 'door', b.door,
           'clearance', b.clearance, 'greeting', b.greeting, 'channels', b.channels, 'owner', NULLIF(b.owner, '{}'), 'writes', b.writes,
           'tool_writes', b.tool_writes, 'limits', b.limits, 'inbox', b.inbox, 'queue', b.queue,
           'allowed_handoffs', b.allowed_handoffs, 'notifications', b.notifications, 'needs_approval', b.needs_approval,
           'is_active', b.is_active)
  FROM bindings b
  JOIN humans h ON h.tenant_id = b.tenant_id AND h.id = b.human_id
  JOIN teams t ON t.tenant_id = b.tenant_id AND t.id = b.team_id
  JOIN agents a ON a.tenant_id = b.tenant_id AND a.id = b.agent_id
UNION ALL
SELECT 'secret', id, name, 1, jsonb_build_object('reference', reference) FROM secrets;

-- name: upsert_human
-- A human as a pack has it, under its next version.
INSERT INTO humans (tenant_id, id, slug, display_name, identity, voice, languages, cultural_register, guardrails,
                    version, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(name)s, %(display_name)s, %(identity)s, %(voice)s, %(languages)s,
        %(cultural_register)s, %(guardrails)s, %(version)s, %(now)s, %(now)s)
ON CONFLICT (tenant_id, slug) DO UPDATE
   SET display_name = excluded.display_name, identity = excluded.identity, voice = excluded.voice,
       languages = excluded.languages, cultural_register = excluded.cultural_register,
       guardrails = excluded.guardrails, version = excluded.version, updated_at = excluded.updated_at;

-- name: upsert_team
-- A team as a pack has it, under its next version.
INSERT INTO teams (tenant_id, id, slug, display_name, department, role, sops, escalation, allowed_handoffs, guardrails,
                   version, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(name)s, %(display_name)s, %(department)s, %(role)s, %(sops)s, %(escalation)s,
        %(allowed_handoffs)s, %(guardrails)s, %(version)s, %(now)s, %(now)s)
ON CONFLICT (tenant_id, slug) DO UPDATE
   SET display_name = excluded.display_name, department = excluded.department, role = excluded.role,
       sops = excluded.sops, escalation = excluded.escalation,
       allowed_handoffs = excluded.allowed_handoffs, guardrails = excluded.guardrails,
       version = excluded.version, updated_at = excluded.updated_at;

-- name: upsert_agent
-- An agent as a pack has it, under its next version.
INSERT INTO agents (tenant_id, id, slug, display_name, instructions, model_routing, tools, memory_policy, budget,
                    guardrails, max_tool_iterations, prompt, modes, reminders, version, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(name)s, %(display_name)s, %(instructions)s, %(model_routing)s, %(tools)s,
        %(memory_policy)s, %(budget)s, %(guardrails)s, %(max_tool_iterations)s, %(prompt)s, %(modes)s, %(reminders)s,
        %(version)s, %(now)s, %(now)s)
ON CONFLICT (tenant_id, slug) DO UPDATE
   SET display_name = excluded.display_name, instructions = excluded.instructions,
       model_routing = excluded.model_routing, tools = excluded.tools, memory_policy = excluded.memory_policy,
       budget = excluded.budget, guardrails = excluded.guardrails,
       max_tool_iterations = excluded.max_tool_iterations, prompt = excluded.prompt, modes = excluded.modes,
       reminders = excluded.reminders, version = excluded.version,
       updated_at = excluded.updated_at;

-- name: upsert_tool
-- A tool as a pack has it, under its next version.
INSERT INTO tools (tenant_id, id, name, description, schema, endpoint, auth, writes, idempotent, heavy, needs_approval,
                   approver, approval_hours, editable, trusted_results, lookup, timeout_seconds, version, created_at,
                   updated_at)
VALUES (current_tenant(), %(id)s, %(name)s, %(description)s, %(schema)s, %(endpoint)s, %(auth)s, %(writes)s,
        %(idempotent)s, %(heavy)s, %(needs_approval)s, %(approver)s, %(approval_hours)s, %(editable)s,
        %(trusted_results)s, %(lookup)s, %(timeout_seconds)s, %(version)s, %(now)s, %(now)s)
ON CONFLICT (tenant_id, name) DO UPDATE
   SET description = excluded.description, schema = excluded.schema, endpoint = excluded.endpoint,
       auth = excluded.auth, writes = excluded.writes, idempotent = excluded.idempotent, heavy = excluded.heavy,
       needs_approval = excluded.needs_approval, approver = excluded.approver,
       approval_hours = excluded.approval_hours, editable = excluded.editable,
       trusted_results = excluded.trusted_results, lookup = excluded.lookup,
       timeout_seconds = excluded.timeout_seconds, version = excluded.version, updated_at = excluded.updated_at;

-- name: upsert_entity_type
-- An entity type as a pack has it, under its next version.
INSERT INTO entity_types (tenant_id, id, key, display_name, properties, rag, version, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(name)s, %(display_name)s, %(properties)s, %(rag)s, %(version)s, %(now)s, %(now)s)
ON CONFLICT (tenant_id, key) DO UPDATE
   SET display_name = excluded.display_name, properties = excluded.properties, rag = excluded.rag,
       version = excluded.version, updated_at = excluded.updated_at;

-- name: upsert_binding
-- A binding as a pack has it, under its next version.
INSERT INTO bindings (tenant_id, id, slug, display_name, human_id, team_id, agent_id, door, channels, clearance,
                      greeting, owner, writes, tool_writes, limits, inbox, queue, allowed_handoffs, notifications,
                      needs_approval, is_active, version, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(name)s, %(display_name)s, %(human_id)s, %(team_id)s, %(agent_id)s, %(door)s,
        %(channels)s, %(clearance)s, %(greeting)s, COALESCE(%(owner)s, '{}'::jsonb), %(writes)s, %(tool_writes)s, %(limits)s, %(inbox)s,
        %(queue)s, %(allowed_handoffs)s, %(notifications)s, %(needs_approval)s, %(is_active)s, %(version)s, %(now)s, %(now)s)
ON CONFLICT (tenant_id, slug) DO UPDATE
   SET display_name = excluded.display_name, human_id = excluded.human_id, team_id = excluded.team_id,
       agent_id = excluded.agent_id, door = excluded.door, channels = excluded.channels,
       clearance = excluded.clearance, greeting = excluded.greeting, owner = excluded.owner,
       writes = excluded.writes, tool_writes = excluded.tool_writes, limits = excluded.limits, inbox = excluded.inbox,
       queue = excluded.queue,
       allowed_handoffs = excluded.allowed_handoffs, notifications = excluded.notifications,
       needs_approval = excluded.needs_approval,
       is_active = excluded.is_active,
       version = excluded.version, updated_at = excluded.updated_at;

-- name: upsert_secret
-- Where the secret store keeps a secret of this tenant.
INSERT INTO secrets (tenant_id, id, name, reference) VALUES (current_tenant(), %(id)s, %(name)s, %(reference)s)
ON CONFLICT (tenant_id, name) DO UPDATE SET reference = excluded.reference;

-- name: delete_tool
-- Delete a tool; its versions stay.
DELETE FROM tools WHERE name = %(name)s;

-- name: delete_unused_type
-- Delete a record type without records; its versions stay.
DELETE FROM entity_types t
 WHERE t.key = %(key)s AND NOT EXISTS (SELECT FROM entities e WHERE (e.tenant_id, e.type_id) = (t.tenant_id, t.id));

-- name: list_applied_items
-- Digests of what the last apply wanted.
SELECT kind, name, applied, is_in_pack FROM pack_items;

-- name: save_applied_item
-- What an apply wants for an item.
INSERT INTO pack_items (tenant_id, kind, name, applied)
VALUES (current_tenant(), %(kind)s, %(name)s, %(applied)s)
    ON CONFLICT (tenant_id, kind, name) DO UPDATE SET applied = EXCLUDED.applied, is_in_pack = true;

-- name: mark_items_left
-- Items that the applied pack does not have.
UPDATE pack_items SET is_in_pack = false
 WHERE (kind, name) IN (SELECT * FROM unnest(%(kinds)s::text[], %(names)s::text[]));

-- name: delete_applied_items
-- Items that no pack has any more.
DELETE FROM pack_items WHERE (kind, name) IN (SELECT * FROM unnest(%(kinds)s::text[], %(names)s::text[]));

-- name: add_apply
-- An apply that changed something.
INSERT INTO pack_applies (tenant_id, id, applied_by, applied_at) VALUES (current_tenant(), %(id)s, %(by)s, %(now)s);

-- name: add_change
-- What an apply changed in an item.
INSERT INTO pack_changes (tenant_id, id, apply_id, kind, name, record_id, before, after, applied_before)
VALUES (current_tenant(), %(id)s, %(apply_id)s, %(kind)s, %(name)s, %(record_id)s, %(before)s, %(after)s, %(applied_before)s);

-- name: delete_old_applies
-- Only the newest applies can be undone.
DELETE FROM pack_applies WHERE id NOT IN (SELECT id FROM pack_applies ORDER BY number DESC LIMIT %(most)s);

-- name: find_last_apply
-- The newest apply that was not undone.
SELECT id, applied_by, applied_at FROM pack_applies ORDER BY number DESC LIMIT 1;

-- name: list_applies
-- The applies that were not undone, newest first. A change without fields stores digests only.
SELECT a.applied_by, a.applied_at,
       (SELECT count(*) FROM pack_changes c
         WHERE c.apply_id = a.id AND (c.before IS DISTINCT FROM '{}' OR c.after IS DISTINCT FROM '{}')) AS changed_items
  FROM pack_applies a ORDER BY a.number DESC;

-- name: list_changes
-- What an apply changed.
SELECT kind, name, record_id, before, after, applied_before
  FROM pack_changes WHERE apply_id = %(apply_id)s ORDER BY kind, name;

-- name: delete_apply
-- An apply that was undone, with what it changed.
DELETE FROM pack_applies WHERE id = %(id)s;
