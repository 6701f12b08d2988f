"""What a summariser proposes for the notes, taken or refused one by one. Pure.

A model gives only what changes. It cannot do away with anything: an item that it removes is discarded.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from parlour.infra.json_values import Json, JsonObject
from parlour.memory.agent_state import agent_state
from parlour.memory.agent_state.agent_state import (
    ITEM_KINDS,
    ITEM_STATUSES,
    MAX_DETAILS_CHARS,
    MAX_NAME_CHARS,
    MAX_SUMMARIES,
    AgentState,
    ItemKind,
    ItemStatus,
    StateItem,
    clean_line,
    title_words,
)

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_HANDLE = re.compile(r"[a-z][a-z0-9_]*/[A-Za-z0-9][A-Za-z0-9_.~-]*")
_MAX_HANDLE_CHARS, _MAX_NESTING = 200, 8
"""Characters of a handle, and lists and objects inside each other in which one may stand."""

_MAX_UPDATES = 60
"""Updates that are looked at in one answer; a summariser that gives more repeats itself."""

_MAX_RELATED = 8


@dataclass(frozen=True, slots=True)
class RejectedUpdate:
    """An update that was not taken: where it stood in the answer, and why not."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The notes after an answer, how many updates were taken, and those that were not."""

    state: AgentState
    applied_count: int
    rejected: tuple[RejectedUpdate, ...]


class _UpdateRejected(Exception):
    """An update that is rejected alone; the message is a code."""


@dataclass(slots=True)
class _StateUpdate:
    """A state to which the updates of one answer are applied.

    known_handles    records that an update may name: those that the session's user may see.
    summary_version  the version of the summary that came with the answer.
    """

    state: AgentState
    known_handles: Collection[str]
    summary_version: int
    now: str
    applied_count: int = 0
    rejected: list[RejectedUpdate] = field(default_factory=list)

    def apply_each(self, path: str, updates: Json) -> None:
        """Apply each update of a list; an invalid one is rejected alone."""
        for number, one in enumerate(_parse_list(updates)[:_MAX_UPDATES]):
            try:
                self.update_item(_parse_object(one))
                self.applied_count += 1
            except _UpdateRejected as problem:
                self.rejected.append(RejectedUpdate(f"{path}[{number}]", str(problem)))

    def update_item(self, update: JsonObject) -> None:
        match update.get("op"):
            case "add":
                self._add_item(_parse_object(update.get("item")))
            case "update":
                self._patch_item(self._find_item(update), _parse_object(update.get("patch")))
            case "remove":
                self._replace_item(replace(self._find_item(update), status="discarded", updated_at=self.now))
            case _:
                raise _UpdateRejected("unknown_op")

    def _add_item(self, given: JsonObject) -> None:
        """Add an item, or update the open item that has the same title."""
        title = _parse_title(given)
        same = next(
            (
                one
                for one in self.state.items
                if one.status == "active" and (title_words(one.title) == title_words(title))
            ),
            None,
        )
        if same is not None:
            self._patch_item(same, {**given, "title": same.title})
            return
        name = str(given["id"]) if _ID.fullmatch(str(given.get("id", ""))) else agent_state.next_item_id(self.state)
        if any(one.id == name for one in self.state.items):
            raise _UpdateRejected("duplicate_id")
        item = StateItem(
            name,
            _parse_kind(given.get("kind")),
            title,
            self.now,
            self.now,
            clean_line(given.get("details"), MAX_DETAILS_CHARS),
            _parse_status(given, "active"),
            self._parse_related_handles(given),
            summaries=(self.summary_version,),
        )
        self.state = agent_state.add_item(self.state, item) or self._reject_full()

    def _patch_item(self, item: StateItem, patch: JsonObject) -> None:
        """Change an item's texts and records. A model never decides what became of an item."""
        title = _parse_title(patch) if "title" in patch else item.title
        details = clean_line(patch["details"], MAX_DETAILS_CHARS) if "details" in patch else item.details
        is_same = (title, details) == (item.title, item.details)
        is_anew = title != item.title and (details != item.details or not details)
        summaries = item.summaries if is_same else self._summaries_with_current(() if is_anew else item.summaries)
        related = tuple(dict.fromkeys((*item.related_entity_ids, *self._parse_related_handles(patch))))[:_MAX_RELATED]
        self._replace_item(
            replace(
                item,
                kind=_parse_kind(patch.get("kind", item.kind)),
                title=title,
                details=details,
                status=_parse_status(patch, item.status),
                related_entity_ids=related,
                updated_at=self.now,
                summaries=summaries,
            )
        )

    def _replace_item(self, item: StateItem) -> None:
        items = tuple(item if one.id == item.id else one for one in self.state.items)
        self.state = replace(self.state, items=items)

    def _find_item(self, update: JsonObject) -> StateItem:
        found = next((one for one in self.state.items if one.id == update.get("id")), None)
        if found is None:
            raise _UpdateRejected("unknown_id")
        return found

    def _parse_related_handles(self, given: JsonObject) -> tuple[str, ...]:
        asked = _parse_list(given.get("related_entity_ids", given.get("relatedEntityIds", [])))
        return tuple(self._parse_handle(one) for one in asked[:_MAX_RELATED])

    def _parse_handle(self, given: Json) -> str:
        if not isinstance(given, str) or given not in self.known_handles:
            raise _UpdateRejected("unknown_record")
        return given

    def _summaries_with_current(self, previous: Sequence[int]) -> tuple[int, ...]:
        """Return the summary versions of a note after this answer extends it."""
        found = tuple(dict.fromkeys((*previous, self.summary_version)))
        if len(found) > MAX_SUMMARIES:
            raise _UpdateRejected("too_many_sources")
        return found

    def _reject_full(self) -> AgentState:
        raise _UpdateRejected("limit_reached")


def apply_updates(
    state: AgentState, item_updates: Json, *, known_handles: Collection[str], summary_version: int, now: datetime
) -> UpdateResult:
    """Apply a summary answer's `agent_state_item_updates`.

    An invalid update is rejected alone. Applying the same answer again changes nothing.

    known_handles    records that may be named (`proposed_handles` returns those that the answer names).
    summary_version  the version of the summary that came with the answer.
    """
    applying = _StateUpdate(state, known_handles, summary_version, now.isoformat())
    applying.apply_each("items", item_updates)
    return UpdateResult(applying.state, applying.applied_count, tuple(applying.rejected))


def proposed_handles(item_updates: Json) -> set[str]:
    """Every record that an answer names, and perhaps some text that merely looks like it."""
    return _find_handles(item_updates)


def _find_handles(value: Json, max_depth: int = _MAX_NESTING) -> set[str]:
    match value:
        case dict() if max_depth:
            return set().union(*(_find_handles(one, max_depth - 1) for one in value.values()))
        case list() if max_depth:
            return set().union(*(_find_handles(one, max_depth - 1) for one in value))
        case str() if len(value) <= _MAX_HANDLE_CHARS and _HANDLE.fullmatch(value):
            return {value}
        case _:
            return set()


def _parse_kind(given: Json) -> ItemKind:
    found = next((one for one in ITEM_KINDS if one == given), None)
    if found is None:
        raise _UpdateRejected("unknown_kind")
    return found


def _parse_status(given: JsonObject, default: ItemStatus) -> ItemStatus:
    found = next((one for one in ITEM_STATUSES if one == given.get("status", default)), None)
    if found is None:
        raise _UpdateRejected("unknown_status")
    return found


def _parse_title(given: JsonObject) -> str:
    title = clean_line(given.get("title"), MAX_NAME_CHARS)
    if not title:
        raise _UpdateRejected("missing_title")
    return title


def _parse_object(given: Json) -> JsonObject:
    if not isinstance(given, dict):
        raise _UpdateRejected("not_an_object")
    return given


def _parse_list(given: Json) -> list[Json]:
    return given if isinstance(given, list) else []
