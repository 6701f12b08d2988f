"""The database's own catalogue keeps the promise that no tenant sees another's rows."""

from collections.abc import Callable

import pytest

from local.database import Cluster
from tests.conventions import catalogue

type Rule = Callable[[catalogue.Superuser], set[str]]

BREAKERS: list[tuple[Rule, str]] = [
    (catalogue.tables_without_forced_isolation, "CREATE TABLE loose (tenant_id uuid NOT NULL, id uuid)"),
    (catalogue.tables_without_forced_isolation, "CREATE TABLE loose (id uuid PRIMARY KEY)"),
    (catalogue.tables_without_forced_isolation, "ALTER TABLE messages NO FORCE ROW LEVEL SECURITY"),
    (catalogue.tables_without_forced_isolation, "DROP POLICY tenant_isolation ON messages"),
    (catalogue.permissive_policies, "CREATE POLICY open ON messages FOR SELECT USING (true)"),
    (catalogue.permissive_policies, "CREATE POLICY open ON messages FOR INSERT WITH CHECK (true)"),
    (catalogue.keys_without_the_tenant, "CREATE UNIQUE INDEX leaky ON users (phone)"),
    (catalogue.keys_without_the_tenant, "ALTER TABLE messages ADD UNIQUE (position)"),
    (
        catalogue.keys_that_null_the_tenant,
        "ALTER TABLE llm_calls ADD FOREIGN KEY (tenant_id, turn_id) REFERENCES turns ON DELETE SET NULL",
    ),
    (catalogue.views_with_their_owners_rights, "CREATE VIEW all_messages AS SELECT * FROM messages"),
    (catalogue.views_with_their_owners_rights, "CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM messages"),
    (
        catalogue.definer_functions,
        "CREATE FUNCTION peek() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM messages'",
    ),
    (catalogue.definer_functions, "ALTER FUNCTION search_lexemes RESET search_path"),
    (catalogue.powers_of_the_app, "ALTER TABLE messages OWNER TO parlour_app"),
    (catalogue.powers_of_the_app, "GRANT SELECT ON schema_migrations TO parlour_app"),
    (catalogue.powers_of_the_app, "GRANT TRUNCATE ON messages TO parlour_app"),
    (catalogue.powers_of_the_app, "GRANT CREATE ON SCHEMA public TO parlour_app"),
]


@pytest.mark.parametrize("rule", catalogue.RULES, ids=lambda rule: str(rule.__name__))
def test_the_schema_breaks_no_rule(rule: Rule, cluster: Cluster, database_name: str) -> None:
    with cluster.connect_as_superuser(database_name) as superuser:
        assert rule(superuser) == set()


@pytest.mark.parametrize(("rule", "statement"), BREAKERS, ids=[statement[:60] for _, statement in BREAKERS])
def test_each_rule_notices_what_it_forbids(rule: Rule, statement: str, cluster: Cluster, database_name: str) -> None:
    with cluster.connect_as_superuser(database_name) as superuser, superuser.transaction(force_rollback=True):
        superuser.execute(statement.encode())
        assert rule(superuser) != set()


def test_the_app_role_is_not_let_through_by_owning_nothing_alone(cluster: Cluster, database_name: str) -> None:
    """Roles belong to the cluster, so this is shown on a role of its own, not by breaking the real one."""
    with cluster.connect_as_superuser(database_name) as superuser, superuser.transaction(force_rollback=True):
        superuser.execute("ALTER ROLE parlour_search LOGIN")
        assert catalogue.powers_of_the_app(superuser) == {"parlour_search can log in"}
