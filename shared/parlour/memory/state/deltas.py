"""What a summariser proposes for the notes, taken or refused one by one: items first, the rest after. Pure.

A model gives only what changes. It cannot do away with anything: an item that it removes is discarded, an assumption
that it drops stays as one with confidence 0, and whoever only makes room (`bounded`) lets go of what is settled first.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from parlour.infra.jsonable import Json, JsonObject
from parlour.memory.state import bounded
from parlour.memory.state.shape import (
    KINDS,
    LONGEST_DETAILS,
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_SUMMARIES,
    STATUSES,
    Assumption,
    Dependency,
    Entity,
    Expectation,
    Hypothesis,
    Kind,
    State,
    StateItem,
    Status,
    clipped,
    words_of,
)

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_HANDLE = re.compile(r"[a-z][a-z0-9_]*/[A-Za-z0-9][A-Za-z0-9_.~-]*")
_LONGEST_HANDLE, _DEEPEST = 200, 8
"""Characters of a handle, and lists and objects inside each other in which one may stand."""

_MOST_UPDATES = 60
"""Updates that are looked at in one answer; a summariser that gives more repeats itself."""

_MOST_EVIDENCE, _MOST_RELATED = 5, 8


@dataclass(frozen=True, slots=True)
class Refusal:
    """An update that was not taken: where it stood in the answer, and why not."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Applied:
    """The notes after an answer, how many updates were taken, and those that were not."""

    state: State
    taken: int
    refused: tuple[Refusal, ...]


class _Refused(Exception):
    """One update is not taken; the message is a code."""


@dataclass(slots=True)
class _Applying:
    """Notes while an answer is applied to them.

    known    handles that may be named: those of records which the conversation's user may see.
    version  of the summary that was written with the answer.
    """

    state: State
    known: Collection[str]
    version: int
    now: str
    taken: int = 0
    refused: list[Refusal] = field(default_factory=list)

    def each(self, place: str, given: Json, take: Callable[[JsonObject], None]) -> None:
        """Take the objects of a list one by one."""
        for number, one in enumerate(_list(given)[:_MOST_UPDATES]):
            try:
                take(_object(one))
                self.taken += 1
            except _Refused as problem:
                self.refused.append(Refusal(f"{place}[{number}]", str(problem)))

    def item(self, update: JsonObject) -> None:
        match update.get("op"):
            case "add":
                self._add(_object(update.get("item")))
            case "update":
                self._update(self._item(update), _object(update.get("patch")))
            case "remove":
                self._put(replace(self._item(update), status="discarded", updated_at=self.now))
            case _:
                raise _Refused("unknown_op")

    def entity(self, given: JsonObject) -> None:
        handle = self._handle(given.get("id"))
        entity = Entity(handle, handle.partition("/")[0], clipped(given.get("name"), LONGEST_NAME))
        self.state = bounded.with_entities(self.state, [entity])

    def dependency(self, given: JsonObject) -> None:
        ends = (self._handle(given.get("from")), self._handle(given.get("to")))
        link = Dependency(*ends, clipped(given.get("rel"), LONGEST_NAME))
        self.state = bounded.with_dependencies(self.state, [link])

    def assumption(self, given: JsonObject) -> None:
        """One that says nothing any more, or is not likely at all, stays and counts for nothing."""
        name = _id(given.get("id"))
        before = next((one for one in self.state.assumptions if one.id == name), None)
        said, evidence = clipped(given.get("hypothesis"), LONGEST_TEXT), _texts(given.get("evidence"))
        confidence = _confidence(given.get("confidence")) if said else 0.0
        if before is None:
            if not said:
                raise _Refused("unknown_id")
            one = Assumption(name, said, confidence, evidence, (self.version,))
        else:
            one = self._assumed(before, said or before.hypothesis, confidence, evidence or before.evidence)
        self.state = bounded.with_assumption(self.state, one) or self._full()

    def _assumed(self, before: Assumption, said: str, confidence: float, evidence: tuple[str, ...]) -> Assumption:
        is_same = (said, evidence) == (before.hypothesis, before.evidence)
        is_anew = said != before.hypothesis and evidence != before.evidence
        summaries = before.summaries if is_same else self._rests(() if is_anew else before.summaries)
        return Assumption(before.id, said, confidence, evidence, summaries)

    def expectation(self, given: JsonObject) -> None:
        action = clipped(given.get("action"), LONGEST_NAME)
        outcome = clipped(given.get("expected_outcome"), LONGEST_TEXT)
        if not action:
            raise _Refused("no_action")
        one = Expectation(action, outcome, clipped(given.get("invariant"), LONGEST_TEXT), (self.version,))
        self.state = bounded.with_expectation(self.state, one)

    def hypothesis(self, given: JsonObject) -> None:
        name, said = _id(given.get("id")), clipped(given.get("hypothesis"), LONGEST_TEXT)
        if not said and all(one.id != name for one in self.state.tentative_hypotheses):
            raise _Refused("unknown_id")
        one = Hypothesis(name, said, clipped(given.get("reason"), LONGEST_TEXT), (self.version,))
        self.state = bounded.with_hypothesis(self.state, one)

    def _add(self, given: JsonObject) -> None:
        """A new item; one of the same name that is open is that one, told again."""
        title = _title(given)
        same = next((one for one in self.state.items if one.status == "active" and _is_called(one, title)), None)
        if same is not None:
            self._update(same, {**given, "title": same.title})
            return
        name = str(given["id"]) if _ID.fullmatch(str(given.get("id", ""))) else bounded.free_id(self.state)
        if any(one.id == name for one in self.state.items):
            raise _Refused("id_taken")
        item = StateItem(
            name, _kind(given.get("kind")), title, self.now, self.now, clipped(given.get("details"), LONGEST_DETAILS),
            _status(given, "active"), self._related(given), summaries=(self.version,),
        )  # fmt: skip
        self.state = bounded.with_item(self.state, item) or self._full()

    def _update(self, item: StateItem, patch: JsonObject) -> None:
        """What a patch says of an item; what came of it is never a model's to say."""
        title = _title(patch) if "title" in patch else item.title
        details = clipped(patch["details"], LONGEST_DETAILS) if "details" in patch else item.details
        is_same = (title, details) == (item.title, item.details)
        is_anew = title != item.title and (details != item.details or not details)
        summaries = item.summaries if is_same else self._rests(() if is_anew else item.summaries)
        related = tuple(dict.fromkeys((*item.related_entity_ids, *self._related(patch))))[:_MOST_RELATED]
        self._put(
            replace(
                item, kind=_kind(patch.get("kind", item.kind)), title=title, details=details,
                status=_status(patch, item.status), related_entity_ids=related, updated_at=self.now,
                summaries=summaries,
            )
        )  # fmt: skip

    def _put(self, item: StateItem) -> None:
        items = tuple(item if one.id == item.id else one for one in self.state.items)
        self.state = replace(self.state, items=items)

    def _item(self, update: JsonObject) -> StateItem:
        found = next((one for one in self.state.items if one.id == update.get("id")), None)
        if found is None:
            raise _Refused("unknown_id")
        return found

    def _related(self, given: JsonObject) -> tuple[str, ...]:
        asked = _list(given.get("related_entity_ids", given.get("relatedEntityIds", [])))
        return tuple(self._handle(one) for one in asked[:_MOST_RELATED])

    def _handle(self, given: Json) -> str:
        if not isinstance(given, str) or given not in self.known:
            raise _Refused("unknown_record")
        return given

    def _rests(self, before: Sequence[int]) -> tuple[int, ...]:
        """What a note rests on once it says more."""
        found = tuple(dict.fromkeys((*before, self.version)))
        if len(found) > MOST_SUMMARIES:
            raise _Refused("rests_on_too_much")
        return found

    def _full(self) -> State:
        raise _Refused("full")


def apply(
    state: State, item_updates: Json, updates: Json, *, known: Collection[str], version: int, now: datetime
) -> Applied:
    """The notes after a summariser's `agent_state_item_updates` and `agent_state_updates` (an object or a list of
    them), as it gave them; what makes no sense is refused alone.

    known    handles of records that may be named (`proposed` says which ones the answer names).
    version  of the summary that was written with the answer; the same answer again changes nothing.
    """
    applying = _Applying(state, known, version, now.isoformat())
    applying.each("items", item_updates, applying.item)
    for place, one in enumerate(_updates(updates)):
        for name, take in _parts(applying).items():
            applying.each(f"updates[{place}].{name}", _part(one, name), take)
    return Applied(applying.state, applying.taken, tuple(applying.refused))


def proposed(item_updates: Json, updates: Json) -> set[str]:
    """Every record that an answer names, and perhaps some text that merely looks like it."""
    found: set[str] = set()
    for one in (*_list(item_updates), *_updates(updates)):
        found |= _handles(one)
    return found


def _parts(applying: _Applying) -> Mapping[str, Callable[[JsonObject], None]]:
    return {
        "entities": applying.entity, "dependencies": applying.dependency, "assumptions": applying.assumption,
        "expectations": applying.expectation, "tentative_hypotheses": applying.hypothesis,
    }  # fmt: skip


def _part(update: JsonObject, name: str) -> Json:
    understood = update.get("current_understanding")
    if name in ("entities", "dependencies"):
        return understood.get(name) if isinstance(understood, dict) else None
    return update.get(name)


def _updates(given: Json) -> list[JsonObject]:
    return [one for one in (_list(given) or [given])[:_MOST_UPDATES] if isinstance(one, dict)]


def _handles(value: Json, deep: int = _DEEPEST) -> set[str]:
    match value:
        case dict() if deep:
            return set().union(*(_handles(one, deep - 1) for one in value.values()))
        case list() if deep:
            return set().union(*(_handles(one, deep - 1) for one in value))
        case str() if len(value) <= _LONGEST_HANDLE and _HANDLE.fullmatch(value):
            return {value}
        case _:
            return set()


def _kind(given: Json) -> Kind:
    found = next((one for one in KINDS if one == given), None)
    if found is None:
        raise _Refused("unknown_kind")
    return found


def _status(given: JsonObject, otherwise: Status) -> Status:
    found = next((one for one in STATUSES if one == given.get("status", otherwise)), None)
    if found is None:
        raise _Refused("unknown_status")
    return found


def _title(given: JsonObject) -> str:
    title = clipped(given.get("title"), LONGEST_NAME)
    if not title:
        raise _Refused("no_title")
    return title


def _is_called(item: StateItem, title: str) -> bool:
    return words_of(item.title) == words_of(title)


def _id(given: Json) -> str:
    if not isinstance(given, str) or not _ID.fullmatch(given):
        raise _Refused("no_id")
    return given


def _confidence(given: Json) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise _Refused("no_confidence")
    return float(given)


def _texts(given: Json) -> tuple[str, ...]:
    said = (clipped(one, LONGEST_TEXT) for one in _list(given)[:_MOST_EVIDENCE])
    return tuple(one for one in said if one)


def _object(given: Json) -> JsonObject:
    if not isinstance(given, dict):
        raise _Refused("no_object")
    return given


def _list(given: Json) -> list[Json]:
    return given if isinstance(given, list) else []
