"""What one person may do through one binding: the table of allowed cases."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.principal import WriteRights
from parlour.tenancy.access import compute_access
from parlour.tenancy.persona import Binding
from parlour.tenancy.rows import User

TENANT = UUID(int=1)
NOW = datetime(2026, 11, 24, tzinfo=UTC)
OWNER_PHONE = "+447700900001"

BINDING = Binding(
    id=UUID(int=2),
    slug="desk",
    display_name="Desk",
    human_id=UUID(int=3),
    team_id=UUID(int=4),
    agent_id=UUID(int=5),
    door="public",
    channels={"web": {}},
    clearance=1,
    greeting="",
    is_active=True,
    version=1,
    owner={},
    writes={},
    tool_writes={},
    limits={},
    inbox={},
)
VISITOR = User(
    tenant_id=TENANT,
    id=UUID(int=10),
    phone=None,
    display_name=None,
    locale=None,
    clearance=None,
    created_at=NOW,
    is_verified=False,
    has_unverified=False,
    token_epoch=0,
    member=None,
)
PHONE = replace(VISITOR, id=UUID(int=11), phone="+447700900009", is_verified=True)
OWNER = replace(PHONE, id=UUID(int=12), phone=OWNER_PHONE)


def member(*roles: str, clearance: int = 2, is_active: bool = True) -> User:
    account: JsonObject = {"issuer": "https://id", "subject": "ada", "roles": [*roles], "is_active": is_active}
    return replace(VISITOR, id=UUID(int=13), clearance=clearance, member=account)


PEOPLE = {
    "visitor": VISITOR,
    "phone": PHONE,
    "owner": OWNER,
    "viewer": member("viewer"),
    "editor": member("editor"),
    "admin": member("admin", clearance=3),
    "former": member("admin", is_active=False),
}

BY_DEFAULT: dict[str, WriteRights] = {
    "visitor": "none",
    "phone": "own",
    "owner": "own",
    "viewer": "own",
    "editor": "all",
    "admin": "all",
}
CLEARANCE = {"visitor": 1, "phone": 1, "owner": 1, "viewer": 2, "editor": 2, "admin": 3}
ADMITTED_TO_PRIVATE = {
    "visitor": False,
    "phone": False,
    "owner": True,
    "viewer": False,
    "editor": False,
    "admin": False,
}


@pytest.mark.parametrize("who", BY_DEFAULT)
def test_rights_and_clearance_by_default(who: str) -> None:
    access = compute_access(PEOPLE[who], BINDING)
    assert (access.is_admitted, access.principal.write_rights) == (True, BY_DEFAULT[who])
    assert access.principal.clearance == CLEARANCE[who]
    assert access.principal.kind == "user"


@pytest.mark.parametrize("who", ADMITTED_TO_PRIVATE)
def test_a_private_door_admits_its_owner_only(who: str) -> None:
    private = replace(BINDING, door="private", owner={"phone": OWNER_PHONE})
    assert compute_access(PEOPLE[who], private).is_admitted is ADMITTED_TO_PRIVATE[who]


def test_a_private_door_is_owned_by_a_member_of_that_issuer() -> None:
    private = replace(BINDING, door="private", owner={"issuer": "https://id", "subject": "ada"})
    elsewhere = replace(BINDING, door="private", owner={"issuer": "https://other", "subject": "ada"})
    assert compute_access(PEOPLE["viewer"], private).is_admitted
    assert not compute_access(PEOPLE["viewer"], elsewhere).is_admitted
    assert not compute_access(VISITOR, replace(BINDING, door="private")).is_admitted


@pytest.mark.parametrize("door", ["public", "distribution", "private"])
def test_a_binding_that_is_off_and_a_former_member_are_shut_out(door: str) -> None:
    binding = replace(BINDING, door=door, owner={"phone": OWNER_PHONE})
    assert not compute_access(OWNER, replace(binding, is_active=False)).is_admitted
    former = compute_access(PEOPLE["former"], binding)
    assert not former.is_admitted
    assert (former.principal.roles, former.principal.write_rights) == (frozenset(), "none")


@pytest.mark.parametrize(
    ("settings", "visitor", "phone"),
    [
        ({"anonymous": "own", "verified": "all"}, "own", "all"),
        ({"anonymous": "none", "verified": "none"}, "none", "none"),
        ({"verified": "all"}, "none", "all"),
        ({"anonymous": "everything"}, "none", "own"),
    ],
)
def test_a_binding_says_what_people_may_change(settings: JsonObject, visitor: str, phone: str) -> None:
    binding = replace(BINDING, writes=settings)
    assert compute_access(VISITOR, binding).principal.write_rights == visitor
    assert compute_access(PHONE, binding).principal.write_rights == phone
    assert compute_access(PEOPLE["editor"], binding).principal.write_rights == "all"


def test_a_tool_has_rights_of_its_own() -> None:
    access = compute_access(VISITOR, replace(BINDING, tool_writes={"raise_rfi": {"anonymous": "all"}}))
    assert access.principal_for("raise_rfi").writes == "all"
    assert access.principal_for("update_entity").writes == "none"


@pytest.mark.parametrize("who", [*BY_DEFAULT, "former"])
def test_an_agent_that_may_not_act_changes_nothing_for_anybody(who: str) -> None:
    binding = replace(BINDING, writes={"anonymous": "all", "verified": "all"}, tool_writes={"t": {"anonymous": "all"}})
    access = compute_access(PEOPLE[who], binding, can_act=False)
    assert (access.principal.write_rights, access.principal_for("t").write_rights) == ("none", "none")


def test_a_user_with_a_clearance_of_their_own_has_that_one() -> None:
    for level in range(4):
        assert compute_access(replace(PHONE, clearance=level), BINDING).principal.clearance == level
