"""A text is sent to be kept once a month and session: what stood in the last prompt is in its record."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.ledger import store
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from parlour.prompts.ledger.store import PromptWrites
from tests.conversation_harness import ConversationHarness, text_answer


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The texts that came with each prompt's record."""
    found: list[set[str]] = []
    keep = store.insert_prompt_record

    def watched(tx: Transaction, writes: PromptWrites) -> None:
        found.append({*writes.texts.values()})
        keep(tx, writes)

    monkeypatch.setattr(store, "insert_prompt_record", watched)
    return found


@pytest.fixture
def visitor(desk: ConversationHarness) -> Principal:
    return desk.create_visitor()


def ask(desk: ConversationHarness, visitor: Principal, text: str, after: timedelta = timedelta(seconds=30)) -> Any:
    """Ask, and have the prompt made again from its record."""
    desk.clock.now += after
    desk.send_web(visitor, desk.find_session(visitor), text)
    desk.model.script = [text_answer(f"As for that: {text}")]
    desk.run_turn()
    ((turn,),) = desk.query("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
    with desk.database.transaction(desk.admin) as tx:
        return rebuild_turn_prompt(desk.admin, tx, UUID(str(turn)))


def test_what_stood_in_the_last_prompt_is_not_sent_again(
    desk: ConversationHarness, visitor: Principal, sent: list[set[str]]
) -> None:  # fmt: skip
    assert ask(desk, visitor, "Who pours on Monday?")["matches"]
    assert ask(desk, visitor, "And on Tuesday?")["matches"]
    assert _begin(sent[0], '{"description"') > 1
    assert _begin(sent[0], "# Identity") == 1
    assert _begin(sent[1], '{"description"') == _begin(sent[1], "# Identity") == 0
    assert "And on Tuesday?" in sent[1]


def test_another_month_keeps_its_own(desk: ConversationHarness, visitor: Principal, sent: list[set[str]]) -> None:
    ask(desk, visitor, "Who pours on Monday?")
    assert ask(desk, visitor, "And in a month?", after=timedelta(days=40))["matches"]
    assert _begin(sent[1], '{"description"') > 1


def test_what_another_conversation_was_told_is_sent(
    desk: ConversationHarness, visitor: Principal, sent: list[set[str]]
) -> None:
    ask(desk, visitor, "Who pours on Monday?")
    assert ask(desk, desk.create_visitor(), "Who pours on Monday?")["matches"]
    assert "Who pours on Monday?" in sent[0] & sent[1]


def _begin(texts: set[str], beginning: str) -> int:
    """How many of the texts begin so."""
    return sum(one.startswith(beginning) for one in texts)
