-- How a sign-in finds its tenants.

-- Which tenants a sign-in may enter is asked before one of them is chosen, and row-level security shows no tenant then.
-- So two functions run as parlour_directory, which cannot log in and reads members and tenants for nothing else.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'parlour_directory') THEN
        CREATE ROLE parlour_directory NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
END
$$;
GRANT USAGE ON SCHEMA public TO parlour_directory;
GRANT SELECT ON members, tenants TO parlour_directory;
CREATE POLICY directory ON members FOR SELECT TO parlour_directory USING (true);
CREATE POLICY directory ON tenants FOR SELECT TO parlour_directory USING (true);
CREATE INDEX members_identity ON members (issuer, subject) WHERE active;

-- The open tenants of which somebody is an active member, by slug: whom `issuer` calls `subject`.
CREATE FUNCTION list_member_tenants(member_issuer text, member_subject text, most int)
    RETURNS TABLE (slug text, display_name text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
    SELECT t.slug, t.display_name
      FROM members m JOIN tenants t ON t.tenant_id = m.tenant_id
     WHERE m.issuer = member_issuer AND m.subject = member_subject AND m.active AND t.status <> 'archived'
     ORDER BY t.slug
     LIMIT most
$$;

-- All tenants by slug, for the operator of the deployment.
CREATE FUNCTION list_all_tenants(most int)
    RETURNS TABLE (slug text, display_name text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
    SELECT t.slug, t.display_name FROM tenants t ORDER BY t.slug LIMIT most
$$;
REVOKE ALL ON FUNCTION list_member_tenants, list_all_tenants FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_member_tenants, list_all_tenants TO parlour_app;

GRANT parlour_directory TO CURRENT_USER WITH SET TRUE, INHERIT FALSE;
GRANT CREATE ON SCHEMA public TO parlour_directory;
ALTER FUNCTION list_member_tenants OWNER TO parlour_directory;
ALTER FUNCTION list_all_tenants OWNER TO parlour_directory;
REVOKE CREATE ON SCHEMA public FROM parlour_directory;
