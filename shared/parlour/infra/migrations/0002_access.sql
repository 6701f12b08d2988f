-- Who a user is, whom a private door answers, and what people may change through a binding.

-- member_id: the member of the tenant who talks as this user. Its clearance and roles are the member's.
ALTER TABLE users
    ADD COLUMN member_id uuid,
    ADD UNIQUE (tenant_id, member_id),
    ADD FOREIGN KEY (tenant_id, member_id) REFERENCES members (tenant_id, id) ON DELETE CASCADE;

-- owner: whom a private door answers: {"phone": "+44..."}, or {"issuer", "subject"} of a member.
-- writes: {"anonymous" | "verified": "none" | "own" | "all"}: what people may change; a missing key is the default.
-- tool_writes: the same by the name of a tool, for that tool.
ALTER TABLE bindings
    ADD COLUMN owner jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN writes jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN tool_writes jsonb NOT NULL DEFAULT '{}';

-- A user as access is computed from: the row, whether a channel verified who it is, and the member behind it.
CREATE FUNCTION acting_user(person users) RETURNS jsonb
    LANGUAGE sql STABLE
    RETURN to_jsonb(person) || jsonb_build_object(
        'is_verified', EXISTS (SELECT FROM channel_identities i
                                WHERE (i.tenant_id, i.user_id) = (person.tenant_id, person.id) AND i.channel <> 'web'),
        'member', (SELECT jsonb_build_object('issuer', m.issuer, 'subject', m.subject, 'roles', m.roles,
                                             'is_active', m.active)
                     FROM members m WHERE (m.tenant_id, m.id) = (person.tenant_id, person.member_id)));

-- What an agent wrote into records, with what it replaced, so that a person can take a turn back.
-- before, after: {"name", "properties", "text"}; null where there was or is none. version: the record's, afterwards.
-- turn_id: no foreign key; a person may want to take back what an expired turn did.
-- origin: names the call, so that a repeated call is written down once.
CREATE TABLE agent_writes (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    turn_id    uuid NOT NULL,
    origin     text NOT NULL,
    principal  text NOT NULL,
    action     text NOT NULL CHECK (action IN ('create', 'update', 'link', 'unlink')),
    entity_id  uuid NOT NULL,
    target_id  uuid,
    relation   text NOT NULL DEFAULT '',
    before     jsonb,
    after      jsonb,
    version    int NOT NULL,
    written_at timestamptz NOT NULL,
    undone_at  timestamptz,
    undone_by  text,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, origin),
    FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, target_id) REFERENCES entities (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('agent_writes');
CREATE INDEX agent_writes_turn ON agent_writes (tenant_id, turn_id, id);
CREATE INDEX agent_writes_entity ON agent_writes (tenant_id, entity_id);
CREATE INDEX agent_writes_target ON agent_writes (tenant_id, target_id) WHERE target_id IS NOT NULL;
