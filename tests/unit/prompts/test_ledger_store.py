"""How a prompt's record is written down."""

from typing import Any, cast
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.prompts.ledger import store
from parlour.prompts.ledger.store import LedgerRow, PromptWrites, StepRequest, StoredCacheState
from tests.conftest import NOW

_ID = UUID(int=1)


class Recording:
    """Keeps the parameters of what is run."""

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}

    def run(self, _: object, **parameters: object) -> int:
        self.parameters = parameters
        return 1


def test_texts_are_written_in_one_order_whatever_the_prompts() -> None:
    """Two turns that write the same new texts in different orders would wait for each other."""
    asking, row = StepRequest(_ID, _ID, "anthropic", "m", NOW), LedgerRow(1, NOW.date(), NOW, "m", "h", None, b"")
    written = []
    for blobs in ({"b": "second", "a": "first"}, {"a": "first", "b": "second"}):
        recording = Recording()
        writes = PromptWrites(asking, row, blobs, StoredCacheState({}, None), has_new_briefing=False, look_at=NOW)
        store.insert_prompt_record(cast("Transaction", recording), writes)
        written.append(list(recording.parameters["texts"].obj.items()))
    assert written == [[("a", "first"), ("b", "second")]] * 2
