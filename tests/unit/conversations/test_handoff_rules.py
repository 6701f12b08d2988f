"""To whom a conversation may be handed, and how often."""

from dataclasses import replace
from uuid import UUID

import pytest

from parlour.conversations import handoff_rules
from parlour.conversations.rows import HandoffCounts
from parlour.infra.errors import HandoffNotAllowed, HandoffRepeated
from parlour.principal import CONFIDENTIAL, INTERNAL, Principal
from parlour.tenancy.access import Access, Identification
from parlour.tenancy.bindings import Binding, HandoffTarget

NO_ID = UUID(int=0)
SITE = Binding(
    id=NO_ID,
    slug="site-desk",
    display_name="Site desk",
    human_id=NO_ID,
    team_id=NO_ID,
    agent_id=NO_ID,
    door="public",
    channels={"web": {"host": "site.example"}},
    clearance=INTERNAL,
    greeting="",
    is_active=True,
    version=1,
    owner={},
    writes={},
    tool_writes={},
    limits={},
)
INSIDE = replace(SITE, slug="claims", display_name="Claims", channels={}, clearance=CONFIDENTIAL)


def access(identification: Identification, *, is_admitted: bool = True) -> Access:
    return Access(Principal(NO_ID, "user"), identification, is_admitted)


def test_a_second_handoff_waits_for_the_users_next_message() -> None:
    with pytest.raises(HandoffRepeated, match="next message"):
        handoff_rules.check_repetition(HandoffCounts(recent=1, messages_since=0))
    handoff_rules.check_repetition(HandoffCounts(recent=1, messages_since=1))
    handoff_rules.check_repetition(HandoffCounts(recent=0, messages_since=None))


def test_handoffs_within_some_messages_are_bounded() -> None:
    handoff_rules.check_repetition(HandoffCounts(handoff_rules.MAX_HANDOFFS - 1, 3))
    with pytest.raises(HandoffRepeated, match="4 times in 20 messages"):
        handoff_rules.check_repetition(HandoffCounts(handoff_rules.MAX_HANDOFFS, 3))


def test_a_target_that_nobody_named_is_refused_with_those_that_are() -> None:
    with pytest.raises(HandoffNotAllowed, match="you may hand over to: contract-desk"):
        handoff_rules.check_allowed("boardroom", ["contract-desk"])


def test_a_door_that_is_closed_to_the_user_takes_no_handoff() -> None:
    with pytest.raises(HandoffNotAllowed):
        handoff_rules.check_reachable(access("member", is_admitted=False), SITE, INSIDE)


def test_a_visitor_is_handed_to_no_desk_that_sees_more_and_has_no_page() -> None:
    with pytest.raises(HandoffNotAllowed, match="verified"):
        handoff_rules.check_reachable(access("anonymous"), SITE, INSIDE)
    handoff_rules.check_reachable(access("verified"), SITE, INSIDE)
    handoff_rules.check_reachable(access("anonymous"), SITE, replace(INSIDE, clearance=INTERNAL))
    handoff_rules.check_reachable(access("anonymous"), SITE, replace(INSIDE, channels=SITE.channels))


def test_the_tool_names_the_allowed_targets_only() -> None:
    tool = handoff_rules.hand_off_tool([HandoffTarget("contract-desk", "Contract desk")])
    assert tool.schema["properties"]["to"] == {"enum": ["contract-desk"]}  # type: ignore[call-overload,index]
    assert tool.is_read_only
