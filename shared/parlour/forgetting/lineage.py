"""What hangs on something that is to be forgotten: read row by row, before anything is taken away.

A user takes along all that is theirs. A message takes along what was made of it: the reply of its turn, what models and
tools were told and said in it, later replies that repeat its telling words, and what memory drew from it. A file takes
along what was read from it and the turns that drew from that. A fact goes alone: where it came from stays, and says so.
Records that the calls of such turns made or changed go too, unless the tenant keeps its records; of one that somebody
else has worked on since only what the calls wrote. What others drew from those in conversations of their own goes as
far as it says what the calls wrote: a reply that does not, stays. So does every Pulse go that was written from any of
this, and whatever a pinned briefing says of it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import batched
from uuid import UUID

from parlour.forgetting import echoes, store, wrote
from parlour.forgetting.report import Fate, Target
from parlour.forgetting.store import ArchiveRow, ChangedRow, MessageRow, Placed
from parlour.infra.errors import Conflict, NotFound
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.turns.prompts import store as prompt_store

_TOLD_OF = ("entities", "documents", "files", "context_rows", "messages", "facts", "episodes", "handles")
"""What prompts and Pulses name as the sources of their words."""

_STAYS_EMPTY = frozenset({"messages", "steps", "tool_calls", "turns", "outbox", "session_prompts"})
"""Tables whose rows stay without words where the conversation itself stays."""

_AT_ONCE = 2_000
"""Messages, or turns, that one statement looks at: some tenths of a second."""

_READ_IN = frozenset({"steps", "tool_calls", "turns", "events"})

_NAMED = re.compile(r"[a-z]{4}")
"""A key that was made of a name."""

_OPEN = "it is being answered just now: ask again in a minute"


@dataclass(slots=True)
class Reach:
    """What goes with a target.

    rows      by table what becomes of which row.
    handles   of records that go.
    user_id   whose it is, where it is somebody's.
    sessions  that go as a whole; touched: those that stay, of which some turns lose their words.
    turns     that go or lose their words; silenced: the latter, in sessions that stay, with their `numbers`.
    falling   searchable rows that go with their sessions, by themselves.
    needles   words that tell of it wherever they stand; is_cut: whether there are more than are looked for.
    titled    sessions of the user whose titles say such.
    changed   records that calls of these turns changed, or made and somebody else has worked on since; values: what of
              that still stands in them; telling: what tells of all that the calls wrote, wherever it stands.
    hushed    turns of others in which it was read and not said: their replies stay; nearby: their sessions.
    kept      what such calls did to records, where it stays.
    pulses    records about which something goes that was written from any of this.
    briefed   sessions of others whose pinned briefing tells of it.
    objects   keys in the bucket of media; archives: in it too, of old messages.
    addresses by which channels know the user; provider_ids: by which a provider knows the message.
    """

    target: Target
    rows: dict[str, dict[str, Fate]] = field(default_factory=dict)
    handles: list[str] = field(default_factory=list)
    user_id: UUID | None = None
    sessions: list[UUID] = field(default_factory=list)
    touched: list[UUID] = field(default_factory=list)
    turns: list[UUID] = field(default_factory=list)
    silenced: list[UUID] = field(default_factory=list)
    numbers: dict[UUID, set[int]] = field(default_factory=dict)
    falling: set[UUID] = field(default_factory=set)
    needles: list[str] = field(default_factory=list)
    is_cut: bool = False
    titled: list[UUID] = field(default_factory=list)
    changed: list[ChangedRow] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    telling: list[str] = field(default_factory=list)
    hushed: list[UUID] = field(default_factory=list)
    nearby: list[UUID] = field(default_factory=list)
    kept: list[Placed] = field(default_factory=list)
    pulses: list[UUID] = field(default_factory=list)
    briefed: list[UUID] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    archives: list[ArchiveRow] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    provider_ids: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    channels: list[str] = field(default_factory=list)

    @property
    def messages(self) -> list[UUID]:
        """Those that go or lose their words."""
        return self.ids("messages")

    @property
    def asked_by(self) -> list[str]:
        """How the users that go are called as who asked for something."""
        return [f"user:{one}" for one in self.rows.get("users", ())]

    def ids(self, table: str, fate: Fate | None = None) -> list[UUID]:
        """The rows of a table that go, of those that are known by one id; those of one fate only."""
        rows = self.rows.get(table, {})
        return [UUID(one) for one, its in rows.items() if fate in (None, its)]

    @property
    def standing_rows(self) -> list[UUID]:
        """Searchable rows that somebody has to take away."""
        return [one for one in self.ids("context_rows") if one not in self.falling]

    def keys(self, table: str) -> list[str]:
        """The rows of a table that go."""
        return list(self.rows.get(table, ()))

    def add(self, table: str, ids: Iterable[object], fate: Fate = "removed") -> None:
        """Rows go as well."""
        for one in ids:
            self.rows.setdefault(table, {}).setdefault(str(one), fate)

    def told(self) -> list[str]:
        """What goes, as prompts and Pulses name their sources: table/id."""
        named = [f"{table}/{one}" for table in _TOLD_OF for one in self.rows.get(table, ())]
        return [*named, *(f"handles/{one}" for one in self.handles)]

    def said_of(self) -> list[str]:
        """Records of which only some values go, in the same way."""
        named = [(f"entities/{one.id}", f"handles/{one.handle}") for one in self.changed]
        return list(dict.fromkeys(one for pair in named for one in pair))

    def told_pulses(self) -> dict[str, list[str] | list[UUID]]:
        """By what Pulses go: the parameters of `drop_pulses`."""
        return {
            "told": self.told(), "said_of": self.said_of(), "values": echoes.patterns(self.values),
            "own": self.ids("entities"), "asked_by": self.asked_by,
        }  # fmt: skip


def reach(tx: Transaction, target: Target, *, keep_records: bool = False) -> Reach:
    """What goes with the target. NotFound when it is not there; Conflict while a turn that would go is being answered,
    which nobody waits for when its whole user goes."""
    found = Reach(target)
    _READERS[target.kind](tx, found)
    if target.kind != "fact":
        _derived(tx, found, keep_records=keep_records)
        rows, facts, episodes = found.standing_rows, found.ids("facts"), found.ids("episodes")
        _add(found, store.placed(tx, "hanging", rows=rows, facts=facts, episodes=episodes))
    _outward(tx, found)
    return found


def _user(tx: Transaction, found: Reach) -> None:
    for row in store.placed(tx, "user_rows", id=found.target.id):
        found.add(row.place, [row.id])
    if "users" not in found.rows:
        raise NotFound("there is no such user")
    found.user_id = found.target.id
    found.sessions, found.turns = found.ids("sessions"), found.ids("turns")
    found.falling = set(found.ids("context_rows"))
    found.addresses = store.words(tx, "addresses", ids=found.ids("users"))
    found.add("messages", store.ids(tx, "codes_of", users=found.ids("users")), "emptied")


def _message(tx: Transaction, found: Reach) -> None:
    said = store.message(tx, found.target.id)
    if said is None:
        raise NotFound("there is no such message")
    found.add("messages", [said.id], "emptied")
    found.user_id, found.touched = said.user_id, [said.session_id]
    found.provider_ids = [said.provider_message_id] if said.provider_message_id else []
    found.needles, found.is_cut = _own_words(tx, said), echoes.is_cut(said.body)
    if found.needles:
        patterns = echoes.patterns(found.needles)
        found.titled = store.ids(tx, "titles_saying", user_id=said.user_id, patterns=patterns)
        found.add("sessions", [f"{one}/title" for one in found.titled], "emptied")
    own = [said.turn_id] if said.turn_id else []
    _with_turns(tx, found, [*own, *_echoing(tx, said, found.needles)])


def _own_words(tx: Transaction, said: MessageRow) -> list[str]:
    """What tells of the message and of nothing else that its user wrote: what quotes that may be about the other."""
    needles = echoes.needles(said.body)
    others = store.ids(tx, "said_besides", user_id=said.user_id, id=said.id) if needles else []
    for some in _batched(others):
        needles = echoes.unsaid(needles, store.words(tx, "bodies", ids=list(some))) if needles else []
    return needles


def _echoing(tx: Transaction, said: MessageRow, needles: Sequence[str]) -> list[UUID]:
    """The turns since then in which something was made that repeats it."""
    patterns = echoes.patterns(needles)
    later = store.ids(tx, "turns_since", user_id=said.user_id, since=said.received_at) if needles else []
    found = (store.ids(tx, "echoing_turns", turns=list(some), patterns=patterns) for some in _batched(later))
    return [one for some in found for one in some]


def _batched(ids: Sequence[UUID]) -> Iterable[tuple[UUID, ...]]:
    return batched(ids, _AT_ONCE, strict=False)


def _file(tx: Transaction, found: Reach) -> None:
    for row in store.placed(tx, "file_rows", id=found.target.id):
        found.add(row.place, [row.id], "emptied" if row.place == "files" else "removed")
    if "files" not in found.rows:
        raise NotFound("there is no such file")
    drew = store.ids(tx, "file_turns", id=found.target.id, rows=found.ids("context_rows"))
    _with_turns(tx, found, drew)


def _fact(tx: Transaction, found: Reach) -> None:
    for row in store.placed(tx, "fact_rows", id=found.target.id):
        found.add(row.place, [row.id])
    if "facts" not in found.rows:
        raise NotFound("there is no such fact")


_READERS = {"user": _user, "message": _message, "file": _file, "fact": _fact}


def _with_turns(tx: Transaction, found: Reach, turn_ids: Sequence[UUID]) -> None:
    """These turns lose their words, and what memory made of them goes."""
    known = set(found.turns)
    turns = store.turns(tx, [one for one in turn_ids if one not in known])
    if found.target.kind != "user" and any(one.is_open for one in turns):
        raise Conflict(_OPEN)
    ids = [one.id for one in turns]
    found.turns += ids
    found.silenced += ids
    found.touched += [one for one in dict.fromkeys(turn.session_id for turn in turns) if one not in found.touched]
    for one in turns:
        found.numbers.setdefault(one.session_id, set()).add(one.number)
    own = found.ids("messages", "emptied")
    _add(found, store.placed(tx, "turn_rows", turns=ids, messages=own))
    _add(found, store.placed(tx, "memory_rows", turns=ids, messages=found.ids("messages", "emptied")))


def _add(found: Reach, rows: Iterable[Placed]) -> None:
    for row in rows:
        found.add(row.place, [row.id], "emptied" if row.place in _STAYS_EMPTY else "removed")


def _derived(tx: Transaction, found: Reach, *, keep_records: bool) -> None:
    """What was made beside the conversation: records, what others drew from those, facts of personas and teams."""
    for row in store.placed(tx, "drawn_elsewhere", messages=found.messages):
        found.add(row.place, [row.id])
    made = store.placed(tx, "made_by_calls", turns=found.turns)
    changed = store.changed(tx, found.turns)
    own = {row.id for row in made if row.place == "entities"}
    found.changed = [one for one in changed if str(one.id) not in own]
    if keep_records:
        found.kept = [
            *(row for row in made if row.place != "handles"),
            *(one for row in found.changed for one in _parts(row)),
        ]
        found.changed = []
        return
    for row in made:
        if row.place == "handles":
            found.handles.append(row.id)
        else:
            found.add(row.place, [row.id], "emptied" if row.place in {"entities", "documents"} else "removed")
    found.telling = wrote.telling(text for one in changed for text in wrote.texts(one.arguments))
    found.telling += [key for one in found.handles if _NAMED.search(key := one.partition("/")[2])]
    found.values = [word for one in found.changed for word in wrote.words(_still(one).values())]
    found.add("context_rows", [one.row_id for one in found.changed if one.row_id])
    if found.telling:
        _drew(tx, found)


def _parts(row: ChangedRow) -> list[Placed]:
    """What a call changed of a record: the values that still stand, and the row that tells of the change."""
    told = [Placed("context_rows", str(row.row_id))] if row.row_id else []
    return [*(Placed("entities", f"{row.id}/{name}") for name in _still(row)), *told]


def _still(row: ChangedRow) -> JsonObject:
    return wrote.still(row.arguments, row.properties)


def _drew(tx: Transaction, found: Reach) -> None:
    """Turns of anybody's that drew from such records and say what the calls wrote there."""
    handles = echoes.patterns([*found.handles, *(one.handle for one in found.changed)])
    ids, known = [*found.ids("entities"), *_changed_ids(found)], set(found.turns)
    drew = store.ids(tx, "record_turns", ids=ids, rows=found.standing_rows, handles=handles)
    patterns = echoes.patterns(found.telling)
    said: list[UUID] = []
    for some in _batched([one for one in drew if one not in known]):
        echoing = store.ids(tx, "echoing_turns", turns=list(some), patterns=patterns)
        replied = set(store.ids(tx, "replying_turns", turns=echoing, patterns=patterns))
        said += replied
        found.hushed += [one for one in echoing if one not in replied]
    _with_turns(tx, found, said)
    if found.hushed:
        _hush(tx, found, patterns)


def _hush(tx: Transaction, found: Reach, patterns: Sequence[str]) -> None:
    """These turns lose what was read in them, and their conversations' memory what says it."""
    sessions = dict.fromkeys(one.session_id for one in store.turns(tx, found.hushed))
    found.nearby = list(sessions)
    rows = store.placed(tx, "turn_rows", turns=found.hushed, messages=[])
    _add(found, (row for row in rows if row.place in _READ_IN))
    _add(found, store.placed(tx, "memory_saying", sessions=list(sessions), patterns=patterns))


def _outward(tx: Transaction, found: Reach) -> None:
    """What others were told of any of it, and where its bytes lie."""
    own = found.ids("entities")
    written = store.pulses(tx, **found.told_pulses())
    for row in written:
        found.add(row.place, [row.id], "emptied" if row.place == "pulse_ledgers" else "removed")
    next_to = store.ids(tx, "around", ids=own) if own else []
    found.pulses = list(dict.fromkeys([*(row.entity_id for row in written), *next_to, *_changed_ids(found)]))
    about = [f"{table}/{one}" for table in ("pulses", "pulse_changes") for one in found.pulses]
    briefed = prompt_store.briefed_of(tx, [*found.told(), *about, *found.said_of()])
    found.briefed = [one for one in briefed if str(one) not in found.rows.get("session_prompts", {})]
    found.add("session_prompts", found.briefed, "emptied")
    sessions = [*found.sessions, *found.touched]
    found.objects = store.words(tx, "objects", messages=found.messages, sessions=found.sessions)
    found.archives = store.archives(tx, found.sessions, found.messages)
    for by in store.placed(tx, "reached_by", sessions=sessions):
        (found.models if by.place == "model" else found.channels).append(by.id)


def _changed_ids(found: Reach) -> list[UUID]:
    return [one.id for one in found.changed]
