"""Conversations that are looked through by a model which says what a test has it say."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from parlour.conversations.sessions import session_update
from parlour.conversations.sessions.session_update import SessionUpdate
from parlour.infra.json_values import Json, JsonObject
from parlour.memory import job_scheduling
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.extraction import extraction_job
from parlour.memory.memory_job import MemoryJob
from parlour.models.model import Model
from parlour.models.model_routing import OFFLINE_PROVIDER
from parlour.tenancy.rows import SessionVisibility
from tests.conversation_harness import ConversationHarness, ScriptedModel, text_answer
from tests.integration.memory.silent_conversation import make_memory_dependencies
from tests.integration.web_conversation import WebConversation

type ScriptedAnswer = str | JsonObject | Exception
"""What the model answers: words, an object, or an error."""


def proposed_fact(
    key: str, value: str, line: int, quote: str = "", *, certainty: float = 0.9, **answers: str
) -> JsonObject:
    """Return a proposal as a model gives one; by default its quote is its value.

    answers: subject, polarity, duration, until, where they are not "self", "holds" and "lasting".
    """
    return {
        "message": line,
        "quote": quote or value,
        "subject": "self",
        "polarity": "holds",
        "duration": "lasting",
        "certainty": certainty,
        "key": key,
        "value": value,
        **answers,
    }


def second_answers(*answers: str) -> JsonObject:
    """Return what the second look says, note by note."""
    return {str(number): answer for number, answer in enumerate(answers, 1)}


def extraction_answer(*facts: JsonObject, episodes: Sequence[tuple[str, Sequence[int]]] = ()) -> JsonObject:
    """The object that is asked for."""
    told: list[Json] = [{"text": text, "messages": [*lines]} for text, lines in episodes]
    return {"facts": [*facts], "episodes": told}


class ExtractionConversation(WebConversation):
    """A visitor's, with what is known of them."""

    def __init__(self, conversation: ConversationHarness) -> None:
        super().__init__(conversation)
        self.reader = ScriptedModel()

    @property
    def memory_job(self) -> MemoryJob:
        return MemoryJob(self.desk.tenant_id, "extraction", self.session)

    def run_extraction(
        self,
        *answers: ScriptedAnswer,
        after: timedelta = job_scheduling.EXTRACTION_DELAY,
        models: Mapping[str, Model] | None = None,
    ) -> None:
        """As the queue asks for it when the turns are due."""
        self.desk.clock.now += after
        self.reader.script = [one if isinstance(one, Exception) else text_answer(_text(one)) for one in answers]
        known = {"anthropic": self.reader} if models is None else models
        extraction_job.run_extraction(self.make_dependencies(known), self.memory_job, lambda: 300.0)

    def make_dependencies(self, models: Mapping[str, Model]) -> MemoryDependencies:
        made = make_memory_dependencies(self.desk)
        return MemoryDependencies(
            made.database,
            lambda: models,
            made.default_cap,
            made.memory_queue,
            made.embedder_queue,
            made.clock,
            made.sleep,
            made.jitter,
        )

    def facts(self) -> dict[str, str]:
        """What is live, by key."""
        rows = self.desk.query(f"SELECT key, value FROM facts WHERE user_id = '{self.user}' AND valid_until IS NULL")
        return {str(key): str(value) for key, value in rows}

    def decisions(self, origin: str = "extracted") -> list[tuple[object, ...]]:
        """Key and decision, by their keys."""
        return self.desk.query(
            "SELECT key, decision FROM fact_decisions"
            f" WHERE session_id = '{self.session}' AND origin = '{origin}' ORDER BY key, decision"
        )

    def due_rows(self) -> list[tuple[object, ...]]:
        return self.desk.query(f"SELECT due_at FROM work_due WHERE kind = 'extraction' AND id = '{self.session}'")

    def attempts(self) -> list[tuple[object, ...]]:
        """How many failed in a row, and the last error."""
        return self.desk.query(
            f"SELECT failures, problem FROM work_due WHERE kind = 'extraction' AND id = '{self.session}'"
        )

    def episodes(self) -> list[tuple[object, ...]]:
        return self.desk.query(
            f"SELECT text, merged_count FROM episodes WHERE session_id = '{self.session}' ORDER BY id"
        )

    def last_prompt(self) -> str:
        """What the reader was given last."""
        return str(self.reader.requests[-1].messages[0])

    def set_visibility(self, visibility: SessionVisibility = "shared") -> None:
        """Let others read it, or none any more."""
        with self.desk.database.transaction(self.visitor) as tx:
            session_update.update_session(
                self.visitor, tx, self.session, SessionUpdate(visibility=visibility), self.desk.clock()
            )


NO_MODEL: Mapping[str, Any] = {OFFLINE_PROVIDER: ScriptedModel()}
"""A deployment without a key."""


def _text(one: str | JsonObject) -> str:
    return one if isinstance(one, str) else json.dumps(one)
