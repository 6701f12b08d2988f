"""Layer 1: three rows, one text, the same bytes for the same rows."""

from dataclasses import dataclass, field, replace

from parlour.context import tiers
from parlour.infra.jsonable import Json


@dataclass(frozen=True)
class Human:
    display_name: str = "Asha"
    identity: str = "You are Asha, site adviser at Northbank."
    voice: dict[str, Json] = field(default_factory=lambda: {"tone": "warm", "avoid": ["jargon", "blame"]})
    languages: tuple[str, ...] = ("en", "hi")
    cultural_register: str = "plain"
    guardrails: tuple[Json, ...] = ({"id": "human", "text": "Never claim to be a person."},)


@dataclass(frozen=True)
class Team:
    display_name: str = "Site desk"
    department: str = "Delivery"
    role: str = "Answers questions about the works."
    sops: tuple[Json, ...] = ("Give the date of every fact.", "Name the document.")
    escalation: dict[str, Json] = field(default_factory=lambda: {"safety": "the site manager"})
    guardrails: tuple[Json, ...] = ("Never promise a completion date.",)


@dataclass(frozen=True)
class Agent:
    instructions: str = "Search before you answer."
    guardrails: tuple[Json, ...] = ()


def test_every_tier_has_its_place_in_order() -> None:
    text = tiers.render(Human(), Team(), Agent())
    order = ["You are Asha", "warm", "You speak en, hi", "Never claim", "Site desk (Delivery)", "1. Give the date",
             "safety: the site manager", "Never promise", "Search before", "absolute"]  # fmt: skip
    positions = [text.index(part) for part in order]
    assert positions == sorted(positions)


def test_the_same_rows_give_the_same_bytes_whatever_the_order_of_their_keys() -> None:
    turned = Human(voice={"avoid": ["jargon", "blame"], "tone": "warm"})
    assert tiers.render(Human(), Team(), Agent()) == tiers.render(turned, Team(), Agent())


def test_empty_parts_leave_no_heading_behind() -> None:
    bare = tiers.render(
        replace(Human(), voice={}, guardrails=(), cultural_register="", identity=""),
        replace(Team(), sops=(), escalation={}, guardrails=()),
        Agent(instructions=""),
    )
    assert "You are Asha." in bare
    for heading in ("# Voice", "# Rules of this persona", "# How the work is done", "# Handing over"):
        assert heading not in bare
