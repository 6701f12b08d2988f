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

-- What a user without the rights of an editor created is unverified until a member accepts it: nobody else's searches,
-- briefings and Pulses find it. unverified_by: the principal who created it; null once it counts like anything else.
-- Row-level security withholds it, also from a query that forgets to ask.
ALTER TABLE entities ADD COLUMN unverified_by text;
ALTER TABLE documents ADD COLUMN unverified_by text;
ALTER TABLE context_rows ADD COLUMN unverified_by text;
CREATE INDEX context_rows_unverified ON context_rows (tenant_id, unverified_by) WHERE unverified_by IS NOT NULL;
CREATE INDEX entities_unverified ON entities (tenant_id, unverified_by) WHERE unverified_by IS NOT NULL;

-- The principal whom a transaction reads for; null reads everything of the tenant.
CREATE FUNCTION current_reader() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('app.reader', true), '');
GRANT EXECUTE ON FUNCTION current_reader() TO parlour_search;

CREATE PROCEDURE withhold_unverified(tenant_table regclass) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'CREATE POLICY unverified ON %s AS RESTRICTIVE FOR SELECT TO parlour_app
         USING (unverified_by IS NULL OR (SELECT current_reader()) IS NULL OR unverified_by = (SELECT current_reader()))',
        tenant_table
    );
END
$$;
CALL withhold_unverified('entities');
CALL withhold_unverified('documents');
CALL withhold_unverified('context_rows');

-- A row about an unverified record is as unverified as that record.
CREATE FUNCTION inherit_unverified() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'documents' THEN
        SELECT e.unverified_by INTO NEW.unverified_by
          FROM entities e WHERE (e.tenant_id, e.id) = (NEW.tenant_id, NEW.own_entity_id);
    ELSE
        SELECT e.unverified_by INTO NEW.unverified_by
          FROM entities e
         WHERE e.tenant_id = NEW.tenant_id AND e.id IN (NEW.entity_id, NEW.related_entity_id)
           AND e.unverified_by IS NOT NULL
         LIMIT 1;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER inherit_unverified BEFORE INSERT ON documents
    FOR EACH ROW WHEN (NEW.own_entity_id IS NOT NULL) EXECUTE FUNCTION inherit_unverified();
CREATE TRIGGER inherit_unverified BEFORE INSERT ON context_rows
    FOR EACH ROW WHEN (NEW.entity_id IS NOT NULL OR NEW.related_entity_id IS NOT NULL)
    EXECUTE FUNCTION inherit_unverified();

-- As before, without unverified rows of others: this function is not bound by the policy.
GRANT CREATE ON SCHEMA public TO parlour_search;
SET LOCAL ROLE parlour_search;
CREATE OR REPLACE FUNCTION search_lexemes(query tsquery, clearance int, team uuid, any_team boolean, most int)
    RETURNS TABLE (id uuid, rank real, lexemes tsvector)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
    SELECT r.id, ts_rank(r.lexemes, query) AS rank, r.lexemes
      FROM context_rows r
     WHERE r.lexemes @@ query AND r.tenant_id = current_tenant() AND r.classification <= clearance
       AND r.session_id IS NULL AND (r.team_id IS NULL OR any_team OR r.team_id = team)
       AND (r.unverified_by IS NULL OR current_reader() IS NULL OR r.unverified_by = current_reader())
     ORDER BY rank DESC, r.id
     LIMIT most
$$;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM parlour_search;

-- limits: {"visitor_per_minute", "address_per_minute", "binding_per_minute", "new_visitors_per_minute",
-- "anonymous_share"}; a missing key is the default.
ALTER TABLE bindings ADD COLUMN limits jsonb NOT NULL DEFAULT '{}';

-- Token buckets. tokens: what was left at refilled_at. was_refused: how the last request ended. notified_at: when people
-- who write by a messaging channel were last told that they have to wait. Rows of full buckets are cleared away.
CREATE TABLE rate_limits (
    tenant_id     uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    scope         text NOT NULL CHECK (scope IN ('visitor', 'address', 'binding', 'new_visitors')),
    key           text NOT NULL,
    tokens        double precision NOT NULL,
    refilled_at   timestamptz NOT NULL,
    was_refused   boolean NOT NULL DEFAULT false,
    refused_count bigint NOT NULL DEFAULT 0,
    notified_at   timestamptz,
    PRIMARY KEY (tenant_id, scope, key)
);
CALL isolate('rate_limits');
CREATE INDEX rate_limits_time ON rate_limits (tenant_id, refilled_at);

-- The part of the day's spend that went to visitors whom no channel has verified.
ALTER TABLE spend_days ADD COLUMN anonymous_usd numeric(14, 8) NOT NULL DEFAULT 0;
ALTER TABLE spend_reservations ADD COLUMN is_anonymous boolean NOT NULL DEFAULT false;

-- token_epoch: tokens of an earlier epoch are refused. Joining a phone, erasure and signing out everywhere raise it.
ALTER TABLE users ADD COLUMN token_epoch int NOT NULL DEFAULT 0;

-- expires_at: null never. last_used_at: to within ten minutes. scopes: parts of the API (the tags of its routes) that the
-- key opens; empty is all of them.
ALTER TABLE api_keys
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN last_used_at timestamptz,
    ADD COLUMN scopes text[] NOT NULL DEFAULT '{}';

-- A user as access is computed from: the row, whether a channel verified who it is, whether records of theirs wait to be
-- accepted, and the member behind it.
CREATE FUNCTION acting_user(person users) RETURNS jsonb
    LANGUAGE sql STABLE
    RETURN to_jsonb(person) || jsonb_build_object(
        'is_verified', EXISTS (SELECT FROM channel_identities i
                                WHERE (i.tenant_id, i.user_id) = (person.tenant_id, person.id) AND i.channel <> 'web'),
        'has_unverified', EXISTS (SELECT FROM entities e
                                   WHERE e.tenant_id = person.tenant_id AND e.unverified_by = 'user:' || person.id),
        'member', (SELECT jsonb_build_object('issuer', m.issuer, 'subject', m.subject, 'roles', m.roles,
                                             'is_active', m.active)
                     FROM members m WHERE (m.tenant_id, m.id) = (person.tenant_id, person.member_id)));

-- The turns of a tenant that are under way.
CREATE INDEX sessions_leased ON sessions (tenant_id, lease_until) WHERE lease_until IS NOT NULL;
