"""A forgetting that breaks off anywhere, or has no time left, is finished by asking again: it finds what the first
would have, and its report has every row."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import pytest

from parlour.forgetting import erase, texts
from parlour.forgetting.erase import Services, Wish
from parlour.forgetting.report import Kind, Target, Unfinished
from parlour.infra.errors import NotFound
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject, canonical
from parlour.infra.postgres import Transaction
from parlour.jobs.dead_letters import Discarded
from parlour.principal import Principal
from tests.desk import PHONE, calls, says, searches
from tests.integration.forgetting.aviary import Aviary, Letters
from tests.integration.knowledge.file_desk import FileDesk
from tests.integration.talking import Talk
from tests.post import Post

NAME, OWNER, RESPONSE, PICTURE = "CANARY-71X", "CANARY-72X", "CANARY-73X", "CANARY-74X"


class Killed(Exception):
    """The process is gone."""


@dataclass
class Life:
    """For how many steps whoever forgets lives: transactions, acts on buckets and queues. taken: how many it took."""

    most: int = 1_000
    taken: int = 0

    def step(self) -> None:
        self.taken += 1
        if self.taken >= self.most:
            raise Killed


@dataclass
class Mortal:
    """A database, a bucket or a queue, to whose user things happen just after it was heard."""

    whole: Any
    life: Life
    acts: tuple[str, ...] = ("run", "delete", "put", "discard")

    def __getattr__(self, name: str) -> Any:
        act = getattr(self.whole, name)
        if name not in self.acts:
            return act

        def acted(*given: Any, **named: Any) -> Any:
            found = act(*given, **named)
            self.life.step()
            return found

        return acted

    @contextmanager
    def transaction(self, principal: Principal) -> Iterator[Transaction]:
        with self.whole.transaction(principal) as tx:
            yield tx
        self.life.step()


@dataclass
class Scene:
    """Somebody whose calls made one record and changed another, of which others were told; with all that goes by id."""

    aviary: Aviary
    talk: Talk = field(init=False)
    told: UUID = field(init=False)

    def __post_init__(self) -> None:
        desk = self.aviary.desk
        self.talk, other = Talk(desk), Talk(desk)
        risk: JsonObject = {"severity": "high", "state": "open", "owner": OWNER}
        made = calls("create_entity", kind="risk", name=f"Crate {NAME}", project="project/NRS", properties=risk)
        change = calls("update_entity", "c2", entity="risk/R-03", properties={"response": f"Call {RESPONSE} first."})
        self.told = self.talk.say("Note a risk and change the other.", [*made, *change], says("Done."))
        ((key,),) = desk.rows(f"SELECT key FROM entities WHERE name LIKE '%{NAME}%'")
        other.say("What of it?", calls("get_entity", "c3", entities=[f"risk/{key}"]), says(f"It is {NAME} of {OWNER}."))
        other.say("And R-03?", calls("get_entity", "c4", entities=["risk/R-03"]), says(f"{RESPONSE} is called first."))
        other.say("The crane comes on Monday.", says("On Monday, then."))
        post = Post(desk, self.aviary.bucket)
        key = post.upload(self.talk.visitor, self.talk.session, f"# {PICTURE}".encode(), "note.md")
        post.say(self.talk.visitor, self.talk.session, "See this.", key)
        desk.model.script = [says("Seen.")]
        post.run()
        self.aviary.letters["turns-web"].bodies = [{"session_id": str(self.talk.session)}]

    def target(self, kind: Kind) -> UUID:
        return self.talk.user if kind == "user" else self.told

    def forget(
        self, kind: Kind, life: Life | None = None, seconds_left: Callable[[], float] = lambda: 60.0
    ) -> JsonObject:
        return forgotten(self.aviary, kind, self.target(kind), life or Life(), seconds_left)


def forgotten(
    aviary: Aviary, kind: Kind, target: UUID, life: Life, seconds_left: Callable[[], float] = lambda: 60.0
) -> JsonObject:
    desk = aviary.desk
    letters = {name: Mortal(one, life) for name, one in aviary.letters.items()}
    services = Services(
        cast("Any", Mortal(desk.database, life)), cast("Any", Mortal(aviary.bucket, life)),
        cast("Any", Mortal(aviary.room.files, life)), cast("Any", letters), desk.clock, uuid7,
    )  # fmt: skip
    return erase.forget(desk.admin, services, Wish(Target(kind, target)), seconds_left)


def named(report: JsonObject) -> set[tuple[str, str]]:
    """Every row of a report; texts are only counted, and where some went unseen they are emptied."""
    rows = cast("list[dict[str, Any]]", report["rows"])
    return {(row["table"], "" if row["table"] == "ledger_blobs" else one) for row in rows for one in row["ids"]}


def ended(aviary: Aviary, scene: Scene, dry: JsonObject, told: JsonObject) -> None:
    """Nothing is left, others keep what is theirs, and one report names every row."""
    desk = aviary.desk
    assert aviary.seen() == {}
    assert named(dry) <= named(told)
    assert told["finished"]
    assert told["objects"] == dry["objects"]
    assert desk.rows("SELECT count(*) FROM messages WHERE body = 'On Monday, then.'") == [(1,)]
    assert desk.rows("SELECT id::text, state FROM forgettings") == [(told["id"], "done")]
    assert desk.rows("SELECT count(*) FROM audit_log WHERE action LIKE '%.forgotten'") == [(1,)]
    kind = cast("Kind", told["kind"])
    assert scene.forget(kind)["id"] == told["id"]
    if kind == "user":
        assert told["dead_letters"] == {"turns-web": 1} or "are not counted" in canonical(told["out_of_reach"])
        assert desk.rows(f"SELECT count(*) FROM users WHERE id = '{scene.talk.user}'") == [(0,)]


@pytest.mark.parametrize("steps", [1, *range(6, 22)])
def test_a_user_is_forgotten_wherever_it_broke_off(aviary: Aviary, steps: int) -> None:
    scene = Scene(aviary)
    assert len(aviary.seen()) >= 6
    dry = aviary.forget("user", scene.talk.user, dry_run=True)
    life = Life(steps)
    try:
        told = scene.forget("user", life)
    except Killed:
        told = scene.forget("user")
    else:
        assert life.taken < steps
    ended(aviary, scene, dry, told)


@pytest.mark.parametrize("kind", ["user", "message"])
def test_who_is_killed_again_and_again_gets_on_all_the_same(aviary: Aviary, kind: Kind) -> None:
    scene, died = Scene(aviary), 0
    dry = aviary.forget(kind, scene.target(kind), dry_run=True)
    told: JsonObject | None = None
    while told is None:
        try:
            told = scene.forget(kind, Life(died + 1))
        except Killed:
            died += 1
    assert died > 5
    if kind == "user":
        return ended(aviary, scene, dry, told)
    assert {where for where in aviary.seen() if PICTURE not in aviary.seen()[where]} == set()
    assert named(dry) <= named(told)
    return None


def test_who_drew_from_a_file_is_found_the_second_time(aviary: Aviary) -> None:
    desk, talk = aviary.desk, Talk(aviary.desk)
    files = FileDesk(desk.database, desk.admin, desk.clock, bucket=aviary.room.files)
    file = files.upload("gate.md", f"# Gate\n\nThe gate opens with {NAME} at night.".encode(), "project/NRS")
    files.work()
    aviary.embed()
    talk.say("How does the gate open?", searches("how does the gate open at night"), says(f"With {NAME} [1]."))
    died = 0
    while True:
        try:
            forgotten(aviary, "file", file.id, Life(died + 1))
            break
        except Killed:
            died += 1
    assert died > 5
    assert aviary.seen() == {}


def test_without_time_to_read_all_of_their_own_prompts_nothing_goes_yet(
    aviary: Aviary, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, asked = Scene(aviary), 0
    dry = aviary.forget("user", scene.talk.user, dry_run=True)
    monkeypatch.setattr(texts, "_AT_ONCE", 1)
    before = aviary.seen()
    with pytest.raises(Unfinished):
        scene.forget("user", seconds_left=lambda: 7.5)
    assert {where: seen for where, seen in aviary.seen().items() if where != "table forgettings"} == before
    told: JsonObject | None = None
    while told is None:
        asked += 1
        patience = iter([60.0] * asked)
        try:
            told = scene.forget("user", seconds_left=lambda patience=patience: next(patience, 1.0))  # type: ignore[misc]
        except Unfinished:
            assert asked < 100
    assert asked > 5
    ended(aviary, scene, dry, told)


def test_a_queue_that_takes_all_the_time_is_no_harm(aviary: Aviary) -> None:
    scene, left = Scene(aviary), [60.0]

    class Slow(Letters):
        def discard(self, is_about: Callable[[JsonObject], bool], most: int, /) -> Discarded:
            left[0] = 1.0
            return super().discard(is_about, most)

    dry = aviary.forget("user", scene.talk.user, dry_run=True)
    aviary.letters["intake"] = Slow(aviary.letters["intake"].bodies)
    with pytest.raises(Unfinished):
        scene.forget("user", seconds_left=lambda: left[0])
    ended(aviary, scene, dry, scene.forget("user"))


def test_what_is_written_while_it_is_looked_goes_too(aviary: Aviary, monkeypatch: pytest.MonkeyPatch) -> None:
    talk, look = Talk(aviary.desk), texts.Search.look
    told = talk.say(f"My account is {NAME}, please.", says("Noted."))

    def looked(self: texts.Search, left: Callable[[], float]) -> bool:
        found = look(self, left)
        talk.say("Which account was it?", says(f"It was {NAME}."))
        talk.fact(NAME, told, key="identifier.account")
        return found

    monkeypatch.setattr(texts.Search, "look", looked)
    aviary.forget("message", told)
    assert aviary.seen() == {}


def test_what_they_say_while_they_are_forgotten_goes_too(aviary: Aviary, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, letters, said = Scene(aviary), erase._Work._letters, 0
    risk: JsonObject = {"severity": "high", "state": "open", "owner": OWNER}
    made = calls("create_entity", kind="risk", name=f"Crate {NAME}", project="project/NRS", properties=risk)

    def meanwhile(self: erase._Work) -> None:
        nonlocal said
        letters(self)
        said += 1
        if said == 1:
            scene.talk.say(f"And note {PICTURE} as a risk.", made, says("Done."))

    monkeypatch.setattr(erase._Work, "_letters", meanwhile)
    told = scene.forget("user")
    assert said == 2
    assert aviary.seen() == {}
    assert told["finished"]


def test_what_was_forgotten_is_not_thrown_away_once_more(aviary: Aviary) -> None:
    talk = Talk(aviary.desk)
    told = talk.say(f"My account is {NAME}, please.", says("Noted."))
    talk.say("Thanks.", says("Not at all."))
    first = aviary.forget("message", told)
    talk.summary("They thanked.", 2, 1)
    assert aviary.forget("message", told) == first
    assert aviary.desk.rows("SELECT text FROM summaries") == [("They thanked.",)]
    again = aviary.forget("message", told, dry_run=True)
    assert NAME not in canonical(again)


def test_a_report_is_of_its_kind(aviary: Aviary) -> None:
    talk = Talk(aviary.desk)
    talk.say("Good morning.", says("Good morning."))
    aviary.forget("user", talk.user)
    with pytest.raises(NotFound):
        aviary.forget("fact", talk.user)


def test_who_writes_from_the_same_number_while_they_are_forgotten_is_somebody_new(
    aviary: Aviary, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, letters = aviary.desk, erase._Work._letters
    desk.write(f"My account is {NAME}.", "before")
    desk.model.script = [says("Noted.")]
    desk.run()
    ((user,),) = desk.rows(f"SELECT id FROM users WHERE phone = '{PHONE}'")

    def meanwhile(self: erase._Work) -> None:
        letters(self)
        desk.write("Good morning.", "meanwhile")

    monkeypatch.setattr(erase._Work, "_letters", meanwhile)
    aviary.forget("user", cast("UUID", user))
    assert aviary.seen() == {}
    assert desk.rows("SELECT body FROM messages") == [("Good morning.",)]
    assert desk.rows(f"SELECT id = '{user}' FROM users WHERE phone = '{PHONE}'") == [(False,)]
