"""A text is sent to be kept once a month and session: what stood in the last prompt is in its record."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.assembly import cache_state, stored_text
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
def visitor(conversation: ConversationHarness) -> Principal:
    return conversation.create_visitor()


def ask(
    conversation: ConversationHarness, visitor: Principal, text: str, after: timedelta = timedelta(seconds=30)
) -> Any:
    """Ask, and have the prompt made again from its record."""
    conversation.clock.now += after
    conversation.send_web(visitor, conversation.find_session(visitor), text)
    conversation.model.script = [text_answer(f"As for that: {text}")]
    conversation.run_turn()
    ((turn,),) = conversation.query("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
    with conversation.database.transaction(conversation.admin) as tx:
        return rebuild_turn_prompt(conversation.admin, tx, UUID(str(turn)))


def test_what_stood_in_the_last_prompt_is_not_sent_again(
    conversation: ConversationHarness, visitor: Principal, sent: list[set[str]]
) -> None:
    assert ask(conversation, visitor, "Who pours on Monday?")["is_identical"]
    assert ask(conversation, visitor, "And on Tuesday?")["is_identical"]
    assert _begin(sent[0], '{"description"') > 1
    assert _begin(sent[0], "# Identity") == 1
    assert _begin(sent[1], '{"description"') == _begin(sent[1], "# Identity") == 0
    assert "And on Tuesday?" in sent[1]


def test_another_month_keeps_its_own(
    conversation: ConversationHarness, visitor: Principal, sent: list[set[str]]
) -> None:
    ask(conversation, visitor, "Who pours on Monday?")
    assert ask(conversation, visitor, "And in a month?", after=timedelta(days=40))["is_identical"]
    assert _begin(sent[1], '{"description"') > 1


def test_texts_that_an_older_release_stored_under_longer_hashes_are_sent_again(
    conversation: ConversationHarness, visitor: Principal, sent: list[set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(stored_text, "HASH_LENGTH", 64)
        older.setattr(cache_state, "HASH_LENGTH", 64)
        ask(conversation, visitor, "Who pours on Monday?")
    assert conversation.query("SELECT count(*) FROM session_prompts WHERE cache_state ? 'hash_length'") == [(0,)]
    assert ask(conversation, visitor, "And on Tuesday?")["is_identical"]
    assert ask(conversation, visitor, "And on Friday?")["is_identical"]
    assert [_begin(texts, "# Identity") for texts in sent] == [1, 1, 0]


def test_what_another_conversation_was_told_is_sent(
    conversation: ConversationHarness, visitor: Principal, sent: list[set[str]]
) -> None:
    ask(conversation, visitor, "Who pours on Monday?")
    assert ask(conversation, conversation.create_visitor(), "Who pours on Monday?")["is_identical"]
    assert "Who pours on Monday?" in sent[0] & sent[1]


def _begin(texts: set[str], beginning: str) -> int:
    """How many of the texts begin so."""
    return sum(one.startswith(beginning) for one in texts)
