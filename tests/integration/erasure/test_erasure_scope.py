"""A message, a file or a fact is forgotten: what was made of it goes, what has nothing to do with it stays."""

from datetime import timedelta
from uuid import UUID

import pytest

from local.example_tenant import PACK_FOLDER
from parlour.erasure import execution
from parlour.erasure.execution import ErasureDependencies, ErasureRequest
from parlour.erasure.report import ErasureTarget
from parlour.infra.errors import Conflict, Forbidden, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.packs import folder
from parlour.packs.apply import ApplyOptions, apply
from parlour.packs.merge import Decisions
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.conversation_harness import ConversationHarness, WordEmbedder, search_call, text_answer, tool_call
from tests.integration.erasure.erasure_fixture import ErasureFixture, unreported_rows
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.web_conversation import WebConversation

CODE = "CANARY-77X"


def left(conversation: ConversationHarness, table: str, column: str = "id") -> list[object]:
    return [one for (one,) in conversation.query(f"SELECT {column} FROM {table} ORDER BY 1")]


def rebuilt(conversation: ConversationHarness, turn: int) -> JsonObject:
    ((turn_id,),) = conversation.query(f"SELECT id FROM turns WHERE number = {turn}")
    with conversation.database.transaction(conversation.admin) as tx:
        return rebuild_turn_prompt(conversation.admin, tx, UUID(str(turn_id)))


def test_a_message_goes_with_its_reply_and_with_what_repeats_it_and_its_neighbours_stay(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    before = web_conversation.say("The crane comes on Monday.", text_answer("Good."))
    told = web_conversation.say(f"My gate code is {CODE}.", text_answer(f"I noted {CODE}."))
    later = web_conversation.say(
        "What did I say?", search_call(f"gate {CODE}", "c9"), text_answer(f"Your code is {CODE}, of course.")
    )
    other = web_conversation.say("Thanks, and the wind?", text_answer("38 km/h."))
    erasure_fixture.embed()
    assert len(erasure_fixture.canaries_by_table()) >= 6

    report = erasure_fixture.forget("message", told)
    assert erasure_fixture.canaries_by_table() == {}
    assert web_conversation.read_column("body", told) == ""
    assert [web_conversation.read_column("body", one) for one in (before, later, other)] == [
        "The crane comes on Monday.",
        "What did I say?",
        "Thanks, and the wind?",
    ]
    assert report["counts"]["redacted"] > 0  # type: ignore[index, call-overload, operator]
    prompt = web_conversation.next_prompt()
    assert CODE not in prompt
    assert "The crane comes on Monday." in prompt
    assert "38 km/h." in prompt


def test_the_record_of_a_prompt_says_what_of_it_was_forgotten(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    told = web_conversation.say(f"My gate code is {CODE}, if you please.", text_answer("Good."))
    for text in ("Thanks.", "And the wind?"):
        web_conversation.say(text, text_answer("Not at all."))
    assert rebuilt(erasure_fixture.desk, 2)["is_identical"]
    erasure_fixture.forget("message", told)
    again = rebuilt(erasure_fixture.desk, 2)
    assert again["erased"]
    assert again["text"] is None


def test_what_others_say_in_the_same_words_stays(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    once = web_conversation.say("My number is 4711-X.", text_answer("Noted."))
    web_conversation.say("Again: 4711-X.", text_answer("It is 4711-X, yes."))
    erasure_fixture.forget("message", once)
    assert left(erasure_fixture.desk, "messages WHERE direction = 'outbound'", "body") == ["", "It is 4711-X, yes."]


def test_a_fact_that_took_anothers_place_is_forgotten_with_its_message_and_the_other_is_so_again(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    first = web_conversation.say("Hello.", text_answer("Good morning."))
    second = web_conversation.say("Good evening, then.", text_answer("Good evening."))
    new = web_conversation.add_fact("Nashik", second)
    old = web_conversation.add_fact("Pune", first, superseded_by=new)
    report = erasure_fixture.forget("message", second)
    assert erasure_fixture.desk.query("SELECT id, valid_until, end_reason FROM facts") == [(old, None, None)]
    assert report["counts"]["restored"] == 1  # type: ignore[index, call-overload]


def test_an_old_value_is_not_so_again_where_another_took_its_place_since(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    first, second, third = (web_conversation.say(text, text_answer("Yes.")) for text in ("One.", "Two.", "Three."))
    newest = web_conversation.add_fact("Goa", third)
    middle = web_conversation.add_fact("Nashik", second, superseded_by=newest)
    web_conversation.add_fact("Pune", first, superseded_by=middle)
    erasure_fixture.forget("message", second)
    assert erasure_fixture.desk.query("SELECT value, valid_until IS NULL FROM facts ORDER BY value") == [
        ("Goa", True),
        ("Pune", False),
    ]


def test_a_fact_that_another_message_says_too_stays_and_is_that_ones(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    first = web_conversation.say("Pune, as it were.", text_answer("Nice."))
    second = web_conversation.say("In Pune it rains.", text_answer("Yes."))
    fact = web_conversation.add_fact("Pune", first, second, key="preference.town")
    report = erasure_fixture.forget("message", first)
    assert erasure_fixture.desk.query(f"SELECT value, message_ids FROM facts WHERE id = '{fact}'") == [
        ("Pune", [second])
    ]
    assert report["counts"]["kept"] == 1  # type: ignore[index, call-overload]


def test_summaries_that_tell_of_it_go_and_are_written_anew_and_earlier_ones_stay(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    for number in range(3):
        web_conversation.say(f"Word {number}.", text_answer("Yes."))
    told = web_conversation.say(f"It is {CODE}.", text_answer("Yes."))
    for version, until in enumerate((2, 4, 6), 1):
        web_conversation.add_summary(f"Up to {until}", until, version)
    report = erasure_fixture.forget("message", told)
    assert left(erasure_fixture.desk, "summaries", "version") == [1]
    assert report["recreated"] == [f"summary/{web_conversation.session}"]
    assert erasure_fixture.desk.query(
        f"SELECT kind FROM work_due WHERE id = '{web_conversation.session}' AND kind = 'summary'"
    )


def test_whoever_is_at_work_on_it_keeps_nothing_of_it(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    desk = erasure_fixture.desk
    told = web_conversation.say(f"It is {CODE}.", text_answer("Yes."))
    desk.query(
        f"UPDATE work_due SET leased_until = now() WHERE kind = 'extraction' AND id = '{web_conversation.session}'"
        " RETURNING 1"
    )
    ((before,),) = desk.query(f"SELECT lease_token FROM sessions WHERE id = '{web_conversation.session}'")
    erasure_fixture.forget("message", told)
    assert desk.query("SELECT leased_until FROM work_due WHERE kind = 'extraction'") == [(None,)]
    assert desk.query(f"SELECT lease_token FROM sessions WHERE id = '{web_conversation.session}'") > [(before,)]


def test_what_its_calls_did_to_records_goes_or_stays_as_the_tenant_wants(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    desk = erasure_fixture.desk
    risk: JsonObject = {"severity": "high", "state": "open", "owner": "Asha", "response": f"Call {CODE}."}
    made = tool_call("create_entity", kind="risk", name="Gate", project="project/NRS", properties=risk)
    told = web_conversation.say("Note it, please.", made, text_answer("Done."))
    report = erasure_fixture.forget("message", told, keep_records=True)
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
    erasure_fixture.forget("message", told)
    assert erasure_fixture.canaries_by_table() == {}
    assert desk.query("SELECT name, deleted_at IS NULL FROM entities WHERE properties = '{}'") == [("", False)]


def test_what_its_calls_changed_of_a_record_and_stays_is_listed(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    change = tool_call("update_entity", entity="risk/R-03", properties={"response": f"Ask {CODE}"})
    told = web_conversation.say("Change it, please.", change, text_answer("Done."))
    ((record,),) = erasure_fixture.desk.query("SELECT id FROM entities WHERE key = 'R-03'")
    report = erasure_fixture.forget("message", told, keep_records=True)
    kept = {str(one["table"]): one["ids"] for one in _rows(report) if one["action"] == "kept"}
    assert kept["entities"] == [f"{record}/response"]
    assert len(kept["context_rows"]) == 1  # type: ignore[arg-type]


def test_what_an_apply_replaced_is_erased_with_the_call_that_wrote_it(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    change = tool_call("update_entity", entity="risk/R-03", properties={"response": f"Ask {CODE}"})
    message = web_conversation.say("Change it, please.", change, text_answer("Done."))
    desk, files = erasure_fixture.desk, folder.read_folder(PACK_FOLDER)
    path = "entities/risk.yaml"
    files[path] = files[path].replace("Stop at C3", "Stop at C4")
    take = ApplyOptions(Decisions("take"))
    apply(desk.admin, desk.database, WordEmbedder(), validate(files), desk.clock(), options=take)
    assert "table pack_changes" in erasure_fixture.canaries_by_table()
    erasure_fixture.forget("message", message)
    assert "table pack_changes" not in erasure_fixture.canaries_by_table()


def _rows(report: JsonObject) -> list[JsonObject]:
    rows = report["rows"]
    assert isinstance(rows, list)
    return [one for one in rows if isinstance(one, dict)]


def test_a_value_that_its_kind_requires_stays_and_is_told(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    change = tool_call("update_entity", entity="risk/R-03", properties={"owner": CODE, "response": f"Ask {CODE}"})
    told = web_conversation.say("Change it, please.", change, text_answer("Done."))
    report = erasure_fixture.forget("message", told)
    ((properties,),) = erasure_fixture.desk.query("SELECT properties FROM entities WHERE key = 'R-03'")
    assert isinstance(properties, dict)
    assert "response" not in properties
    assert properties["owner"] == CODE
    assert "its kind requires it" in canonical_json(report)


def test_a_message_that_is_being_answered_waits(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    told = web_conversation.say("Hello.", text_answer("Good morning."))
    erasure_fixture.desk.query("UPDATE turns SET state = 'open' RETURNING 1")
    with pytest.raises(Conflict):
        erasure_fixture.forget("message", told)


def test_a_file_goes_with_what_was_read_from_it_and_with_the_turns_that_drew_from_it(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    desk = erasure_fixture.desk
    files = UploadHarness(desk.database, desk.admin, desk.clock, bucket=erasure_fixture.room.files)
    file = files.upload(f"{CODE}.md", f"# Gate\n\nThe gate opens with {CODE} at night.".encode(), "project/NRS")
    files.run_ingestion()
    erasure_fixture.embed()
    web_conversation.say(
        "How does the gate open?", search_call("how does the gate open at night"), text_answer(f"With {CODE} [1].")
    )
    web_conversation.say("Thanks.", text_answer("Not at all."))
    assert {
        "table context_rows",
        "table messages",
        "table tool_calls",
        "object files",
    } <= erasure_fixture.canaries_by_table().keys()
    before = erasure_fixture.rows()
    report = erasure_fixture.forget("file", file.id)
    assert erasure_fixture.canaries_by_table() == {}
    assert unreported_rows(before, erasure_fixture.rows(), report) == []
    assert "Thanks." in web_conversation.next_prompt()


def test_a_fact_goes_alone_and_is_not_made_anew_by_what_it_was_drawn_from(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    desk = erasure_fixture.desk
    told = web_conversation.say("Remember that my flat is in Pune.", text_answer("Nice."))
    ((fact,),) = desk.query("SELECT id FROM facts WHERE value = 'my flat is in Pune'")
    desk.clock.now += timedelta(minutes=1)
    assert "Pune" in web_conversation.next_prompt("Where do I live, do you know?")
    before = erasure_fixture.rows()
    report = erasure_fixture.forget("fact", UUID(str(fact)))
    assert unreported_rows(before, erasure_fixture.rows(), report) == []
    assert left(desk, "facts") == []
    assert desk.query("SELECT key, decision, message_ids FROM fact_decisions WHERE decision = 'erased'") == [
        ("about.flat_pune", "erased", [told])
    ]
    assert "still says it" in canonical_json(report["out_of_reach"])
    assert web_conversation.read_column("body", told) == "Remember that my flat is in Pune."


def test_what_is_not_there_is_not_found_and_what_was_forgotten_gives_its_report_again(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation
) -> None:
    with pytest.raises(NotFound):
        erasure_fixture.forget("user", uuid7(erasure_fixture.desk.clock()))
    web_conversation.say("Hello.", text_answer("Good morning."))
    report = erasure_fixture.forget("user", web_conversation.user)
    assert erasure_fixture.forget("user", web_conversation.user)["id"] == report["id"]


def test_nobody_but_an_administrator_has_anything_forgotten(erasure_fixture: ErasureFixture) -> None:
    desk = erasure_fixture.desk
    services = ErasureDependencies(desk.database, erasure_fixture.bucket, erasure_fixture.room.files, {}, desk.clock)
    editor = Principal(desk.tenant_id, "key", roles=frozenset({"editor", "viewer"}), clearance=3)
    with pytest.raises(Forbidden):
        execution.erase(editor, services, ErasureRequest(ErasureTarget("user", uuid7(desk.clock()))), lambda: 60.0)
