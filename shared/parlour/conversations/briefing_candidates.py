"""What a conversation may begin with: the candidates of its briefing, and what changed since that was written."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from parlour.documents import catalogue, tree
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.assembly import briefing_scope
from parlour.prompts.assembly.briefing_cache import CachedBriefing
from parlour.prompts.assembly.briefing_scope import BriefingScope
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.pulse.briefing_text import render_for_briefing
from parlour.pulse.reading import pulse_view
from parlour.records.linked_records import FocusRecord
from parlour.records.linked_records_text import render_variants
from parlour.records.neighbours import neighbourhood
from parlour.records.neighbours.neighbourhood import Neighbour
from parlour.records.record import PROJECT_TYPE
from parlour.tenancy.bindings import Persona
from parlour.text import token_counter
from parlour.tools.builtin.get_linked_entities import GET_LINKED_ENTITIES
from parlour.tools.tool_definition import Tool

_TREE_TOKEN_LIMITS = (800, 300)
"""What a project's tree of documents may take of its briefing, and what where there is less room."""

_NO_DOCUMENTS = "(no documents yet)"
_KIND_BY_CATEGORY = {
    "file_summary": SourceKind.FILE_SUMMARIES,
    "file_text": SourceKind.PROJECT_FILES,
    "project_delta": SourceKind.RECENT,
    "nearest": SourceKind.NEAREST,
    "delta": SourceKind.DELTAS,
    "project": SourceKind.PROJECTS,
}
_TABLE_BY_CATEGORY = {"file_text": "files", "project": "entities"}


def find_scope(focus_record: FocusRecord | None) -> BriefingScope:
    """Return what the conversation is about: many projects, one, or a record."""
    if focus_record is None:
        return "global"
    return "project" if _is_project(focus_record) else "entity"


def record_candidates(focus_record: FocusRecord | None, tools: Sequence[Tool]) -> list[Item]:
    """Candidates for the briefing: what decides whether it is rendered anew."""
    if focus_record is None:
        return []
    record = Item(
        SourceKind.RECORD,
        focus_record.text,
        Source("entities", str(focus_record.id)),
        title=focus_record.linked_records.handle,
    )
    has_tool = any(tool.name == GET_LINKED_ENTITIES.name for tool in tools)
    texts = list(render_variants(focus_record.linked_records, has_tool=has_tool))
    if not texts:
        return [record]
    also = tuple(Source("handles", one.handle) for one in focus_record.linked_records.records)
    source = Source("edges", str(focus_record.id))
    linked = Item(SourceKind.LINKED, texts[0], source, tuple(texts[1:]), title="linked records", further_sources=also)
    return [record, linked]


def surrounding_candidates(
    principal: Principal,
    tx: Transaction,
    focus_record: FocusRecord | None,
    persona: Persona,
    tools: Sequence[Tool],
    now: datetime,
) -> list[Item]:
    """Candidates for a briefing that is rendered anew, beside the others: the record's Pulse, for this is a look
    at it, a project's documents, and what stands around the record."""
    if focus_record is None:
        knows = any(tool.name == "list_entities" for tool in tools)
        return [_neighbour_item(one) for one in neighbourhood.list_newest_projects(principal, tx)] if knows else []
    pulse = _pulse_items(principal, tx, focus_record, now) if focus_record.has_pulses else []
    near = neighbourhood.find_neighbours(
        principal, tx, focus_record.id, team_id=persona.team.id, is_project=_is_project(focus_record)
    )
    items = [*pulse, *_document_tree_items(tx, principal, focus_record, persona), *map(_neighbour_item, near)]
    briefing_scope.check_scope(find_scope(focus_record), [*record_candidates(focus_record, tools), *items])
    return items


def find_changes_since_briefing(
    principal: Principal, tx: Transaction, cached_briefing: CachedBriefing | None
) -> tuple[list[Item], bool]:
    """Return what changed on a briefing's records after it was rendered, oldest first.

    The second value says whether a source of the briefing is gone or above the reader's clearance by now.
    """
    if cached_briefing is None:
        return [], False
    sources = [(one.table, one.id) for one in cached_briefing.sources]
    found = neighbourhood.find_changes_since(
        principal, tx, cached_briefing.rendered_at, sources, includes_changes=bool(cached_briefing.record_handle)
    )
    return [_neighbour_item(one) for one in reversed(found.changes)], bool(found.unavailable_sources)


def _pulse_items(principal: Principal, tx: Transaction, focus_record: FocusRecord, now: datetime) -> list[Item]:
    """Return the record's Pulse, and one line of what changed since; without one nothing, but the request counts."""
    pulse_view.record_read(tx, focus_record.id, now)
    found = pulse_view.find_pulse_view(principal, tx, focus_record.id)
    if found is None or found.pulse is None:
        return []
    pulse, version = found.pulse, Source("pulses", str(focus_record.id), found.pulse.version)
    text = render_for_briefing(pulse, token_counter.count_tokens)
    # Deleted sources are left out: the Pulse may already tell of the deletion, so it must not refresh the briefing.
    sources = _parse_sources(pulse.source_ids)
    changes = neighbourhood.find_changes_since(
        principal, tx, now, [(one.table, one.id) for one in sources], includes_changes=False
    )
    also = tuple(one for one in sources if (one.table, one.id) not in changes.unavailable_sources)
    items = [Item(SourceKind.PULSE, text, version, classification=pulse.level, title="Pulse", further_sources=also)]
    if found.changes_text:
        rows = [row for one in found.changes for row in one.source_ids]
        since = Source("pulse_changes", str(focus_record.id), pulse.version)
        level = max((one.level for one in found.changes), default=0)
        items.append(
            Item(
                SourceKind.SINCE_PULSE,
                found.changes_text,
                since,
                classification=level,
                title="changed since the Pulse",
                further_sources=_parse_sources(rows),
            )
        )
    return items


def _document_tree_items(
    tx: Transaction, principal: Principal, focus_record: FocusRecord, persona: Persona
) -> list[Item]:
    """Return the document tree of a project, and a shorter version; nothing for any other type of record."""
    if not _is_project(focus_record):
        return []
    lines = catalogue.read_outline_lines(principal, tx, focus_record.id, persona.team.id)
    outlines = [tree.render_outline(lines, most, token_counter.count_tokens) for most in _TREE_TOKEN_LIMITS]
    texts = [text for text in dict.fromkeys(outlines) if text] or [_NO_DOCUMENTS]
    also = tuple(Source("handles", one.handle) for one in lines if one.handle in texts[0])
    return [
        Item(
            SourceKind.TREE,
            texts[0],
            Source("trees", str(focus_record.id)),
            tuple(texts[1:]),
            title="documents",
            further_sources=also,
        )
    ]


def _is_project(focus_record: FocusRecord) -> bool:
    return focus_record.linked_records.handle.startswith(f"{PROJECT_TYPE}/")


def _neighbour_item(near: Neighbour) -> Item:
    source = Source(_TABLE_BY_CATEGORY.get(near.category, "context_rows"), str(near.id))
    text = f"- {near.title}: {near.content}" if near.category == "project" else near.content
    return Item(
        _KIND_BY_CATEGORY[near.category],
        text,
        source,
        score=near.score,
        classification=near.classification,
        title=near.title,
        further_sources=_parse_sources(near.owners),
    )


def _parse_sources(rows: Iterable[str]) -> tuple[Source, ...]:
    """Rows that are named as `table/id`."""
    return tuple(Source(table, one) for table, _, one in (row.partition("/") for row in dict.fromkeys(rows)))
