"""What a turn's prompts have in common is decided once where nothing speaks against it."""

from collections import Counter
from typing import Any

import pytest

from parlour.prompts.assembly.assembler import prepare_turn
from parlour.prompts.ledger import prompt_builder
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.memory.long_conversation import LongConversation, summary_answer


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often it was decided."""
    counted: Counter[str] = Counter()

    def count(*given: Any) -> Any:
        counted["begun"] += 1
        return prepare_turn(*given)

    monkeypatch.setattr(prompt_builder, "prepare_turn", count)
    return counted


@pytest.fixture
def talk(conversation: ConversationHarness) -> LongConversation:
    """A conversation about a project."""
    talk = LongConversation(conversation)
    about = "(SELECT id FROM entities WHERE key = 'NRS')"
    conversation.query(f"UPDATE sessions SET entity_id = {about} WHERE id = '{talk.session}' RETURNING id")
    return talk


def deliver(talk: LongConversation, first: int, last: int) -> None:
    for number in range(first, last + 1):
        talk.ask(f"Delivery {number} came.", text_answer("Noted."), pause=20)


@pytest.mark.parametrize("profile", ["entity", "messaging"])
def test_a_turn_is_begun_once(
    conversation: ConversationHarness, talk: LongConversation, decided: Counter[str], profile: str
) -> None:
    """Also where the briefing is rendered anew for a cause that is known before."""
    conversation.query(f'UPDATE agents SET budget = \'{{"profile": "{profile}"}}\' RETURNING 1')
    read = conversation.database.statements.by_name
    talk.ask("Who pours?")
    assert (decided["begun"], read["neighbours.find_neighbours"]) == (1, 1)
    talk.ask("And tomorrow?")
    assert (decided["begun"], read["neighbours.find_neighbours"]) == (2, 1)
    talk.ask("And on Friday?", pause=20 * 60)
    assert (decided["begun"], read["neighbours.find_neighbours"]) == (3, 2)


def test_what_stands_further_around_is_read_once_the_history_turns_out_to_be_cut(
    conversation: ConversationHarness, talk: LongConversation, decided: Counter[str]
) -> None:
    read = conversation.database.statements.by_name
    deliver(talk, 1, 10)
    assert (decided["begun"], read["neighbours.find_neighbours"]) == (10, 1)
    talk.run_summary_job(summary_answer("Deliveries came."))
    deliver(talk, 11, 12)
    assert (decided["begun"], read["neighbours.find_neighbours"]) == (13, 2)
    ((since,),) = conversation.query(
        "SELECT (cache_state -> 'compacted_history' ->> 'since_turn')::int FROM session_prompts"
    )
    assert int(str(since)) > 1


def test_one_whose_summary_never_came_is_begun_once_until_it_is_cut_all_the_same(
    conversation: ConversationHarness, talk: LongConversation, decided: Counter[str]
) -> None:
    read = conversation.database.statements.by_name
    deliver(talk, 1, 16)
    assert (decided["begun"], read["neighbours.find_neighbours"]) == (16, 1)
    deliver(talk, 17, 17)
    assert (decided["begun"], read["neighbours.find_neighbours"]) == (18, 2)


def test_a_turn_that_is_reminded_of_something_is_begun_with_it(talk: LongConversation, decided: Counter[str]) -> None:
    """Once more where its history turns out to be cut, and where nothing is found it stays at what was decided."""
    deliver(talk, 1, 10)
    talk.run_summary_job(summary_answer("Deliveries came."))
    deliver(talk, 11, 12)
    before = decided["begun"]
    talk.ask("What did I say of deliveries?")
    assert decided["begun"] == before + 1
    deliver(talk, 13, 16)
    talk.run_summary_job(summary_answer("More deliveries came."))
    before = decided["begun"]
    deliver(talk, 17, 17)
    assert decided["begun"] == before + 2
