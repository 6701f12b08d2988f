-- Hosts and numbers that a tenant has claimed and the operator has not accepted, and those that it gave up: they stay
-- reserved for it.

-- A row of routing_keys leads to its tenant; a row here leads nowhere. key: as there, of a host or a number.
-- binding_id: of a claim that waits. released_at: when the tenant gave the key up; null while the claim waits.
CREATE TABLE routing_claims (
    tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    key         text NOT NULL,
    binding_id  uuid,
    claimed_at  timestamptz NOT NULL,
    released_at timestamptz,
    PRIMARY KEY (tenant_id, key),
    FOREIGN KEY (tenant_id, binding_id) REFERENCES bindings (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('routing_claims');
CREATE INDEX routing_claims_key ON routing_claims (key);
CREATE INDEX routing_claims_binding ON routing_claims (tenant_id, binding_id);

-- Whether a key is another tenant's, and whether a message's number waits for the operator, is asked across tenants.
GRANT SELECT ON routing_claims TO parlour_directory;
CREATE POLICY directory ON routing_claims FOR SELECT TO parlour_directory USING (true);

-- The claims of one key by all tenants.
CREATE FUNCTION find_routing_claims(claimed_key text)
    RETURNS TABLE (key text, tenant_id uuid, claimed_at timestamptz, released_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
    SELECT c.key, c.tenant_id, c.claimed_at, c.released_at FROM routing_claims c WHERE c.key = claimed_key
$$;

-- The claims of all tenants that wait for the operator, oldest first.
CREATE FUNCTION list_waiting_routes(most int)
    RETURNS TABLE (slug text, key text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
    SELECT t.slug, c.key FROM routing_claims c JOIN tenants t ON t.tenant_id = c.tenant_id
     WHERE c.released_at IS NULL
     ORDER BY c.claimed_at, t.slug, c.key
     LIMIT most
$$;
REVOKE ALL ON FUNCTION find_routing_claims, list_waiting_routes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_routing_claims, list_waiting_routes TO parlour_app;

GRANT CREATE ON SCHEMA public TO parlour_directory;
ALTER FUNCTION find_routing_claims OWNER TO parlour_directory;
ALTER FUNCTION list_waiting_routes OWNER TO parlour_directory;
REVOKE CREATE ON SCHEMA public FROM parlour_directory;
