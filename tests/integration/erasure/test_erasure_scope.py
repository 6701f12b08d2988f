"""A message, a file or a fact is forgotten: what was made of it goes, what has nothing to do with it stays."""

from datetime import timedelta
from uuid import UUID

import pytest

from parlour.erasure import execution
from parlour.erasure.execution import ErasureDependencies, ErasureRequest
from parlour.erasure.report import ErasureTarget
from parlour.infra.errors import Conflict, Forbidden, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.principal import Principal
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call
from tests.integration.erasure.erasure_fixture import ErasureFixture, unreported_rows
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.web_conversation import WebConversation

CODE = "CANARY-77X"


def left(desk: ConversationHarness, table: str, column: str = "id") -> list[object]:
    return [one for (one,) in desk.query(f"SELECT {column} FROM {table} ORDER BY 1")]


def rebuilt(desk: ConversationHarness, turn: int) -> JsonObject:
    ((turn_id,),) = desk.query(f"SELECT id FROM turns WHERE number = {turn}")
    with desk.database.transaction(desk.admin) as tx:
        return rebuild_turn_prompt(desk.admin, tx, UUID(str(turn_id)))


def test_a_message_goes_with_its_reply_and_with_what_repeats_it_and_its_neighbours_stay(
    aviary: ErasureFixture, talk: WebConversation
) -> None:
    before = talk.say("The crane comes on Monday.", text_answer("Good."))
    told = talk.say(f"My gate code is {CODE}.", text_answer(f"I noted {CODE}."))
    later = talk.say(
        "What did I say?", search_call(f"gate {CODE}", "c9"), text_answer(f"Your code is {CODE}, of course.")
    )
    other = talk.say("Thanks, and the wind?", text_answer("38 km/h."))
    aviary.embed()
    assert len(aviary.canaries_by_table()) >= 6

    report = aviary.forget("message", told)
    assert aviary.canaries_by_table() == {}
    assert talk.read_column("body", told) == ""
    assert [talk.read_column("body", one) for one in (before, later, other)] == [
        "The crane comes on Monday.", "What did I say?", "Thanks, and the wind?"
    ]  # fmt: skip
    assert report["counts"]["emptied"] > 0  # type: ignore[index, call-overload, operator]
    prompt = talk.next_prompt()
    assert CODE not in prompt
    assert "The crane comes on Monday." in prompt
    assert "38 km/h." in prompt


def test_the_record_of_a_prompt_says_what_of_it_was_forgotten(aviary: ErasureFixture, talk: WebConversation) -> None:
    told = talk.say(f"My gate code is {CODE}, if you please.", text_answer("Good."))
    for text in ("Thanks.", "And the wind?"):
        talk.say(text, text_answer("Not at all."))
    assert rebuilt(aviary.desk, 2)["is_identical"]
    aviary.forget("message", told)
    again = rebuilt(aviary.desk, 2)
    assert again["erased"]
    assert again["text"] is None


def test_what_others_say_in_the_same_words_stays(aviary: ErasureFixture, talk: WebConversation) -> None:
    once = talk.say("My number is 4711-X.", text_answer("Noted."))
    talk.say("Again: 4711-X.", text_answer("It is 4711-X, yes."))
    aviary.forget("message", once)
    assert left(aviary.desk, "messages WHERE direction = 'outbound'", "body") == ["", "It is 4711-X, yes."]


def test_a_fact_that_took_anothers_place_is_forgotten_with_its_message_and_the_other_is_so_again(
    aviary: ErasureFixture, talk: WebConversation
) -> None:
    first = talk.say("Hello.", text_answer("Good morning."))
    second = talk.say("Good evening, then.", text_answer("Good evening."))
    new = talk.add_fact("Nashik", second)
    old = talk.add_fact("Pune", first, superseded_by=new)
    report = aviary.forget("message", second)
    assert aviary.desk.query("SELECT id, valid_until, ended FROM facts") == [(old, None, None)]
    assert report["counts"]["restored"] == 1  # type: ignore[index, call-overload]


def test_an_old_value_is_not_so_again_where_another_took_its_place_since(
    aviary: ErasureFixture, talk: WebConversation
) -> None:
    first, second, third = (talk.say(text, text_answer("Yes.")) for text in ("One.", "Two.", "Three."))
    newest = talk.add_fact("Goa", third)
    middle = talk.add_fact("Nashik", second, superseded_by=newest)
    talk.add_fact("Pune", first, superseded_by=middle)
    aviary.forget("message", second)
    assert aviary.desk.query("SELECT value, valid_until IS NULL FROM facts ORDER BY value") == [
        ("Goa", True), ("Pune", False)
    ]  # fmt: skip


def test_a_fact_that_another_message_says_too_stays_and_is_that_ones(
    aviary: ErasureFixture, talk: WebConversation
) -> None:
    first = talk.say("Pune, as it were.", text_answer("Nice."))
    second = talk.say("In Pune it rains.", text_answer("Yes."))
    fact = talk.add_fact("Pune", first, second, key="preference.town")
    report = aviary.forget("message", first)
    assert aviary.desk.query(f"SELECT value, messages FROM facts WHERE id = '{fact}'") == [("Pune", [second])]
    assert report["counts"]["kept"] == 1  # type: ignore[index, call-overload]


def test_summaries_that_tell_of_it_go_and_are_written_anew_and_earlier_ones_stay(
    aviary: ErasureFixture, talk: WebConversation
) -> None:
    for number in range(3):
        talk.say(f"Word {number}.", text_answer("Yes."))
    told = talk.say(f"It is {CODE}.", text_answer("Yes."))
    for version, until in enumerate((2, 4, 6), 1):
        talk.add_summary(f"Up to {until}", until, version)
    report = aviary.forget("message", told)
    assert left(aviary.desk, "summaries", "version") == [1]
    assert report["recreated"] == [f"summary/{talk.session}"]
    assert aviary.desk.query(f"SELECT kind FROM work_due WHERE id = '{talk.session}' AND kind = 'summary'")


def test_whoever_is_at_work_on_it_keeps_nothing_of_it(aviary: ErasureFixture, talk: WebConversation) -> None:
    desk = aviary.desk
    told = talk.say(f"It is {CODE}.", text_answer("Yes."))
    desk.query(f"UPDATE work_due SET held_until = now() WHERE kind = 'memory' AND id = '{talk.session}' RETURNING 1")
    ((before,),) = desk.query(f"SELECT lease_token FROM sessions WHERE id = '{talk.session}'")
    aviary.forget("message", told)
    assert desk.query("SELECT held_until FROM work_due WHERE kind = 'memory'") == [(None,)]
    assert desk.query(f"SELECT lease_token FROM sessions WHERE id = '{talk.session}'") > [(before,)]


def test_what_its_calls_did_to_records_goes_or_stays_as_the_tenant_wants(
    aviary: ErasureFixture, talk: WebConversation
) -> None:
    desk = aviary.desk
    risk: JsonObject = {"severity": "high", "state": "open", "owner": "Asha", "response": f"Call {CODE}."}
    made = tool_call("create_entity", kind="risk", name="Gate", project="project/NRS", properties=risk)
    told = talk.say("Note it, please.", made, text_answer("Done."))
    report = aviary.forget("message", told, keep_records=True)
    ((record, name),) = desk.query("SELECT id, name FROM entities WHERE properties->>'owner' = 'Asha'")
    assert name == "Gate"
    assert {
        "table": "entities",
        "action": "kept",
        "reason": "your records are kept",
        "count": 1,
        "ids": [str(record)],
    } in (kept := [one for one in _rows(report) if one["action"] == "kept"])
    assert {one["table"] for one in kept} >= {"entities", "context_rows"}
    aviary.forget("message", told)
    assert aviary.canaries_by_table() == {}
    assert desk.query("SELECT name, deleted_at IS NULL FROM entities WHERE properties = '{}'") == [("", False)]


def test_what_its_calls_changed_of_a_record_and_stays_is_listed(aviary: ErasureFixture, talk: WebConversation) -> None:
    change = tool_call("update_entity", entity="risk/R-03", properties={"response": f"Ask {CODE}"})
    told = talk.say("Change it, please.", change, text_answer("Done."))
    ((record,),) = aviary.desk.query("SELECT id FROM entities WHERE key = 'R-03'")
    report = aviary.forget("message", told, keep_records=True)
    kept = {str(one["table"]): one["ids"] for one in _rows(report) if one["action"] == "kept"}
    assert kept["entities"] == [f"{record}/response"]
    assert len(kept["context_rows"]) == 1  # type: ignore[arg-type]


def _rows(report: JsonObject) -> list[JsonObject]:
    rows = report["rows"]
    assert isinstance(rows, list)
    return [one for one in rows if isinstance(one, dict)]


def test_a_value_that_its_kind_requires_stays_and_is_told(aviary: ErasureFixture, talk: WebConversation) -> None:
    change = tool_call("update_entity", entity="risk/R-03", properties={"owner": CODE, "response": f"Ask {CODE}"})
    told = talk.say("Change it, please.", change, text_answer("Done."))
    report = aviary.forget("message", told)
    ((properties,),) = aviary.desk.query("SELECT properties FROM entities WHERE key = 'R-03'")
    assert isinstance(properties, dict)
    assert "response" not in properties
    assert properties["owner"] == CODE
    assert "its kind requires it" in canonical_json(report)


def test_a_message_that_is_being_answered_waits(aviary: ErasureFixture, talk: WebConversation) -> None:
    told = talk.say("Hello.", text_answer("Good morning."))
    aviary.desk.query("UPDATE turns SET state = 'open' RETURNING 1")
    with pytest.raises(Conflict):
        aviary.forget("message", told)


def test_a_file_goes_with_what_was_read_from_it_and_with_the_turns_that_drew_from_it(
    aviary: ErasureFixture, talk: WebConversation
) -> None:
    desk = aviary.desk
    files = UploadHarness(desk.database, desk.admin, desk.clock, bucket=aviary.room.files)
    file = files.upload(f"{CODE}.md", f"# Gate\n\nThe gate opens with {CODE} at night.".encode(), "project/NRS")
    files.run_ingestion()
    aviary.embed()
    talk.say(
        "How does the gate open?", search_call("how does the gate open at night"), text_answer(f"With {CODE} [1].")
    )
    talk.say("Thanks.", text_answer("Not at all."))
    assert {
        "table context_rows",
        "table messages",
        "table tool_calls",
        "object files",
    } <= aviary.canaries_by_table().keys()
    before = aviary.rows()
    report = aviary.forget("file", file.id)
    assert aviary.canaries_by_table() == {}
    assert unreported_rows(before, aviary.rows(), report) == []
    assert "Thanks." in talk.next_prompt()


def test_a_fact_goes_alone_and_is_not_made_anew_by_what_it_was_drawn_from(
    aviary: ErasureFixture, talk: WebConversation
) -> None:
    desk = aviary.desk
    told = talk.say("Remember that my flat is in Pune.", text_answer("Nice."))
    ((fact,),) = desk.query("SELECT id FROM facts WHERE value = 'my flat is in Pune'")
    desk.clock.now += timedelta(minutes=1)
    assert "Pune" in talk.next_prompt("Where do I live, do you know?")
    before = aviary.rows()
    report = aviary.forget("fact", UUID(str(fact)))
    assert unreported_rows(before, aviary.rows(), report) == []
    assert left(desk, "facts") == []
    assert desk.query("SELECT key, decision, messages FROM fact_decisions WHERE decision = 'forgotten'") == [
        ("about.flat_pune", "forgotten", [told])
    ]
    assert "still says it" in canonical_json(report["out_of_reach"])
    assert talk.read_column("body", told) == "Remember that my flat is in Pune."


def test_what_is_not_there_is_not_found_and_what_was_forgotten_gives_its_report_again(
    aviary: ErasureFixture, talk: WebConversation
) -> None:
    with pytest.raises(NotFound):
        aviary.forget("user", uuid7(aviary.desk.clock()))
    talk.say("Hello.", text_answer("Good morning."))
    report = aviary.forget("user", talk.user)
    assert aviary.forget("user", talk.user)["id"] == report["id"]


def test_nobody_but_an_administrator_has_anything_forgotten(aviary: ErasureFixture) -> None:
    desk = aviary.desk
    services = ErasureDependencies(desk.database, aviary.bucket, aviary.room.files, {}, desk.clock, uuid7)
    editor = Principal(desk.tenant_id, "key", roles=frozenset({"editor", "viewer"}), clearance=3)
    with pytest.raises(Forbidden):
        execution.erase(editor, services, ErasureRequest(ErasureTarget("user", uuid7(desk.clock()))), lambda: 60.0)
