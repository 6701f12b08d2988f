"""What must hold of every object in the database's catalogue; each function returns what breaks its rule."""

from typing import Any

import psycopg

type Superuser = psycopg.Connection[Any]

WITHOUT_TENANT = {"schema_migrations"}
"""Tables that hold nothing of a tenant's."""

SHARED_READING = {"routing_keys", "work_due"}
"""Tables whose rows say where a tenant is or when it has work, not what it has: read before a tenant is known."""

ISOLATED = {"isolated": "(tenant_id = ( SELECT current_tenant() AS current_tenant))"}
"""The one expression that a policy may have, as PostgreSQL prints it."""

DEFINER_FUNCTIONS = {"search_lexemes", "list_member_tenants", "list_all_tenants", "list_applied_migrations"} | {
    "find_routing_claims",
    "list_waiting_routes",
}
"""Functions that may run with their owner's rights."""


def tables_without_forced_isolation(superuser: Superuser) -> set[str]:
    """Tenant tables lacking a tenant_id, ENABLE, FORCE or the one policy that compares the tenant."""
    rows = superuser.execute(
        """
        SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity,
               EXISTS (SELECT FROM pg_attribute a
                        WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND a.attnotnull),
               COALESCE((SELECT bool_or(p.polqual IS NOT NULL AND
                                        pg_get_expr(p.polqual, c.oid) = %(isolated)s)
                           FROM pg_policy p WHERE p.polrelid = c.oid), false)
          FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')""",
        ISOLATED,
    ).fetchall()
    return {
        name
        for name, forced, has_tenant, isolated in rows
        if name not in WITHOUT_TENANT and not (forced and has_tenant and (isolated or name in SHARED_READING))
    }


def permissive_policies(superuser: Superuser) -> set[str]:
    """Policies that let a row through without comparing the tenant, apart from those that are meant to."""
    rows = superuser.execute(
        """
        SELECT p.polrelid::regclass::text || '.' || p.polname
          FROM pg_policy p
         WHERE NOT (p.polrelid IN ('routing_keys'::regclass, 'work_due'::regclass) AND p.polcmd = 'r')
           AND NOT (p.polname = 'keyword_search' AND p.polcmd = 'r'
                    AND p.polroles = ARRAY['parlour_search'::regrole::oid])
           AND NOT (p.polname = 'directory' AND p.polcmd = 'r'
                    AND p.polroles = ARRAY['parlour_directory'::regrole::oid])
           AND p.polpermissive
           AND (COALESCE(pg_get_expr(p.polqual, p.polrelid), 'x') NOT IN ('x', %(isolated)s)
                OR COALESCE(pg_get_expr(p.polwithcheck, p.polrelid), 'x') NOT IN ('x', %(isolated)s)
                OR (p.polqual IS NULL AND p.polwithcheck IS NULL))""",
        ISOLATED,
    ).fetchall()
    return {name for (name,) in rows}


def keys_without_the_tenant(superuser: Superuser) -> set[str]:
    """Primary keys, unique indexes and foreign keys between tenant tables that leave the tenant out.

    A unique index without it tells one tenant that another has a value; a foreign key without it can cross over.
    """
    rows = superuser.execute(
        """
        WITH tenant_tables AS (
            SELECT a.attrelid, a.attnum FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
             WHERE a.attname = 'tenant_id' AND c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
               AND c.relname <> ALL (%s))
        SELECT x.indexrelid::regclass::text
          FROM pg_index x JOIN tenant_tables t ON t.attrelid = x.indrelid
         WHERE x.indisunique AND NOT (t.attnum = ANY (x.indkey))
        UNION ALL
        SELECT k.conrelid::regclass::text || '.' || k.conname
          FROM pg_constraint k
          JOIN tenant_tables t ON t.attrelid = k.conrelid
          JOIN tenant_tables f ON f.attrelid = k.confrelid
         WHERE k.contype = 'f' AND NOT (t.attnum = ANY (k.conkey) AND f.attnum = ANY (k.confkey))""",
        [list(SHARED_READING)],
    ).fetchall()
    return {name for (name,) in rows}


def keys_that_null_the_tenant(superuser: Superuser) -> set[str]:
    """ON DELETE SET NULL without a column list nulls the tenant too."""
    rows = superuser.execute("""
        SELECT k.conrelid::regclass::text || '.' || k.conname
          FROM pg_constraint k
         WHERE k.contype = 'f' AND k.confdeltype = 'n' AND k.confdelsetcols IS NULL""").fetchall()
    return {name for (name,) in rows}


def views_with_their_owners_rights(superuser: Superuser) -> set[str]:
    """Views without security_invoker, and materialised views, which have no row-level security at all."""
    rows = superuser.execute("""
        SELECT c.relname FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace
           AND (c.relkind = 'm' OR c.relkind = 'v'
                AND NOT COALESCE('security_invoker=true' = ANY (c.reloptions), false))""").fetchall()
    return {name for (name,) in rows}


def definer_functions(superuser: Superuser) -> set[str]:
    """Functions that run with their owner's rights and are not on the list, or whose search_path is open."""
    rows = superuser.execute(
        """
        SELECT p.proname, COALESCE(array_to_string(p.proconfig, ','), '') LIKE '%%search_path=%%'
          FROM pg_proc p
         WHERE p.prosecdef AND p.pronamespace = 'public'::regnamespace""".replace("%%", "%")
    ).fetchall()
    return {name for name, closed in rows if name not in DEFINER_FUNCTIONS or not closed}


def powers_of_the_app(superuser: Superuser) -> set[str]:
    """What the app's and its functions' roles have that they must not: ownership, bypasses, memberships, a login."""
    rows = superuser.execute("""
        SELECT 'parlour_app owns ' || c.relname FROM pg_class c WHERE c.relowner = 'parlour_app'::regrole
        UNION ALL SELECT 'parlour_app owns ' || p.proname FROM pg_proc p WHERE p.proowner = 'parlour_app'::regrole
        UNION ALL SELECT r.rolname || ' has a power' FROM pg_roles r
                   WHERE r.rolname IN ('parlour_app', 'parlour_search', 'parlour_directory')
                     AND (r.rolsuper OR r.rolbypassrls OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication)
        UNION ALL SELECT rolname || ' can log in' FROM pg_roles
                   WHERE rolname IN ('parlour_search', 'parlour_directory') AND rolcanlogin
        UNION ALL SELECT 'parlour_app is a member of ' || m.roleid::regrole FROM pg_auth_members m
                   WHERE m.member = 'parlour_app'::regrole
        UNION ALL SELECT 'parlour_app may create in public'
                   WHERE has_schema_privilege('parlour_app', 'public', 'CREATE')
        UNION ALL SELECT 'parlour_app may touch schema_migrations'
                   WHERE has_table_privilege('parlour_app', 'schema_migrations', 'SELECT, INSERT, UPDATE, DELETE')
        UNION ALL SELECT 'parlour_app may truncate ' || c.relname FROM pg_class c
                   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
                     AND has_table_privilege('parlour_app', c.oid, 'TRUNCATE')""").fetchall()
    return {name for (name,) in rows}


RULES = (
    tables_without_forced_isolation,
    permissive_policies,
    keys_without_the_tenant,
    keys_that_null_the_tenant,
    views_with_their_owners_rights,
    definer_functions,
    powers_of_the_app,
)
