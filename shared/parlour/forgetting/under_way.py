"""A forgetting that is under way, as it is written down between its steps: whoever asks again goes on from there.

`Seen` is how far the looking got, before anything is taken away; `Left` what is left to do once what hangs together
only by words was taken away; `Done` what of that is done. All three are gone with the end. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Literal
from uuid import UUID

from parlour.forgetting.lineage import Reach
from parlour.forgetting.store import ArchiveRow
from parlour.infra.jsonable import JsonObject, from_json

type Hashes = dict[date, set[str]]
"""Texts by the month that they are kept under."""

BEFORE_ALL = (UUID(int=0), -2)
"""Before every record of a prompt, by turn and step."""


@dataclass(slots=True)
class Seen:
    """How far records of prompts were looked through, and what they name.

    own         what the records that go name; everybodys: what of that is the tenant's own.
    shared      what of it others name, too.
    talked      what those records of the same conversations and people name that stay.
    suspects    what was told of records of which some values go.
    near        what those of conversations name in which something that goes was read.
    emptied     what tells of something that goes.
    last        the record that was read last, by turn and step; looked: how many were read.
    naming      records that stay and name something that goes by its handle.
    stage       whose records are being read: theirs, others', theirs for what is everybody's; over: no more.
    is_whole    whether all were read; is_again: they were before, and this is about what was written since.
    """

    own: Hashes = field(default_factory=dict)
    everybodys: set[str] = field(default_factory=set)
    shared: Hashes = field(default_factory=dict)
    talked: Hashes = field(default_factory=dict)
    suspects: Hashes = field(default_factory=dict)
    near: Hashes = field(default_factory=dict)
    emptied: Hashes = field(default_factory=dict)
    naming: set[tuple[UUID, int]] = field(default_factory=set)
    last: tuple[UUID, int] = BEFORE_ALL
    looked: int = 0
    stage: Literal["theirs", "others", "everybodys", "over"] = "theirs"
    is_whole: bool = False
    is_again: bool = False


@dataclass(slots=True)
class Left:
    """What is left to do.

    sessions, users   that go as a whole, with their turns and lines; messages: these, and those that stay, empty.
    objects           keys in the bucket of media; archives: in it too, of old messages.
    addresses         by which channels know the user; provider_ids: by which a provider knows the message.
    ids               by which letters may name it.
    handles           of records that are gone; naming: the records of prompts, by turn and step, that name one of them.
    """

    sessions: list[UUID] = field(default_factory=list)
    users: list[UUID] = field(default_factory=list)
    turns: list[UUID] = field(default_factory=list)
    lines: list[UUID] = field(default_factory=list)
    messages: list[UUID] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    archives: list[ArchiveRow] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    provider_ids: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)
    naming: list[tuple[UUID, int]] = field(default_factory=list)

    @classmethod
    def of(cls, reach: Reach, seen: Seen) -> "Left":
        """What is left when all that hangs together by words is taken away."""
        ids = [*map(str, reach.sessions), *reach.keys("outbox"), *reach.keys("tool_calls")]
        silenced = set(reach.silenced)
        return cls(
            reach.sessions, reach.ids("users"), [one for one in reach.turns if one not in silenced],
            reach.ids("messages", "removed"), reach.messages, reach.objects, reach.archives, reach.addresses,
            reach.provider_ids, ids if reach.sessions else [str(reach.target.id)], reach.handles, sorted(seen.naming),
        )  # fmt: skip

    def add(self, more: "Left") -> None:
        """This, too."""
        self.sessions, self.users = _both(self.sessions, more.sessions), _both(self.users, more.users)
        self.turns, self.lines = _both(self.turns, more.turns), _both(self.lines, more.lines)
        self.messages = _both(self.messages, more.messages)
        self.objects, self.archives = _both(self.objects, more.objects), _both(self.archives, more.archives)
        self.addresses = _both(self.addresses, more.addresses)
        self.provider_ids, self.ids = _both(self.provider_ids, more.provider_ids), _both(self.ids, more.ids)
        self.handles, self.naming = _both(self.handles, more.handles), _both(self.naming, more.naming)


@dataclass(slots=True)
class Done:
    """What is done of it. letters: of each queue that was looked through, how many letters went; and what was in the
    way, if anything. queue: the one that is being looked through."""

    are_files_gone: bool = False
    letters: dict[str, tuple[int, str]] = field(default_factory=dict)
    queue: str = ""


def again[T](kind: type[T], given: JsonObject | None) -> T:
    """Return a part as `to_json` wrote it down; a new one where none was."""
    return kind() if given is None else from_json(kind, given)


def _both[T](some: Iterable[T], more: Iterable[T]) -> list[T]:
    return list(dict.fromkeys([*some, *more]))
