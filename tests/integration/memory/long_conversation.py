"""A visitor's long conversation with the site desk, and the writer of its summary."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from parlour.infra.json_values import JsonObject, canonical_json
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.memory_job import MemoryJob
from parlour.memory.summaries import summary_job
from parlour.models.model import Model, ModelRequest
from parlour.prompts.ledger.explanation import explain_turn
from tests.conversation_harness import ConversationHarness, ScriptedModel, text_answer


class LongConversation:
    """The conversation; `summariser` is the model that writes of it."""

    def __init__(self, conversation: ConversationHarness) -> None:
        self.desk, self.visitor = conversation, conversation.create_visitor()
        self.session = conversation.find_session(self.visitor)
        self.summariser = ScriptedModel()

    def ask(self, text: str, *script: Sequence[JsonObject], pause: float = 30) -> str:
        """One turn; its first prompt, as text."""
        self.desk.clock.now += timedelta(seconds=pause)
        self.desk.send_web(self.visitor, self.session, text)
        before = len(self.desk.model.requests)
        self.desk.model.script = [*script] or [text_answer("Very well.")]
        self.desk.run_turn()
        return request_text(self.desk.model.requests[before])

    def run_turns(self, turns: int, first: int = 1) -> str:
        """So many turns about one thing after the other; the last one's prompt."""
        asked = ""
        for number in range(first, first + turns):
            asked = self.ask(f"What of tower {number}?", text_answer(f"Tower {number} stands."))
        return asked

    def run_summary_job(self, *answers: str | Exception, models: Mapping[str, Model] | None = None) -> None:
        """The writer's turn at the session, with these answers of its model."""
        given: Mapping[str, Model] = {"anthropic": self.summariser} if models is None else models
        self.summariser.script = [one if isinstance(one, Exception) else text_answer(one) for one in answers]
        order = MemoryJob(self.desk.tenant_id, "summary", self.session)
        summary_job.run_summary(make_memory_dependencies(self.desk, given), order, lambda: 600.0)

    def summariser_prompt(self, place: int = -1) -> str:
        """What the summariser was asked."""
        return request_text(self.summariser.requests[place])

    def versions(self) -> list[tuple[object, ...]]:
        return self.desk.query(
            f"SELECT version, until_turn, text FROM summaries WHERE session_id = '{self.session}' ORDER BY 1"
        )

    def key_details(self, *, missing_from_summary: bool = True) -> list[str]:
        """What is kept word for word and no summary says."""
        of = f"session_id = '{self.session}' AND missing_from_summary = {missing_from_summary}"
        found = self.desk.query(f"SELECT DISTINCT text FROM summary_key_details WHERE {of} ORDER BY 1")
        return [str(text) for (text,) in found]

    def due_rows(self) -> list[tuple[object, ...]]:
        return self.desk.query(f"SELECT due_at FROM work_due WHERE kind = 'summary' AND id = '{self.session}'")

    def explain_prompt(self) -> dict[str, Any]:
        """The newest turn's first prompt, as an operator sees it."""
        ((turn,),) = self.desk.query("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
        with self.desk.database.transaction(self.desk.admin) as tx:
            told: Any = explain_turn(self.desk.admin, tx, UUID(str(turn)))["steps"]
        first: dict[str, Any] = told[0]
        return first


def make_memory_dependencies(conversation: ConversationHarness, models: Mapping[str, Model]) -> MemoryDependencies:
    """What the work of memory runs with."""
    return MemoryDependencies(
        conversation.database,
        lambda: models,
        Decimal(20),
        conversation.memory,
        conversation.embedding,
        conversation.clock,
        lambda _: None,
        lambda low, _: low,
    )


def summary_answer(summary: str, **more: object) -> str:
    """An answer of the summariser's."""
    return json.dumps({"summary": summary, **more})


def request_text(request: ModelRequest) -> str:
    return canonical_json([list(request.tools), list(request.system), list(request.messages)])
