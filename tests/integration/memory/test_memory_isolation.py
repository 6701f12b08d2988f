"""Memory reaches its own user with its own agent, and nobody else: whoever they are, wherever it was planted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parlour.memory.memory_policy import MemoryPolicy
from parlour.memory.recall import recall
from parlour.memory.recall.store import EpisodeQuery
from parlour.principal import RESTRICTED, Principal
from parlour.search.index.embedders import embed_query
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.memory_rows import add_episode, add_fact, add_session, embedding_space, find_visitor

PEOPLE, BINDINGS, VISIBILITIES = range(3), ("site-desk", "contract-desk"), ("private", "shared", "role_gated")
"""The first two users write on WhatsApp, and the third is a visitor on the web."""


@dataclass(frozen=True)
class PlantedMemory:
    """Something that is remembered: of whom, with which agent, and for whom it is."""

    person: int
    binding: str
    memory_kind: str
    number: int

    @property
    def text(self) -> str:
        """No two have these in common, and every question shares a word with all."""
        return f"The crane permit marker{self.number} of {self.memory_kind}"

    def is_visible_to(self, person: int, binding: str, visibility: str) -> bool:
        """Whether a session of that person with that agent may be told."""
        if self.memory_kind in {"human", "team"}:
            return binding == self.binding
        return (person, binding, visibility) == (self.person, self.binding, "private")


PLANTS = st.lists(
    st.builds(
        PlantedMemory,
        st.sampled_from(PEOPLE),
        st.sampled_from(BINDINGS),
        st.sampled_from(["user", "user", "episode", "episode", "human", "team"]),
        st.integers(1, 99),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda one: one.number,
)


class MemoryWorld:
    """Three users, each with a session of each visibility with each of two agents."""

    def __init__(self, conversation: ConversationHarness) -> None:
        self.desk = conversation
        for number in PEOPLE[:2]:
            conversation.send_whatsapp("Hello", f"m{number}", sender=f"+91980000010{number}")
        first = [UUID(str(one)) for (one,) in conversation.query("SELECT id FROM sessions ORDER BY created_at, id")]
        first.append(find_visitor(conversation)[1])
        self.sessions = {
            (person, binding, visibility): add_session(conversation, first[person], visibility, binding)
            for person in PEOPLE
            for binding in BINDINGS
            for visibility in VISIBILITIES
        }

    def add_all(self, plants: Sequence[PlantedMemory]) -> None:
        for table in ("facts", "episodes"):
            self.desk.query(f"DELETE FROM {table} RETURNING 1")
        self.desk.query("DELETE FROM context_rows WHERE kind = 'episode' RETURNING 1")
        for one in plants:
            session = self.sessions[(one.person, one.binding, "private")]
            if one.memory_kind == "episode":
                add_episode(self.desk, session, one.text)
            else:
                add_fact(self.desk, session, f"k{one.number}", one.text, scope=one.memory_kind)

    def recalled_text(self, session: UUID) -> str:
        """All that a turn of the session could be told, as a reader who may see everything."""
        desk, now = self.desk, self.desk.clock()
        reader, query = Principal(desk.tenant_id, "user", clearance=RESTRICTED), "What about the crane permit?"
        vector = embed_query(desk.embedder, query)
        assert vector.space == embedding_space(desk)
        with desk.database.transaction(reader) as tx:
            found = recall.recall_memory(tx, session, [query], MemoryPolicy(), now)
            more = recall.recall_episodes(
                reader, tx, session, EpisodeQuery(text=query, vector=vector, first_verbatim_turn=0, limit=50), now
            )
        return json.dumps([one.text for one in (*found.items, *more)])


@pytest.fixture
def world(conversation: ConversationHarness) -> MemoryWorld:
    return MemoryWorld(conversation)


@given(PLANTS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nobody_is_told_anybody_elses_memory(world: MemoryWorld, plants: list[PlantedMemory]) -> None:
    """Neither another user of the agent, nor the same user with another one, nor a visitor, nor who reads along."""
    world.add_all(plants)
    for (person, binding, visibility), session in world.sessions.items():
        told = world.recalled_text(session)
        for one in plants:
            same_session = (
                one.memory_kind == "episode" and session == world.sessions[(one.person, one.binding, "private")]
            )
            is_told = f"marker{one.number} " in told
            if same_session:  # it is told word for word there
                continue
            assert is_told == one.is_visible_to(person, binding, visibility), (
                f"{one} in {(person, binding, visibility)}"
            )


@given(st.sampled_from(sorted({(person, binding) for person in PEOPLE for binding in BINDINGS})), st.integers(0, 5))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_further_session_of_the_same_user_and_agent_is_told_and_no_other(
    world: MemoryWorld, owner: tuple[int, str], number: int
) -> None:
    planted = [PlantedMemory(*owner, "episode", number + 10), PlantedMemory(*owner, "user", number + 20)]
    world.add_all(planted)
    for person, binding in sorted({(one, other) for one, other, _ in world.sessions}):
        further = add_session(world.desk, world.sessions[(person, binding, "private")])
        told = world.recalled_text(further)
        assert all((f"marker{one.number} " in told) == ((person, binding) == owner) for one in planted)
