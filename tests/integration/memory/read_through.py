"""Conversations that are looked through by a model which says what a test has it say."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from parlour.infra.jsonable import Json, JsonObject
from parlour.memory import waking
from parlour.memory.extracting import extractor
from parlour.memory.order import Order
from parlour.memory.services import Services
from parlour.models.request import Model
from parlour.models.route import OFFLINE
from parlour.tenancy.records import Visibility
from parlour.tenancy.sessions import change
from parlour.tenancy.sessions.change import Change
from tests.desk import Desk, ScriptedModel, says
from tests.integration.memory.silent import services
from tests.integration.talking import Talk

type Said = str | JsonObject | Exception
"""What the model answers: words, an object, or an error."""


def fact(key: str, value: str, *lines: int, confidence: float = 0.9, ends: bool = False) -> JsonObject:
    """As a model gives one."""
    numbers: list[Json] = [*lines]
    return {"key": key, "value": value, "confidence": confidence, "messages": numbers, "ends": ends}


def answer(*facts: JsonObject, episodes: Sequence[tuple[str, Sequence[int]]] = ()) -> JsonObject:
    """The object that is asked for."""
    told: list[Json] = [{"text": text, "messages": [*lines]} for text, lines in episodes]
    return {"facts": [*facts], "episodes": told}


class Conversation(Talk):
    """A visitor's, with what is known of them."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.reader = ScriptedModel()

    @property
    def order(self) -> Order:
        return Order(self.desk.tenant_id, "memory", self.session)

    def look_through(
        self, *answers: Said, after: timedelta = waking.WAIT, models: Mapping[str, Model] | None = None
    ) -> None:
        """As the queue asks for it when the turns are due."""
        self.desk.clock.now += after
        self.reader.script = [one if isinstance(one, Exception) else says(_text(one)) for one in answers]
        known = {"anthropic": self.reader} if models is None else models
        extractor.run(self.services(known), self.order, lambda: 300.0)

    def services(self, models: Mapping[str, Model]) -> Services:
        made = services(self.desk)
        return Services(
            made.database, lambda: models, made.default_cap, made.memory, made.embedding, made.clock, made.new_id,
            made.sleep, made.jitter,
        )  # fmt: skip

    def facts(self) -> dict[str, str]:
        """What is live, by key."""
        rows = self.desk.rows(f"SELECT key, value FROM facts WHERE user_id = '{self.user}' AND valid_until IS NULL")
        return {str(key): str(value) for key, value in rows}

    def decisions(self, origin: str = "extracted") -> list[tuple[object, ...]]:
        """Key and decision, by their keys."""
        return self.desk.rows(
            "SELECT key, decision FROM fact_decisions"
            f" WHERE session_id = '{self.session}' AND origin = '{origin}' ORDER BY key, decision"
        )

    def due(self) -> list[tuple[object, ...]]:
        return self.desk.rows(f"SELECT due_at FROM work_due WHERE kind = 'memory' AND id = '{self.session}'")

    def attempts(self) -> list[tuple[object, ...]]:
        """How many failed in a row, and the last error."""
        return self.desk.rows(f"SELECT failures, problem FROM work_due WHERE kind = 'memory' AND id = '{self.session}'")

    def episodes(self) -> list[tuple[object, ...]]:
        return self.desk.rows(f"SELECT text, folded FROM episodes WHERE session_id = '{self.session}' ORDER BY id")

    def asked(self) -> str:
        """What the reader was given last."""
        return str(self.reader.requests[-1].messages[0])

    def share(self, visibility: Visibility = "shared") -> None:
        """Let others read it, or none any more."""
        with self.desk.database.transaction(self.visitor) as tx:
            change.change(self.visitor, tx, self.session, Change(visibility=visibility), self.desk.clock())


NO_MODEL: Mapping[str, Any] = {OFFLINE: ScriptedModel()}
"""A deployment without a key."""


def _text(one: str | JsonObject) -> str:
    return one if isinstance(one, str) else json.dumps(one)
