"""A forgetting that breaks off anywhere, or has no time left, is finished by asking again: it finds what the first
would have, and its report has every row."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import pytest

from parlour.erasure import execution, prompt_texts
from parlour.erasure.execution import ErasureDependencies, ErasureRequest
from parlour.erasure.report import ErasableKind, ErasureTarget, ErasureUnfinished
from parlour.infra.errors import NotFound
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Transaction
from parlour.jobs.dead_letters import DiscardResult
from parlour.principal import Principal
from tests.conversation_harness import PHONE, search_call, text_answer, tool_call
from tests.inbound_media import InboundMedia
from tests.integration.erasure.erasure_fixture import ErasureFixture, FakeDeadLetters
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.web_conversation import WebConversation

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

    aviary: ErasureFixture
    talk: WebConversation = field(init=False)
    told: UUID = field(init=False)

    def __post_init__(self) -> None:
        desk = self.aviary.desk
        self.talk, other = WebConversation(desk), WebConversation(desk)
        risk: JsonObject = {"severity": "high", "state": "open", "owner": OWNER}
        made = tool_call("create_entity", kind="risk", name=f"Crate {NAME}", project="project/NRS", properties=risk)
        change = tool_call(
            "update_entity", "c2", entity="risk/R-03", properties={"response": f"Call {RESPONSE} first."}
        )
        self.told = self.talk.say("Note a risk and change the other.", [*made, *change], text_answer("Done."))
        ((key,),) = desk.query(f"SELECT key FROM entities WHERE name LIKE '%{NAME}%'")
        other.say(
            "What of it?",
            tool_call("get_entity", "c3", entities=[f"risk/{key}"]),
            text_answer(f"It is {NAME} of {OWNER}."),
        )
        other.say(
            "And R-03?",
            tool_call("get_entity", "c4", entities=["risk/R-03"]),
            text_answer(f"{RESPONSE} is called first."),
        )
        other.say("The crane comes on Monday.", text_answer("On Monday, then."))
        post = InboundMedia(desk, self.aviary.bucket)
        key = post.upload_file(self.talk.visitor, self.talk.session, f"# {PICTURE}".encode(), "note.md")
        post.send_web(self.talk.visitor, self.talk.session, "See this.", key)
        desk.model.script = [text_answer("Seen.")]
        post.run_turn()
        self.aviary.letters["turns-web"].bodies = [{"session_id": str(self.talk.session)}]

    def target(self, kind: ErasableKind) -> UUID:
        return self.talk.user if kind == "user" else self.told

    def forget(
        self, kind: ErasableKind, life: Life | None = None, seconds_left: Callable[[], float] = lambda: 60.0
    ) -> JsonObject:
        return forgotten(self.aviary, kind, self.target(kind), life or Life(), seconds_left)


def forgotten(
    erasure_fixture: ErasureFixture,
    kind: ErasableKind,
    target: UUID,
    life: Life,
    seconds_left: Callable[[], float] = lambda: 60.0,
) -> JsonObject:
    desk = erasure_fixture.desk
    letters = {name: Mortal(one, life) for name, one in erasure_fixture.letters.items()}
    services = ErasureDependencies(
        cast("Any", Mortal(desk.database, life)),
        cast("Any", Mortal(erasure_fixture.bucket, life)),
        cast("Any", Mortal(erasure_fixture.room.files, life)),
        cast("Any", letters),
        desk.clock,
    )
    return execution.erase(desk.admin, services, ErasureRequest(ErasureTarget(kind, target)), seconds_left)


def named(report: JsonObject) -> set[tuple[str, str]]:
    """Every row of a report; texts are only counted, and where some went unseen they are emptied."""
    rows = cast("list[dict[str, Any]]", report["rows"])
    return {(row["table"], "" if row["table"] == "ledger_texts" else one) for row in rows for one in row["ids"]}


def ended(erasure_fixture: ErasureFixture, scene: Scene, dry: JsonObject, told: JsonObject) -> None:
    """Nothing is left, others keep what is theirs, and one report names every row."""
    desk = erasure_fixture.desk
    assert erasure_fixture.canaries_by_table() == {}
    assert named(dry) <= named(told)
    assert told["finished"]
    assert told["object_keys"] == dry["object_keys"]
    assert desk.query("SELECT count(*) FROM messages WHERE body = 'On Monday, then.'") == [(1,)]
    assert desk.query("SELECT id::text, state FROM erasures") == [(told["id"], "done")]
    assert desk.query("SELECT count(*) FROM audit_log WHERE action LIKE '%.erased'") == [(1,)]
    kind = cast("ErasableKind", told["kind"])
    assert scene.forget(kind)["id"] == told["id"]
    if kind == "user":
        assert told["dead_letters"] == {"turns-web": 1} or "are not counted" in canonical_json(told["out_of_reach"])
        assert desk.query(f"SELECT count(*) FROM users WHERE id = '{scene.talk.user}'") == [(0,)]


@pytest.mark.parametrize("steps", [1, *range(6, 22)])
def test_a_user_is_forgotten_wherever_it_broke_off(erasure_fixture: ErasureFixture, steps: int) -> None:
    scene = Scene(erasure_fixture)
    assert len(erasure_fixture.canaries_by_table()) >= 6
    dry = erasure_fixture.forget("user", scene.talk.user, dry_run=True)
    life = Life(steps)
    try:
        told = scene.forget("user", life)
    except Killed:
        told = scene.forget("user")
    else:
        assert life.taken < steps
    ended(erasure_fixture, scene, dry, told)


@pytest.mark.parametrize("kind", ["user", "message"])
def test_who_is_killed_again_and_again_gets_on_all_the_same(
    erasure_fixture: ErasureFixture, kind: ErasableKind
) -> None:
    scene, died = Scene(erasure_fixture), 0
    dry = erasure_fixture.forget(kind, scene.target(kind), dry_run=True)
    told: JsonObject | None = None
    while told is None:
        try:
            told = scene.forget(kind, Life(died + 1))
        except Killed:
            died += 1
    assert died > 5
    if kind == "user":
        return ended(erasure_fixture, scene, dry, told)
    assert {
        where
        for where in erasure_fixture.canaries_by_table()
        if PICTURE not in erasure_fixture.canaries_by_table()[where]
    } == set()
    assert named(dry) <= named(told)
    return None


def test_who_drew_from_a_file_is_found_the_second_time(erasure_fixture: ErasureFixture) -> None:
    desk, talk = erasure_fixture.desk, WebConversation(erasure_fixture.desk)
    files = UploadHarness(desk.database, desk.admin, desk.clock, bucket=erasure_fixture.room.files)
    file = files.upload("gate.md", f"# Gate\n\nThe gate opens with {NAME} at night.".encode(), "project/NRS")
    files.run_ingestion()
    erasure_fixture.embed()
    talk.say(
        "How does the gate open?", search_call("how does the gate open at night"), text_answer(f"With {NAME} [1].")
    )
    died = 0
    while True:
        try:
            forgotten(erasure_fixture, "file", file.id, Life(died + 1))
            break
        except Killed:
            died += 1
    assert died > 5
    assert erasure_fixture.canaries_by_table() == {}


def test_without_time_to_read_all_of_their_own_prompts_nothing_goes_yet(
    erasure_fixture: ErasureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, asked = Scene(erasure_fixture), 0
    dry = erasure_fixture.forget("user", scene.talk.user, dry_run=True)
    monkeypatch.setattr(prompt_texts, "_RECORD_BATCH_SIZE", 1)
    before = erasure_fixture.canaries_by_table()
    with pytest.raises(ErasureUnfinished):
        scene.forget("user", seconds_left=lambda: 7.5)
    assert {
        where: seen for where, seen in erasure_fixture.canaries_by_table().items() if where != "table erasures"
    } == before
    told: JsonObject | None = None
    while told is None:
        asked += 1
        patience = iter([60.0] * asked)
        try:
            told = scene.forget("user", seconds_left=lambda patience=patience: next(patience, 1.0))  # type: ignore[misc]
        except ErasureUnfinished:
            assert asked < 100
    assert asked > 5
    ended(erasure_fixture, scene, dry, told)


def test_a_queue_that_takes_all_the_time_is_no_harm(erasure_fixture: ErasureFixture) -> None:
    scene, left = Scene(erasure_fixture), [60.0]

    class Slow(FakeDeadLetters):
        def discard(self, is_about: Callable[[JsonObject], bool], most: int, /) -> DiscardResult:
            left[0] = 1.0
            return super().discard(is_about, most)

    dry = erasure_fixture.forget("user", scene.talk.user, dry_run=True)
    erasure_fixture.letters["intake"] = Slow(erasure_fixture.letters["intake"].bodies)
    with pytest.raises(ErasureUnfinished):
        scene.forget("user", seconds_left=lambda: left[0])
    ended(erasure_fixture, scene, dry, scene.forget("user"))


def test_what_is_written_while_it_is_looked_goes_too(
    erasure_fixture: ErasureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk, look = WebConversation(erasure_fixture.desk), prompt_texts.PromptRecordSearch.search
    told = talk.say(f"My account is {NAME}, please.", text_answer("Noted."))

    def looked(self: prompt_texts.PromptRecordSearch, left: Callable[[], float]) -> bool:
        found = look(self, left)
        talk.say("Which account was it?", text_answer(f"It was {NAME}."))
        talk.add_fact(NAME, told, key="identifier.account")
        return found

    monkeypatch.setattr(prompt_texts.PromptRecordSearch, "search", looked)
    erasure_fixture.forget("message", told)
    assert erasure_fixture.canaries_by_table() == {}


def test_what_they_say_while_they_are_forgotten_goes_too(
    erasure_fixture: ErasureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, letters, said = Scene(erasure_fixture), execution._Erasure._delete_dead_letters, 0
    risk: JsonObject = {"severity": "high", "state": "open", "owner": OWNER}
    made = tool_call("create_entity", kind="risk", name=f"Crate {NAME}", project="project/NRS", properties=risk)

    def meanwhile(self: execution._Erasure) -> None:
        nonlocal said
        letters(self)
        said += 1
        if said == 1:
            scene.talk.say(f"And note {PICTURE} as a risk.", made, text_answer("Done."))

    monkeypatch.setattr(execution._Erasure, "_delete_dead_letters", meanwhile)
    told = scene.forget("user")
    assert said == 2
    assert erasure_fixture.canaries_by_table() == {}
    assert told["finished"]


def test_what_was_forgotten_is_not_thrown_away_once_more(erasure_fixture: ErasureFixture) -> None:
    talk = WebConversation(erasure_fixture.desk)
    told = talk.say(f"My account is {NAME}, please.", text_answer("Noted."))
    talk.say("Thanks.", text_answer("Not at all."))
    first = erasure_fixture.forget("message", told)
    talk.add_summary("They thanked.", 2, 1)
    assert erasure_fixture.forget("message", told) == first
    assert erasure_fixture.desk.query("SELECT text FROM summaries") == [("They thanked.",)]
    again = erasure_fixture.forget("message", told, dry_run=True)
    assert NAME not in canonical_json(again)


def test_a_report_is_of_its_kind(erasure_fixture: ErasureFixture) -> None:
    talk = WebConversation(erasure_fixture.desk)
    talk.say("Good morning.", text_answer("Good morning."))
    erasure_fixture.forget("user", talk.user)
    with pytest.raises(NotFound):
        erasure_fixture.forget("fact", talk.user)


def test_who_writes_from_the_same_number_while_they_are_forgotten_is_somebody_new(
    erasure_fixture: ErasureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, letters = erasure_fixture.desk, execution._Erasure._delete_dead_letters
    desk.send_whatsapp(f"My account is {NAME}.", "before")
    desk.model.script = [text_answer("Noted.")]
    desk.run_turn()
    ((user,),) = desk.query(f"SELECT id FROM users WHERE phone = '{PHONE}'")

    def meanwhile(self: execution._Erasure) -> None:
        letters(self)
        desk.send_whatsapp("Good morning.", "meanwhile")

    monkeypatch.setattr(execution._Erasure, "_delete_dead_letters", meanwhile)
    erasure_fixture.forget("user", cast("UUID", user))
    assert erasure_fixture.canaries_by_table() == {}
    assert desk.query("SELECT body FROM messages") == [("Good morning.",)]
    assert desk.query(f"SELECT id = '{user}' FROM users WHERE phone = '{PHONE}'") == [(False,)]
