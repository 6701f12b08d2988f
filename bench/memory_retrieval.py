"""How much of what answers a question a turn's memory brings along: messages and anchors of a conversation, one after
another (`memory` in the figures of `bench.retrieval`).

The conversation of each scope is as the embedder leaves it. Asked is what a turn asks as it begins: `recall` for what
was said. Then every fifty messages get their anchor as the summariser writes it.

A message is found by itself, or by an anchor that has its line. Within a budget, of messages and anchors as many count
as fit it, the best first.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import batched
from uuid import UUID

from bench.corpus_format import Question, Text
from bench.corpus_ingestion import Shelf, embed
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.memory.summaries import anchors
from parlour.memory.summaries import store as summaries
from parlour.memory.summaries.summary_window import WindowMessage, WindowTurn
from parlour.prompts.assembly import recap
from parlour.search import store
from parlour.search.index.embedders import Embedder, embed_query
from parlour.search.query_expansion import expand_query, select_expansion
from parlour.search.recall import MAX_CANDIDATES
from parlour.search.recalled_messages import RecalledMessage
from parlour.text import token_counter

MOST = 6
"""Messages that a turn is told of at most, as `recall` has it; an anchor comes beside them."""

BUDGETS = (500, 1_000, 2_000)
"""What layer 5 has at least, in between, and before others leave it something."""

_LONG = 40
"""Rows that are looked at for the budgets: more than a turn is told of, so that the budget decides."""

_TITLE = "Conversation"


@dataclass
class Part:
    """Of each question the share of its relevant messages that came along: among the best six, and within budgets."""

    told: list[float] = field(default_factory=list)
    within: dict[int, list[float]] = field(default_factory=lambda: {budget: [] for budget in BUDGETS})

    def figures(self) -> dict[str, object]:
        """In percent."""
        return {
            f"recall_at_{MOST}": _percent(self.told),
            "recall_within_tokens": {str(budget): _percent(parts) for budget, parts in self.within.items()},
            "queries": len(self.told),
        }


@dataclass
class Memory:
    """The conversations of a corpus. texts: of each scope its messages; lines: which of them stand in which anchor."""

    database: Database
    embedder: Embedder
    shelves: dict[str, Shelf]
    texts: dict[str, list[Text]]
    lines: dict[UUID, frozenset[str]] = field(default_factory=dict)

    def measure(self, questions: Sequence[Question]) -> dict[str, Part]:
        """What comes along by messages alone, and with anchors."""
        parts = {"messages": Part(), "with anchors": Part()}
        self._ask(questions, parts["messages"])
        for scope in self.texts:
            self._anchor(scope)
        self._ask(questions, parts["with anchors"])
        return parts

    def _ask(self, questions: Sequence[Question], part: Part) -> None:
        for question in questions:
            shelf, wanted = self.shelves[question.scope], question.relevant
            part.told.append(self._share(shelf, self._rows(shelf, question, MOST), wanted))
            rows = self._rows(shelf, question, _LONG)
            for budget, shares in part.within.items():
                shares.append(self._share(shelf, _fitting(rows, budget), wanted))

    def _rows(self, shelf: Shelf, question: Question, most: int) -> list[RecalledMessage]:
        query = expand_query(question.text, select_expansion(question.text, question.previous))
        vector = embed_query(self.embedder, query)
        with self.database.transaction(shelf.principal) as tx:
            return store.find_recalled_messages(
                tx,
                shelf.session_id,
                query,
                vector,
                clearance=shelf.principal.clearance,
                since=1,
                others=False,
                most=most,
                pool=MAX_CANDIDATES,
                sessions=0,
            )

    def _share(self, shelf: Shelf, rows: Iterable[RecalledMessage], wanted: frozenset[str]) -> float:
        found: set[str] = set()
        for row in rows:
            found |= self.lines.get(row.row_id, frozenset()) if row.message_id is None else {shelf.line_of(row)}
        return len(wanted & found) / len(wanted)

    def _anchor(self, scope: str) -> None:
        """An anchor for every fifty messages; one text is one turn here."""
        shelf, now = self.shelves[scope], datetime.now(UTC)
        for number, own in enumerate(batched(self.texts[scope], anchors.ANCHOR_INTERVAL, strict=False), start=1):
            if len(own) < anchors.ANCHOR_INTERVAL:
                continue
            first = (number - 1) * anchors.ANCHOR_INTERVAL + 1
            turns = [_turn(one, first + place, now) for place, one in enumerate(own)]
            draft = anchors.build_anchor(turns, number, first, _TITLE, "", 0)
            if draft is None:
                continue
            row_id = uuid7(now)
            with self.database.transaction(shelf.principal) as tx:
                summaries.add_anchor(tx, row_id, shelf.session_id, draft, now)
            self.lines[row_id] = frozenset(one.id for one in own if recap.recap_message(_told(one)) in draft.content)
        while embed(self.database, self.embedder, shelf.principal):
            pass


def as_figures(parts: Mapping[str, Part]) -> dict[str, object]:
    """What is printed and written: each way, and what it adds to the one before, in points."""
    figures: dict[str, object] = {name: part.figures() for name, part in parts.items()}
    pairs = list(parts.items())
    figures["gain"] = {
        name: {
            f"recall_at_{MOST}": round(_percent(part.told) - _percent(before.told), 1),
            "recall_within_tokens": {
                str(budget): round(_percent(shares) - _percent(before.within[budget]), 1)
                for budget, shares in part.within.items()
            },
        }
        for (_, before), (name, part) in itertools.pairwise(pairs)
    }
    return figures


def _turn(one: Text, number: int, now: datetime) -> WindowTurn:
    spoken = WindowMessage(uuid7(now), _told(one), False, one.sent_at or now)
    return WindowTurn(uuid7(now), number, (spoken,), message_count=1)


def _told(one: Text) -> str:
    return f"{one.speaker}: {one.text}" if one.speaker else one.text


def _fitting(rows: Sequence[RecalledMessage], budget: int) -> list[RecalledMessage]:
    """The first rows that together fit the budget."""
    kept: list[RecalledMessage] = []
    for row in rows:
        budget -= token_counter.count_plain_tokens(row.content)
        if budget < 0:
            break
        kept.append(row)
    return kept


def _percent(parts: Sequence[float]) -> float:
    return round(100 * sum(parts) / max(1, len(parts)), 1)
