"""Memory reaches its own user with its own agent, and nobody else: whoever they are, wherever it was planted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parlour.knowledge.index.embed import embed_question
from parlour.memory.policy import Policy
from parlour.memory.recalling import recall
from parlour.principal import RESTRICTED, Principal
from tests.desk import Desk
from tests.integration.memory.planted import another, episode, fact, space, visitor_of

PEOPLE, BINDINGS, VISIBILITIES = range(3), ("site-desk", "contract-desk"), ("private", "shared", "role_gated")
"""The first two users write on WhatsApp, and the third is a visitor on the web."""


@dataclass(frozen=True)
class Planted:
    """Something that is remembered: of whom, with which agent, and for whom it is."""

    person: int
    binding: str
    kind: str
    number: int

    @property
    def words(self) -> str:
        """No two have these in common, and every question shares a word with all."""
        return f"The crane permit marker{self.number} of {self.kind}"

    def is_for(self, person: int, binding: str, visibility: str) -> bool:
        """Whether a session of that person with that agent may be told."""
        if self.kind in {"human", "team"}:
            return binding == self.binding
        return (person, binding, visibility) == (self.person, self.binding, "private")


PLANTS = st.lists(
    st.builds(
        Planted, st.sampled_from(PEOPLE), st.sampled_from(BINDINGS),
        st.sampled_from(["user", "user", "episode", "episode", "human", "team"]), st.integers(1, 99),
    ),
    min_size=1, max_size=8, unique_by=lambda one: one.number,
)  # fmt: skip


class World:
    """Three users, each with a session of each visibility with each of two agents."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        for number in PEOPLE[:2]:
            desk.write("Hello", f"m{number}", sender=f"+91980000010{number}")
        first = [UUID(str(one)) for (one,) in desk.rows("SELECT id FROM sessions ORDER BY created_at, id")]
        first.append(visitor_of(desk)[1])
        self.sessions = {
            (person, binding, visibility): another(desk, first[person], visibility, binding)
            for person in PEOPLE for binding in BINDINGS for visibility in VISIBILITIES
        }  # fmt: skip

    def plant(self, plants: Sequence[Planted]) -> None:
        for table in ("facts", "episodes"):
            self.desk.rows(f"DELETE FROM {table} RETURNING 1")
        self.desk.rows("DELETE FROM context_rows WHERE kind = 'episode' RETURNING 1")
        for one in plants:
            session = self.sessions[(one.person, one.binding, "private")]
            if one.kind == "episode":
                episode(self.desk, session, one.words)
            else:
                fact(self.desk, session, f"k{one.number}", one.words, scope=one.kind)

    def told(self, session: UUID) -> str:
        """All that a turn of the session could be told, as a reader who may see everything."""
        desk, now = self.desk, self.desk.clock()
        reader, query = Principal(desk.tenant_id, "user", clearance=RESTRICTED), "What about the crane permit?"
        vector = embed_question(desk.embedder, query)
        assert vector.space == space(desk)
        with desk.database.transaction(reader) as tx:
            found = recall.remembered(tx, session, [query], Policy(), now)
            more = recall.episodes(
                reader, tx, session, query=query, vector=vector, since=0, most=50, now=now
            )  # fmt: skip
        return json.dumps([one.text for one in (*found.items, *more)])


@pytest.fixture
def world(desk: Desk) -> World:
    return World(desk)


@given(PLANTS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nobody_is_told_anybody_elses_memory(world: World, plants: list[Planted]) -> None:
    """Neither another user of the agent, nor the same user with another one, nor a visitor, nor who reads along."""
    world.plant(plants)
    for (person, binding, visibility), session in world.sessions.items():
        told = world.told(session)
        for one in plants:
            same_session = one.kind == "episode" and session == world.sessions[(one.person, one.binding, "private")]
            is_told = f"marker{one.number} " in told
            if same_session:  # it is told word for word there
                continue
            assert is_told == one.is_for(person, binding, visibility), f"{one} in {(person, binding, visibility)}"


@given(st.sampled_from(sorted({(person, binding) for person in PEOPLE for binding in BINDINGS})), st.integers(0, 5))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_further_session_of_the_same_user_and_agent_is_told_and_no_other(
    world: World, owner: tuple[int, str], number: int
) -> None:
    planted = [Planted(*owner, "episode", number + 10), Planted(*owner, "user", number + 20)]
    world.plant(planted)
    for person, binding in sorted({(one, other) for one, other, _ in world.sessions}):
        further = another(world.desk, world.sessions[(person, binding, "private")])
        told = world.told(further)
        assert all((f"marker{one.number} " in told) == ((person, binding) == owner) for one in planted)
