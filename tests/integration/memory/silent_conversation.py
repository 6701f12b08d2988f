"""Long conversations that fell silent, and the work of memory on them."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.extraction import consolidation_job
from parlour.memory.memory_job import MemoryJob
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.web_conversation import WebConversation


def make_memory_dependencies(conversation: ConversationHarness) -> MemoryDependencies:
    return MemoryDependencies(
        database=conversation.database,
        models=lambda: {"anthropic": conversation.model},
        default_cap=Decimal(20),
        memory_queue=conversation.memory,
        embedder_queue=conversation.embedding,
        clock=conversation.clock,
        sleep=lambda _: None,
        jitter=lambda low, _: low,
    )


class SilentConversation(WebConversation):
    """A visitor's conversation of some turns."""

    def __init__(self, conversation: ConversationHarness, turns: int = 0) -> None:
        super().__init__(conversation)
        for number in range(turns):
            self.say(f"Line {number} of the talk.")

    def say(self, text: str, *script: list[Any]) -> UUID:
        """A message and its turn, which is looked through at once."""
        message = super().say(text, *script)
        with self.desk.database.transaction(self.desk.tenant_id) as tx:
            consolidation_job.schedule_consolidation(tx, self.session)
        return message

    def fall_silent(self, hours: float = 25) -> None:
        self.desk.clock.now += timedelta(hours=hours)

    def run_consolidation(self, *answers: JsonObject | str) -> None:
        """As the queue asks for it; the model gives these answers."""
        desk = self.desk
        desk.model.requests.clear()
        desk.model.script = [text_answer(one if isinstance(one, str) else json.dumps(one)) for one in answers]
        consolidation_job.run_consolidation(
            make_memory_dependencies(desk), MemoryJob(desk.tenant_id, "consolidation", self.session), lambda: 300.0
        )

    def due_rows(self, kind: str) -> list[tuple[object, ...]]:
        return self.desk.query(f"SELECT due_at FROM work_due WHERE kind = '{kind}' AND id = '{self.session}'")
