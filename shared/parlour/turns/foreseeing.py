"""What a turn recalls is looked for while its material is loaded: what it is asked by is known when the turn begins.

It is foreseen, and no more than that: where the material shows that the question is another one (a clearance was
lowered a moment ago, say), what was found is not used, and it is asked then.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from parlour.infra import log
from parlour.infra.errors import (
    DatabaseUnavailable,
    Misconfigured,
    ProviderRejected,
    ProviderUnavailable,
    StatementTooSlow,
)
from parlour.knowledge.index.embed import Vector, embed_question
from parlour.knowledge.search.question import expand, unsaid
from parlour.knowledge.search.recall import Recalled, recalling
from parlour.principal import Principal
from parlour.turns import polite
from parlour.turns.pointing import points_back
from parlour.turns.records import Earlier, Inbound
from parlour.turns.running import Running


@dataclass(frozen=True, slots=True)
class Question:
    """What recall is asked in a turn.

    query   the user's words, with those before them where they lean on these.
    since   the first turn that is told word for word; 0 where nothing was cut.
    others  the user's other conversations are looked into, too.
    """

    reader: Principal
    query: str
    since: int
    others: bool

    @property
    def looks(self) -> bool:
        """Whether there are messages to look among: some that were cut, or some elsewhere."""
        return self.since > 0 or self.others


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A question that was asked before it was sure to be the turn's; `rows` waits for what was found, None where the
    database could not be asked."""

    question: Question
    vector: Vector | None
    rows: Callable[[], list[Recalled]] | None

    def found(self, question: Question) -> list[Recalled] | None:
        """What answers the question, if it is the one that was asked and the answer came."""
        if question != self.question or self.rows is None:
            return None
        try:
            return self.rows()
        except StatementTooSlow:
            raise  # it would be again
        except DatabaseUnavailable:
            return None


def question(reader: Principal, since: int, asked: Sequence[str]) -> Question | None:
    """The question of a turn; None when nothing was asked. `asked`: what the user wrote last, two messages at most,
    oldest first."""
    now = asked[-1] if asked else ""
    if not now.strip():
        return None
    return Question(reader, expand(now, unsaid(now.strip(), asked)), since, points_back(now))


@contextmanager
def foreseeing(running: Running) -> Iterator[Foreseen | None]:
    """Look for what the turn recalls, beside whatever is done meanwhile. None where there is nothing to look for, where
    the question cannot be foreseen, and where the database's connection was not open when the invocation began: to open
    a second one takes longer than to wait.

    The question is embedded while no transaction is open.
    """
    asked = _foreseen(running) if running.services.database.is_warm else None
    if asked is None or not asked.looks:
        yield None
        return
    with running.stages.timed("recall"):
        vector = vector_of(running, asked.query)
    looking = recalling(
        asked.reader, running.services.database, running.lease.id, query=asked.query, vector=vector, since=asked.since,
        others=asked.others,
    )  # fmt: skip
    with ExitStack() as sent:
        rows = None
        with suppress(DatabaseUnavailable):
            rows = sent.enter_context(looking)
        yield Foreseen(asked, vector, rows)


def vector_of(running: Running, query: str) -> Vector | None:
    """The question's vector; None when the embedder is away, and words alone are searched."""
    services, tenant_id = running.services, running.feed.principal.tenant_id
    try:
        return embed_question(services.embedder(services.database, tenant_id), query)
    except (ProviderUnavailable, ProviderRejected, Misconfigured) as problem:
        log.warning("recall_by_words", turn_id=running.turn.id, code=problem.code)
        log.count("EmbeddingUnavailable")
        return None


def _foreseen(running: Running) -> Question | None:
    known = running.turn.foresight
    if known is None or polite.instead(running.inputs, is_open=bool(known["is_open"])) is not None:
        return None
    before = [Earlier(str(known["kind"]), str(known["body"]))] if known["kind"] else []
    if before and not before[0].body.strip():
        return None  # what it leans on is known once it is loaded
    messages: list[Inbound | Earlier] = [*before, *running.inputs]
    asked = [text for one in messages if (text := polite.as_read(one))][-2:]
    clearance, since = int(str(known["clearance"])), int(str(known["since"]))
    reader = Principal(running.feed.principal.tenant_id, "user", running.lease.user_id, clearance=clearance)
    return question(reader, since, asked)
