"""What a conversation may begin with: the candidates of its briefing, and what changed since that was written."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from parlour.context import scope, tokens
from parlour.context.pins import Pinned
from parlour.context.scope import Scope
from parlour.context.segment import Item, Lot, Source
from parlour.infra.postgres import Transaction
from parlour.knowledge.around import around
from parlour.knowledge.around.around import Near
from parlour.knowledge.documents import catalogue, tree
from parlour.knowledge.records.linked import Focus
from parlour.knowledge.records.linked_text import briefings
from parlour.knowledge.records.record import PROJECT
from parlour.knowledge.tools.get_linked_entities import GET_LINKED_ENTITIES
from parlour.principal import Principal
from parlour.pulse.reading import read
from parlour.pulse.told import told
from parlour.tenancy.bindings import Persona
from parlour.tools.definition import Tool

_TREE_TOKENS = (800, 300)
"""What a project's tree of documents may take of its briefing, and what where there is less room."""

_NO_DOCUMENTS = "(no documents yet)"
_LOTS = {
    "distillation": Lot.DISTILLATIONS, "file": Lot.PROJECT_FILES, "recent": Lot.RECENT, "nearest": Lot.NEAREST,
    "change": Lot.DELTAS, "project": Lot.PROJECTS,
}  # fmt: skip
_TABLES = {"file": "files", "project": "entities"}


def scope_of(about: Focus | None) -> Scope:
    """What the conversation is about: many projects, one, or a record."""
    if about is None:
        return "global"
    return "project" if _is_project(about) else "entity"


def candidates(about: Focus | None, listed: Sequence[Tool]) -> list[Item]:
    """Candidates for the briefing: what decides whether it is rendered anew."""
    if about is None:
        return []
    record = Item(Lot.RECORD, about.text, Source("entities", str(about.id)), title=about.linked.handle)
    return [record, *_linked(about, listed)]


def further(
    principal: Principal, tx: Transaction, about: Focus | None, persona: Persona, listed: Sequence[Tool], now: datetime
) -> list[Item]:
    """Candidates for a briefing that is rendered anew, beside the others: the record's Pulse, for this is a look
    at it, a project's documents, and what stands around the record."""
    if about is None:
        knows = any(tool.name == "list_entities" for tool in listed)
        return [_item(one) for one in around.projects(principal, tx)] if knows else []
    pulse = _pulse(principal, tx, about, now) if about.pulse else []
    near = around.around(principal, tx, about.id, team_id=persona.team.id, is_project=_is_project(about))
    items = [*pulse, *_documents(tx, principal, about, persona), *map(_item, near)]
    scope.check(scope_of(about), [*candidates(about, listed), *items])
    return items


def since(principal: Principal, tx: Transaction, pinned: Pinned | None) -> tuple[list[Item], bool]:
    """What changed on the records of a briefing after it was rendered, oldest first, and whether anything that it tells
    of is gone or above the reader's clearance by now."""
    if pinned is None:
        return [], False
    sources = [(one.table, one.id) for one in pinned.sources]
    found = around.since(principal, tx, pinned.at, sources, follows=bool(pinned.about))
    return [_item(one) for one in reversed(found.changes)], bool(found.gone)


def _pulse(principal: Principal, tx: Transaction, about: Focus, now: datetime) -> list[Item]:
    """The record's Pulse, and what came since in one line; nothing without one, but the look at it counts."""
    read.note(tx, about.id, now)
    found = read.seen(principal, tx, about.id)
    if found is None or found.pulse is None:
        return []
    pulse, version = found.pulse, Source("pulses", str(about.id), found.pulse.version)
    text, also = told(pulse, tokens.count), _still_there(principal, tx, _sources(pulse.told_of), now)
    items = [Item(Lot.PULSE, text, version, level=pulse.level, title="Pulse", also=also)]
    if found.since:
        rows = [row for one in found.changes for row in one.rows]
        since = Source("pulse_changes", str(about.id), pulse.version)
        level = max((one.level for one in found.changes), default=0)
        items.append(
            Item(Lot.SINCE_PULSE, found.since, since, level=level, title="changed since the Pulse", also=_sources(rows))
        )
    return items


def _still_there(
    principal: Principal, tx: Transaction, sources: Sequence[Source], now: datetime
) -> tuple[Source, ...]:  # fmt: skip
    """Those that were not deleted: a Pulse may tell of a deletion, and that is no news which has it told anew."""
    found = around.since(principal, tx, now, [(one.table, one.id) for one in sources], follows=False)
    return tuple(one for one in sources if (one.table, one.id) not in found.gone)


def _linked(about: Focus, listed: Sequence[Tool]) -> list[Item]:
    more = any(tool.name == GET_LINKED_ENTITIES.name for tool in listed)
    texts = list(briefings(about.linked, hint=more))
    if not texts:
        return []
    also = tuple(Source("handles", one.handle) for one in about.linked.records)
    source = Source("edges", str(about.id))
    return [Item(Lot.LINKED, texts[0], source, tuple(texts[1:]), title="linked records", also=also)]


def _documents(tx: Transaction, principal: Principal, about: Focus, persona: Persona) -> list[Item]:
    """The tree of documents of a project, and again shorter; nothing of any other kind of record."""
    if not _is_project(about):
        return []
    lines = catalogue.lines_of(principal, tx, about.id, persona.team.id)
    outlines = [tree.outline(lines, most, tokens.count) for most in _TREE_TOKENS]
    texts = [text for text in dict.fromkeys(outlines) if text] or [_NO_DOCUMENTS]
    also = tuple(Source("handles", one.handle) for one in lines if one.handle in texts[0])
    return [Item(Lot.TREE, texts[0], Source("trees", str(about.id)), tuple(texts[1:]), title="documents", also=also)]


def _is_project(about: Focus) -> bool:
    return about.linked.handle.startswith(f"{PROJECT}/")


def _item(near: Near) -> Item:
    source = Source(_TABLES.get(near.part, "context_rows"), str(near.id))
    text = f"- {near.title}: {near.content}" if near.part == "project" else near.content
    return Item(
        _LOTS[near.part], text, source, score=near.score, level=near.classification, title=near.title,
        also=_sources(near.owners),
    )  # fmt: skip


def _sources(rows: Iterable[str]) -> tuple[Source, ...]:
    """Rows that are named as `table/id`."""
    return tuple(Source(table, one) for table, _, one in (row.partition("/") for row in dict.fromkeys(rows)))
