-- Questions to a person about tool calls, and permissions to run without asking.

-- name: insert_approval
-- A question, once per id.
INSERT INTO approvals (tenant_id, id, session_id, binding_id, user_id, tool_call_id, approver, tool, arguments, question,
                       options, channel, bound, bound_hash, shown_level, state, reason, created_at, posted_at,
                       expires_at, answered_at, answered_by, done_at)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(binding_id)s, %(user_id)s, %(tool_call_id)s, %(approver)s, %(tool)s,
        %(arguments)s, %(question)s, %(options)s, %(channel)s, %(bound)s, %(bound_hash)s, %(shown_level)s, %(state)s,
        %(reason)s, %(created_at)s, %(posted_at)s, %(expires_at)s, %(answered_at)s, %(answered_by)s, %(done_at)s)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: withdraw_same_tool
-- Close the open questions about a tool that the agent calls again in the conversation, in a later step: what it asks
-- for now replaces them.
UPDATE approvals a SET state = 'superseded', answered_at = %(now)s,
                       reason = CASE WHEN a.bound_hash = %(bound_hash)s
                                     THEN 'The same was asked again; answer the newer question.'
                                     ELSE 'It was withdrawn: the agent asks for something else now.' END
  FROM tool_calls c, tool_calls n
 WHERE a.session_id = %(session_id)s AND a.tool = %(tool)s AND a.tool_call_id <> %(tool_call_id)s AND a.state = 'asked'
   AND c.tenant_id = a.tenant_id AND c.id = a.tool_call_id
   AND n.tenant_id = a.tenant_id AND n.id = %(tool_call_id)s
   AND (a.bound_hash = %(bound_hash)s OR (c.turn_id, c.step) <> (n.turn_id, n.step));

-- name: find_approval
-- One question.
SELECT a.id, a.session_id, a.binding_id, a.user_id, a.tool_call_id, a.approver, a.tool, a.arguments, a.question, a.options,
       a.channel, a.bound, a.bound_hash, a.shown_level, a.state, a.created_at, a.posted_at, a.expires_at, a.reason,
       a.answered_at, a.answered_by, a.done_at
  FROM approvals a WHERE a.id = %(id)s;

-- name: lock_approval
-- One question, kept as it is until the transaction ends: of two answers one waits and then finds it closed.
SELECT a.id, a.session_id, a.binding_id, a.user_id, a.tool_call_id, a.approver, a.tool, a.arguments, a.question, a.options,
       a.channel, a.bound, a.bound_hash, a.shown_level, a.state, a.created_at, a.posted_at, a.expires_at, a.reason,
       a.answered_at, a.answered_by, a.done_at
  FROM approvals a WHERE a.id = %(id)s FOR UPDATE;

-- name: lock_call_approval
-- The newest question about a tool call, kept as it is until the transaction ends.
SELECT a.id, a.session_id, a.binding_id, a.user_id, a.tool_call_id, a.approver, a.tool, a.arguments, a.question, a.options,
       a.channel, a.bound, a.bound_hash, a.shown_level, a.state, a.created_at, a.posted_at, a.expires_at, a.reason,
       a.answered_at, a.answered_by, a.done_at
  FROM approvals a WHERE a.tool_call_id = %(tool_call_id)s ORDER BY a.id DESC LIMIT 1 FOR UPDATE;

-- name: list_open
-- The open questions of a session, oldest first.
SELECT a.id, a.session_id, a.binding_id, a.user_id, a.tool_call_id, a.approver, a.tool, a.arguments, a.question, a.options,
       a.channel, a.bound, a.bound_hash, a.shown_level, a.state, a.created_at, a.posted_at, a.expires_at, a.reason,
       a.answered_at, a.answered_by, a.done_at
  FROM approvals a WHERE a.session_id = %(session_id)s AND a.state = 'asked' ORDER BY a.created_at, a.id;

-- name: list_approved
-- The questions of a session whose calls were agreed to and have not ended, oldest first.
SELECT a.id, a.session_id, a.binding_id, a.user_id, a.tool_call_id, a.approver, a.tool, a.arguments, a.question, a.options,
       a.channel, a.bound, a.bound_hash, a.shown_level, a.state, a.created_at, a.posted_at, a.expires_at, a.reason,
       a.answered_at, a.answered_by, a.done_at
  FROM approvals a
 WHERE a.session_id = %(session_id)s AND a.state IN ('approved', 'claimed')
 ORDER BY a.created_at, a.id;

-- name: list_closed_in_turn
-- The questions whose outcome is a message of the turn.
SELECT a.id, a.session_id, a.binding_id, a.user_id, a.tool_call_id, a.approver, a.tool, a.arguments, a.question, a.options,
       a.channel, a.bound, a.bound_hash, a.shown_level, a.state, a.created_at, a.posted_at, a.expires_at, a.reason,
       a.answered_at, a.answered_by, a.done_at
  FROM approvals a
  JOIN messages m ON m.tenant_id = a.tenant_id AND m.metadata ->> 'tool_call_id' = a.tool_call_id::text
 WHERE m.turn_id = %(turn_id)s AND m.kind = 'tool_result' AND a.state NOT IN ('asked', 'superseded')
 ORDER BY a.created_at, a.id;

-- name: list_approvals
-- Questions, latest first: of one user, or of the sessions that a clearance covers.
SELECT a.id, a.session_id, a.binding_id, a.user_id, a.tool_call_id, a.approver, a.tool, a.arguments, a.question, a.options,
       a.channel, a.bound, a.bound_hash, a.shown_level, a.state, a.created_at, a.posted_at, a.expires_at, a.reason,
       a.answered_at, a.answered_by, a.done_at
  FROM approvals a
  JOIN sessions s ON s.tenant_id = a.tenant_id AND s.id = a.session_id
 WHERE (%(user_id)s::uuid IS NULL OR a.user_id = %(user_id)s)
   AND (a.user_id = %(user_id)s OR GREATEST(session_clearance(s), a.shown_level) <= %(clearance)s)
   AND (%(session_id)s::uuid IS NULL OR a.session_id = %(session_id)s)
   AND (NOT %(only_open)s OR a.state = 'asked')
   AND (%(before_at)s::timestamptz IS NULL OR (a.created_at, a.id) < (%(before_at)s, %(before_id)s::uuid))
 ORDER BY a.created_at DESC, a.id DESC
 LIMIT %(limit)s;

-- name: mark_posted
-- The open questions were put to the user just now.
UPDATE approvals SET posted_at = %(now)s WHERE session_id = %(session_id)s AND state = 'asked' AND approver = 'user';

-- name: approve
-- A person agreed, in time.
UPDATE approvals SET state = 'approved', answered_by = %(by)s, answered_at = %(now)s
 WHERE id = %(id)s AND state = 'asked' AND expires_at > %(now)s;

-- name: refuse
-- A person refused.
UPDATE approvals SET state = 'refused', answered_by = %(by)s, answered_at = %(now)s, reason = %(reason)s
 WHERE id = %(id)s AND state = 'asked';

-- name: close
-- The question cannot be answered any more, or its call must not run.
UPDATE approvals SET state = %(state)s, reason = %(reason)s, done_at = %(now)s
 WHERE id = %(id)s AND state IN ('asked', 'approved');

-- name: claim
-- A worker takes an approved call, once and in time.
UPDATE approvals SET state = 'claimed'
 WHERE id = %(id)s AND state = 'approved' AND expires_at > %(now)s
RETURNING id;

-- name: complete
-- The call has ended.
UPDATE approvals SET state = 'done', done_at = %(now)s WHERE tool_call_id = %(tool_call_id)s AND state = 'claimed';

-- name: list_named_records
-- The records that some texts name by handle, key or id.
SELECT t.key || '/' || e.key AS handle, e.version, e.unverified_by
  FROM entities e JOIN entity_types t ON t.tenant_id = e.tenant_id AND t.id = e.type_id
 WHERE e.deleted_at IS NULL
   AND (t.key || '/' || e.key = ANY(%(names)s) OR e.key = ANY(%(names)s) OR e.id::text = ANY(%(names)s))
 ORDER BY handle;

-- name: is_tool_offered
-- A binding of an active tenant, whose agent has the tool.
SELECT b.id
  FROM bindings b
  JOIN agents a ON a.tenant_id = b.tenant_id AND a.id = b.agent_id
  JOIN tenants t ON t.tenant_id = b.tenant_id AND t.status = 'active'
 WHERE b.id = %(binding_id)s AND %(tool)s = ANY(a.tools);

-- name: insert_grant
-- A permission to run without asking.
INSERT INTO approval_grants (tenant_id, id, user_id, binding_id, tool, granted_by, created_at, expires_at, revoked_at)
VALUES (current_tenant(), %(id)s, %(user_id)s, %(binding_id)s, %(tool)s, %(granted_by)s, %(created_at)s, %(expires_at)s,
        %(revoked_at)s)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: list_grant_givers
-- Who allowed a tool for a session's user and a binding, of the permissions that have not ended: with the rights that
-- they have now, and whom the tool asks now. A member who left and a key that ended have no rights.
SELECT g.granted_by, g.user_id, t.approver, session_clearance(s) AS required_clearance,
       COALESCE(m.roles, k.roles, '{}') AS roles, COALESCE(m.clearance, k.clearance, 0) AS clearance
  FROM approval_grants g
  JOIN sessions s ON s.tenant_id = g.tenant_id AND s.user_id = g.user_id
  JOIN tools t ON t.tenant_id = g.tenant_id AND t.name = g.tool
  LEFT JOIN members m ON m.tenant_id = g.tenant_id AND 'member:' || m.id = g.granted_by AND m.active
  LEFT JOIN api_keys k ON k.tenant_id = g.tenant_id AND 'key:' || k.id = g.granted_by AND k.revoked_at IS NULL
                          AND (k.expires_at IS NULL OR k.expires_at > %(now)s)
 WHERE s.id = %(session_id)s AND g.binding_id = %(binding_id)s AND g.tool = %(tool)s
   AND g.revoked_at IS NULL AND g.expires_at > %(now)s;

-- name: list_grants
-- Permissions that have not ended, latest first: of one user, or of the bindings and users that a clearance covers.
SELECT g.id, g.user_id, g.binding_id, g.tool, g.granted_by, g.created_at, g.expires_at, g.revoked_at
  FROM approval_grants g
  JOIN users u ON u.tenant_id = g.tenant_id AND u.id = g.user_id
  JOIN bindings b ON b.tenant_id = g.tenant_id AND b.id = g.binding_id
 WHERE g.revoked_at IS NULL AND g.expires_at > %(now)s
   AND (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
   AND (g.user_id = %(user_id)s OR GREATEST(b.clearance, u.clearance) <= %(clearance)s)
   AND (%(before_at)s::timestamptz IS NULL OR (g.created_at, g.id) < (%(before_at)s, %(before_id)s::uuid))
 ORDER BY g.created_at DESC, g.id DESC
 LIMIT %(limit)s;

-- name: revoke_grant
-- End a permission now: one's own, or one of a binding and user that a clearance covers.
UPDATE approval_grants g SET revoked_at = %(now)s
  FROM users u, bindings b
 WHERE g.id = %(id)s AND g.revoked_at IS NULL
   AND u.tenant_id = g.tenant_id AND u.id = g.user_id AND b.tenant_id = g.tenant_id AND b.id = g.binding_id
   AND (%(user_id)s::uuid IS NULL OR g.user_id = %(user_id)s)
   AND (g.user_id = %(user_id)s OR GREATEST(b.clearance, u.clearance) <= %(clearance)s);
