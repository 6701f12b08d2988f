"""A session's new turns are looked through once, by a model whose word is held against the user's own."""

import json
from datetime import timedelta

import pytest

from parlour.infra.errors import ProviderUnavailable, RetryError, SpendRefused
from parlour.infra.postgres import Database
from parlour.memory import job_scheduling
from parlour.memory.extraction import extraction_job
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.memory.extraction_harness import (
    NO_MODEL,
    ExtractionConversation,
    extraction_answer,
    proposed_fact,
)

SPOKEN = "We do the accounts of the shop in Tally, by the way."


@pytest.fixture
def web_conversation(conversation: ConversationHarness) -> ExtractionConversation:
    """In which something was said that no fixed phrase says."""
    made = ExtractionConversation(conversation)
    made.say(SPOKEN)
    return made


def test_what_a_model_reads_becomes_a_fact_with_the_message_that_says_so(
    web_conversation: ExtractionConversation,
) -> None:
    web_conversation.run_extraction(extraction_answer(proposed_fact("about.software", "Tally", 1)))
    assert web_conversation.facts() == {"about.software": "Tally"}
    assert web_conversation.decisions() == [("about.software", "new")]
    ((origin, said),) = web_conversation.desk.query(
        "SELECT f.origin, m.body FROM facts f JOIN messages m ON m.id = ANY(f.message_ids)"
    )
    assert (origin, said) == ("extracted", SPOKEN)
    assert web_conversation.due_rows() == []


def test_only_new_turns_are_read(web_conversation: ExtractionConversation) -> None:
    web_conversation.run_extraction(extraction_answer())
    assert "Tally" in web_conversation.last_prompt()
    web_conversation.say("We also use Zoho for the payroll.")
    web_conversation.run_extraction(extraction_answer(proposed_fact("about.payroll", "Zoho", 1)))
    assert "Tally" not in web_conversation.last_prompt()
    assert web_conversation.facts() == {"about.payroll": "Zoho"}
    assert len(web_conversation.reader.requests) == 2


@pytest.mark.parametrize(("channel", "is_read"), [("web", True), ("whatsapp", False)])
def test_of_a_stopped_turn_the_user_s_words_are_read_and_a_reply_that_they_saw(
    web_conversation: ExtractionConversation, channel: str, is_read: bool
) -> None:
    web_conversation.desk.query("UPDATE turns SET state = 'stopped' RETURNING id")
    web_conversation.desk.query(f"UPDATE messages SET channel = '{channel}' RETURNING id")
    web_conversation.run_extraction(extraction_answer(proposed_fact("about.software", "Tally", 1)))
    assert web_conversation.facts() == {"about.software": "Tally"}
    assert ("I see." in web_conversation.last_prompt()) == is_read


def test_what_is_known_is_told_and_not_taken_twice(web_conversation: ExtractionConversation) -> None:
    web_conversation.say("My name is Meera.")
    web_conversation.run_extraction(extraction_answer(proposed_fact("name", "Meera", 2)))
    assert "- name: Meera" in web_conversation.last_prompt()
    assert web_conversation.decisions() == [("name", "duplicate")]


def test_a_call_is_paid_and_noted(web_conversation: ExtractionConversation) -> None:
    web_conversation.run_extraction(extraction_answer())
    assert web_conversation.desk.query("SELECT purpose, model FROM llm_calls WHERE purpose = 'memory'") == [
        ("memory", "claude-haiku-5-5")
    ]


def test_an_answer_that_cannot_be_read_is_asked_for_once_more(web_conversation: ExtractionConversation) -> None:
    web_conversation.run_extraction(
        "Surely! Here it is:", extraction_answer(proposed_fact("about.software", "Tally", 1))
    )
    assert web_conversation.facts() == {"about.software": "Tally"}
    again = web_conversation.reader.requests[-1].messages
    assert [message["role"] for message in again] == ["user", "assistant", "user"]


def test_and_let_be_with_a_row_that_says_so(web_conversation: ExtractionConversation) -> None:
    web_conversation.run_extraction("no", "no again")
    assert web_conversation.decisions() == [("", "malformed")]
    assert (web_conversation.facts(), web_conversation.due_rows()) == ({}, [])
    web_conversation.say("Hello?")
    web_conversation.run_extraction(extraction_answer())
    assert "Tally" not in web_conversation.last_prompt()


def test_without_an_answer_the_turns_stay_due_and_the_next_try_waits_longer(
    web_conversation: ExtractionConversation,
) -> None:
    waits = []
    for _ in range(3):
        web_conversation.run_extraction(*([ProviderUnavailable("away")] * 4), after=timedelta(hours=3))
        ((due_at,),) = web_conversation.due_rows()
        waits.append(due_at - web_conversation.desk.clock.now)  # type: ignore[operator]
    assert waits[0] < waits[1] < waits[2]
    assert web_conversation.attempts() == [(3, "provider_unavailable")]
    web_conversation.run_extraction(
        extraction_answer(proposed_fact("about.software", "Tally", 1)), after=timedelta(hours=3)
    )
    assert web_conversation.facts() == {"about.software": "Tally"}
    assert web_conversation.desk.query("SELECT extraction_cursor FROM session_memory_state") == [(1,)]
    assert web_conversation.attempts() == []


def test_a_tenant_over_its_cap_is_asked_again_in_an_hour_and_that_is_no_failure(
    web_conversation: ExtractionConversation,
) -> None:
    web_conversation.run_extraction(SpendRefused("no room"))
    ((due_at,),) = web_conversation.due_rows()
    assert due_at - web_conversation.desk.clock.now > timedelta(minutes=59)  # type: ignore[operator]
    assert web_conversation.attempts() == [(0, None)]


def test_where_there_is_no_model_nothing_is_asked_and_the_obvious_facts_stay(
    web_conversation: ExtractionConversation,
) -> None:
    web_conversation.say("My name is Meera.")
    web_conversation.run_extraction(models=NO_MODEL)
    assert (web_conversation.facts(), web_conversation.due_rows()) == ({"name": "Meera"}, [])


def test_a_message_that_comes_before_its_time_has_nothing_to_do(web_conversation: ExtractionConversation) -> None:
    web_conversation.run_extraction(after=timedelta(minutes=2))
    assert web_conversation.reader.requests == []
    assert len(web_conversation.due_rows()) == 1
    for _ in range(job_scheduling.MAX_WAITING_TURNS):
        web_conversation.say("And more.")
    web_conversation.run_extraction(extraction_answer(), after=timedelta())
    assert len(web_conversation.reader.requests) == 1


def test_a_message_that_comes_twice_finds_nothing(web_conversation: ExtractionConversation) -> None:
    web_conversation.run_extraction(extraction_answer())
    web_conversation.run_extraction()
    assert len(web_conversation.reader.requests) == 1


def test_what_is_said_meanwhile_waits_as_everything_does(web_conversation: ExtractionConversation) -> None:
    def meanwhile() -> None:
        web_conversation.say("And in the evening I teach.")

    web_conversation.reader.before_completion = meanwhile
    web_conversation.desk.memory.sent.clear()
    web_conversation.run_extraction(extraction_answer())
    assert len(web_conversation.due_rows()) == 1
    assert [seconds for _, seconds in web_conversation.desk.memory.sent] == [300.0]
    web_conversation.reader.before_completion = lambda: None
    web_conversation.run_extraction(extraction_answer(), after=job_scheduling.EXTRACTION_DELAY)
    assert "teach" in web_conversation.last_prompt()


def test_a_long_conversation_is_read_in_stretches(web_conversation: ExtractionConversation) -> None:
    for number in range(25):
        web_conversation.say(f"Line {number} of many.")
    web_conversation.run_extraction(extraction_answer(), extraction_answer())
    assert len(web_conversation.reader.requests) == 2
    assert web_conversation.desk.query("SELECT extraction_cursor FROM session_memory_state") == [(26,)]


def test_one_worker_at_a_time(web_conversation: ExtractionConversation) -> None:
    web_conversation.reader.before_completion = lambda: extraction_job.run_extraction(
        web_conversation.make_dependencies({}), web_conversation.memory_job, lambda: 300.0
    )
    web_conversation.run_extraction(extraction_answer(proposed_fact("about.software", "Tally", 1)))
    assert web_conversation.decisions() == [("about.software", "new")]


def test_a_worker_whose_time_was_over_writes_nothing(
    web_conversation: ExtractionConversation, database: Database
) -> None:
    def taken_over() -> None:
        web_conversation.desk.query("UPDATE work_due SET leased_until = now() WHERE kind = 'extraction' RETURNING 1")

    web_conversation.reader.before_completion = taken_over
    web_conversation.run_extraction(extraction_answer(proposed_fact("about.software", "Tally", 1)))
    assert (web_conversation.facts(), web_conversation.decisions()) == ({}, [])


def test_a_database_that_goes_away_leaves_it_to_whoever_comes_next(web_conversation: ExtractionConversation) -> None:
    def away() -> None:
        raise RetryError("away")

    web_conversation.reader.before_completion = away
    with pytest.raises(RetryError):
        web_conversation.run_extraction(extraction_answer())
    web_conversation.reader.before_completion = lambda: None
    web_conversation.run_extraction(extraction_answer(proposed_fact("about.software", "Tally", 1)))
    assert web_conversation.facts() == {"about.software": "Tally"}


def test_an_episode_is_a_row_that_its_own_conversation_finds_and_waits_for_its_vector(
    web_conversation: ExtractionConversation,
) -> None:
    web_conversation.desk.embedding.sent.clear()
    web_conversation.run_extraction(
        extraction_answer(episodes=[("The user does the accounts of the shop in Tally.", [1])])
    )
    assert web_conversation.episodes() == [("The user does the accounts of the shop in Tally.", 0)]
    ((kind, session, pending),) = web_conversation.desk.query(
        "SELECT r.kind, r.session_id, r.pending FROM episodes e JOIN context_rows r ON r.id = e.row_id"
    )
    assert (kind, session, pending) == ("episode", web_conversation.session, True)
    assert web_conversation.desk.embedding.sent


def test_what_is_told_again_in_nearly_the_same_words_is_folded(web_conversation: ExtractionConversation) -> None:
    web_conversation.run_extraction(
        extraction_answer(episodes=[("The user does the accounts of the shop in Tally.", [1])])
    )
    web_conversation.say("As I said, we do the accounts of the shop in Tally.")
    web_conversation.run_extraction(extraction_answer(episodes=[("The user does accounts of the shop in Tally", [1])]))
    assert web_conversation.episodes() == [("The user does the accounts of the shop in Tally.", 1)]


def test_and_what_means_the_same_by_its_vector(web_conversation: ExtractionConversation) -> None:
    for told in ("The user does accounts in Tally.", "Tally has the shop."):
        web_conversation.say("We do the accounts of the shop in Tally.")
        web_conversation.run_extraction(extraction_answer(episodes=[(told, [1])]))
    web_conversation.desk.query(
        "INSERT INTO embeddings (tenant_id, row_id, space, vector)"
        " SELECT tenant_id, row_id, 'words', '[1,0]' FROM episodes RETURNING 1"
    )
    web_conversation.say("Well.")
    web_conversation.run_extraction(extraction_answer())
    assert web_conversation.episodes() == [("The user does accounts in Tally.", 1)]
    assert web_conversation.desk.query("SELECT cardinality(message_ids) FROM episodes") == [(2,)]
    assert web_conversation.desk.query("SELECT count(*) FROM context_rows WHERE kind = 'episode'") == [(1,)]


def test_a_session_that_is_shared_by_now_is_not_looked_through(web_conversation: ExtractionConversation) -> None:
    web_conversation.set_visibility()
    web_conversation.run_extraction(extraction_answer(proposed_fact("about.software", "Tally", 1)))
    assert (web_conversation.reader.requests, web_conversation.facts(), web_conversation.due_rows()) == ([], {}, [])


def test_a_model_that_says_what_the_user_did_not_is_written_down(web_conversation: ExtractionConversation) -> None:
    web_conversation.run_extraction(
        extraction_answer(
            proposed_fact("about.software", "SAP", 1),
            proposed_fact("about.software", "Tally", 7),
            proposed_fact("about.software", "Tally", 1, certainty=0.4),
            proposed_fact("about.password", "Tally", 1),
            proposed_fact("software", "Tally", 1),
            proposed_fact("about.software", "SAP", 1, "accounts of the shop"),
            proposed_fact("about.software", "Tally", 1, subject="other: brother"),
            proposed_fact("about.software", "Tally", 1, duration="planned"),
        )
    )
    assert web_conversation.facts() == {}
    assert sorted(str(decision) for _, decision in web_conversation.decisions()) == [
        "low_confidence",
        "not_in_user_text",
        "other_person",
        "planned",
        "quote_not_found",
        "sensitive",
        "unknown_key",
        "unknown_message",
    ]
    assert "SAP" not in json.dumps(web_conversation.desk.query("SELECT * FROM fact_decisions"), default=str)


def test_what_a_turn_says_of_itself_is_said_to_the_model_as_no_evidence(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.say("Hello there, friend.", text_answer("You live in Zurich."))
    talk.run_extraction(extraction_answer(proposed_fact("city", "Zurich", 1)))
    assert "no evidence: You live in Zurich." in talk.last_prompt()
    assert talk.facts() == {}
