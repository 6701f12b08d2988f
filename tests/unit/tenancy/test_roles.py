from uuid import UUID

import pytest

from parlour.infra.errors import Forbidden, InvalidRequest
from parlour.principal import Principal
from parlour.tenancy.roles import check_grant, operator_principal, require_role

TENANT = UUID(int=1)
ADMIN = Principal(TENANT, "member", UUID(int=2), frozenset({"admin"}), clearance=2)
VIEWER = Principal(TENANT, "member", UUID(int=3), frozenset({"viewer"}), clearance=3)
VISITOR = Principal(TENANT, "user", UUID(int=4))


def test_an_administrator_holds_every_role() -> None:
    require_role(ADMIN, "viewer")
    require_role(ADMIN, "admin")


def test_the_operator_holds_every_role() -> None:
    require_role(operator_principal(TENANT), "admin")


@pytest.mark.parametrize(("principal", "role"), [(VIEWER, "admin"), (VISITOR, "viewer"), (VISITOR, "admin")])
def test_who_lacks_a_role_is_told_which(principal: Principal, role: str) -> None:
    with pytest.raises(Forbidden, match=role):
        require_role(principal, role)


def test_an_administrator_grants_up_to_their_own_clearance() -> None:
    check_grant(ADMIN, ["viewer", "admin"], 2)


def test_nobody_grants_more_clearance_than_their_own() -> None:
    with pytest.raises(Forbidden, match="2"):
        check_grant(ADMIN, [], 3)


def test_a_viewer_grants_nothing() -> None:
    with pytest.raises(Forbidden):
        check_grant(VIEWER, [], 0)


@pytest.mark.parametrize(("roles", "clearance"), [(["owner"], 0), ([""], 0), ([], 4), ([], -1)])
def test_what_does_not_exist_cannot_be_granted(roles: list[str], clearance: int) -> None:
    with pytest.raises(InvalidRequest):
        check_grant(operator_principal(TENANT), roles, clearance)
