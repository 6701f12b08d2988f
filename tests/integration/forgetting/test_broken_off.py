"""A forgetting that breaks off in the middle is finished by asking again, and finds what the first would have."""

import pytest

from local.database import Cluster
from parlour.forgetting import erase
from parlour.forgetting.erase import Services, Unfinished, Wish
from parlour.forgetting.report import Kind, Target
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from tests.desk import Desk, calls, says, searches
from tests.integration.forgetting.aviary import Aviary, Room
from tests.integration.knowledge.file_desk import FileDesk
from tests.integration.talking import Talk

NAME, OWNER, RESPONSE = "CANARY-71X", "CANARY-72X", "CANARY-73X"


class Killed(Exception):
    """The process is gone."""


@pytest.fixture
def aviary(desk: Desk, cluster: Cluster, database_name: str) -> Aviary:
    return Aviary(Room(desk), cluster, database_name)


def killed(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Whoever forgets is killed at the beginning of that part."""

    def kill(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(erase._Work, where, kill)


@pytest.mark.parametrize("where", ["_objects", "_told_to_others", "_conversation", "_letters"])
@pytest.mark.parametrize("kind", ["user", "message"])
def test_what_others_were_told_of_what_its_calls_wrote_is_found_the_second_time(
    aviary: Aviary, monkeypatch: pytest.MonkeyPatch, where: str, kind: Kind
) -> None:
    talk, other = Talk(aviary.desk), Talk(aviary.desk)
    risk: JsonObject = {"severity": "high", "state": "open", "owner": OWNER}
    made = calls("create_entity", kind="risk", name=f"Crate {NAME}", project="project/NRS", properties=risk)
    change = calls("update_entity", "c2", entity="risk/R-03", properties={"response": f"Call {RESPONSE} first."})
    told = talk.say("Note a risk and change the other.", [*made, *change], says("Done."))
    ((key,),) = aviary.desk.rows(f"SELECT key FROM entities WHERE name LIKE '%{NAME}%'")
    other.say("What of it?", calls("get_entity", "c3", entities=[f"risk/{key}"]), says(f"It is {NAME} of {OWNER}."))
    other.say("And R-03?", calls("get_entity", "c4", entities=["risk/R-03"]), says(f"{RESPONSE} is called first."))
    target = talk.user if kind == "user" else told
    assert len(aviary.seen()) >= 6

    killed(monkeypatch, where)
    with pytest.raises(Killed):
        aviary.forget(kind, target)
    monkeypatch.undo()
    aviary.forget(kind, target)
    assert aviary.seen() == {}


def test_who_drew_from_a_file_is_found_the_second_time(aviary: Aviary, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, talk = aviary.desk, Talk(aviary.desk)
    files = FileDesk(desk.database, desk.admin, desk.clock, bucket=aviary.room.files)
    file = files.upload("gate.md", f"# Gate\n\nThe gate opens with {NAME} at night.".encode(), "project/NRS")
    files.work()
    aviary.embed()
    talk.say("How does the gate open?", searches("how does the gate open at night"), says(f"With {NAME} [1]."))
    killed(monkeypatch, "_letters")
    with pytest.raises(Killed):
        aviary.forget("file", file.id)
    monkeypatch.undo()
    aviary.forget("file", file.id)
    assert aviary.seen() == {}


def test_what_was_begun_has_a_report_and_so_has_what_went_on(aviary: Aviary, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, talk = aviary.desk, Talk(aviary.desk)
    talk.say("Good morning.", says("Good morning."))
    services = Services(desk.database, aviary.bucket, aviary.room.files, {}, desk.clock, uuid7)
    left = iter([60.0] * 2)
    with pytest.raises(Unfinished):
        erase.forget(desk.admin, services, Wish(Target("user", talk.user)), lambda: next(left, 1.0))
    told = aviary.forget("user", talk.user)

    def listed(tx: Transaction) -> list[object]:
        return [one.report["finished"] for one in erase.reports(desk.admin, tx)]

    assert desk.database.run(desk.admin, listed) == [True, False]
    assert told["finished"]
    assert aviary.forget("user", talk.user)["id"] == told["id"]
