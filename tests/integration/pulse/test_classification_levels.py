"""What is restricted is in no prompt, count, text or history of a lower level, whatever the model says that it took its
words from; and a question is answered for its asker alone."""

import zlib
from dataclasses import replace
from typing import cast
from uuid import UUID

import pytest

from parlour.api.pulse_schemas import RecordPulseView
from parlour.infra.errors import LeaseHeld
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.principal import Principal
from parlour.pulse.reading import refresh_requests
from parlour.pulse.reading.pulse_view import read_pulse
from tests import sample_files
from tests.integration.pulse.pulse_harness import PulseHarness
from tests.integration.pulse.scripted_pulse_model import DocumentTexts, quote_everything, statements_answer

SECRET = "ZEBRA"
"""What nobody below may meet."""

PAPER = sample_files.make_pdf(
    [[("Claim", 20)], [("Offer", 14), (f"The {SECRET} claim may be settled for 77,000.", 11)]]
)


def reader(pulse_harness: PulseHarness, clearance: int) -> Principal:
    return replace(pulse_harness.admin, kind="member", id=UUID(int=7), roles=frozenset({"viewer"}), clearance=clearance)


def misattributing(found: DocumentTexts) -> str:
    """All that it read, said of the record itself."""
    own = next(number for number, text in found.items() if "the record itself" in text)
    words = [text.replace("\n", " ") for text in found.values()]
    return statements_answer(*((word.translate({ord(digit): "" for digit in "0123456789"}), [own]) for word in words))


def with_a_secret(pulse_harness: PulseHarness) -> None:
    """A restricted paper, job and link about the site."""
    pulse_harness.upload("claim.pdf", PAPER, level=3)
    pulse_harness.create("job/claim", f"Settle {SECRET}", level=3, state=f"{SECRET} pending")
    pulse_harness.link("job/claim", "site/harbour", "part_of")
    pulse_harness.embed()
    pulse_harness.model.script = [misattributing] * 8


def look(pulse_harness: PulseHarness, clearance: int) -> JsonObject:
    """What a reader is told of it over the API."""
    who, record_id = reader(pulse_harness, clearance), pulse_harness.id
    with pulse_harness.desk.database.transaction(who) as tx:
        found = read_pulse(who, tx, record_id, pulse_harness.desk.clock(), counts_as_read=False)
    return RecordPulseView.model_validate(found).model_dump(mode="json")


def told_to(pulse_harness: PulseHarness, clearance: int) -> str:
    """Everything that a reader gets."""
    return canonical_json(look(pulse_harness, clearance))


def test_a_reader_below_it_meets_nothing_of_what_is_restricted(pulse_harness: PulseHarness) -> None:
    with_a_secret(pulse_harness)
    pulse_harness.refresh()
    assert [level for (level,) in pulse_harness.desk.query("SELECT level FROM pulses ORDER BY level")] == [0, 3]
    below, above = pulse_harness.model.requests
    assert SECRET not in str(below.to_json())
    assert SECRET in str(above.to_json())
    for level in range(3):
        assert SECRET not in told_to(pulse_harness, level)
    assert SECRET in told_to(pulse_harness, 3)
    assert SECRET not in canonical_json(pulse_harness.desk.query("SELECT * FROM pulse_versions WHERE level < 3"))
    kept = pulse_harness.desk.query("SELECT source_ids, prompt_inputs FROM pulse_ledgers WHERE level < 3")
    assert SECRET not in canonical_json(
        [[told_of, zlib.decompress(cast(bytes, basis)).decode()] for told_of, basis in kept]
    )


def test_counts_leave_out_what_is_restricted(pulse_harness: PulseHarness) -> None:
    with_a_secret(pulse_harness)
    pulse_harness.model.script = []
    pulse_harness.refresh()
    assert "Job, state: open 2 (2 in all)" in pulse_harness.pulse_column(level=0)
    assert "3 in all" in pulse_harness.pulse_column(level=3)


def test_a_level_with_nothing_of_its_own_has_no_pulse_of_its_own(pulse_harness: PulseHarness) -> None:
    pulse_harness.upload("plan.pdf", PAPER, level=2)
    pulse_harness.refresh()
    assert [level for (level,) in pulse_harness.desk.query("SELECT level FROM pulses ORDER BY level")] == [0, 2]


def test_a_text_made_of_what_was_closed_since_is_withheld_and_then_written_anew(pulse_harness: PulseHarness) -> None:
    pulse_harness.create("job/claim", f"Settle {SECRET}", state="open")
    pulse_harness.link("job/claim", "site/harbour", "part_of")
    pulse_harness.embed()
    pulse_harness.model.script = [misattributing] * 8
    pulse_harness.refresh()
    assert SECRET in told_to(pulse_harness, 0)
    pulse_harness.change("job/claim", level=3)
    assert SECRET not in told_to(pulse_harness, 0)
    pulse_harness.embed()
    pulse_harness.sweep()
    pulse_harness.run_writers()
    assert SECRET not in pulse_harness.pulse_column(level=0)
    assert SECRET not in told_to(pulse_harness, 0)
    assert SECRET in told_to(pulse_harness, 3)


def test_levels_that_are_there_no_more_have_no_pulse(pulse_harness: PulseHarness) -> None:
    with_a_secret(pulse_harness)
    pulse_harness.refresh()
    papers_of = pulse_harness.file_harness
    papers_of.delete(next(one for one in papers_of.browse() if one.name == "claim.pdf"))
    pulse_harness.desk.query("UPDATE entities SET deleted_at = now() WHERE key = 'claim' RETURNING 1")
    pulse_harness.desk.query("DELETE FROM context_rows WHERE classification = 3 RETURNING 1")
    pulse_harness.refresh()
    assert [level for (level,) in pulse_harness.desk.query("SELECT level FROM pulses ORDER BY level")] == [0]


def test_a_question_is_answered_for_its_asker_and_changes_no_pulse(pulse_harness: PulseHarness) -> None:
    with_a_secret(pulse_harness)
    pulse_harness.refresh()
    before = [pulse_harness.pulse_column("version::text || checked_at::text", level) for level in (0, 3)]
    due = pulse_harness.due_at()
    who = reader(pulse_harness, 1)
    question = pulse_harness.ask("What are the risks?", who)
    request = pulse_harness.model.requests[-1]
    assert "What are the risks?" in str(request.messages)
    assert SECRET not in str(request.to_json())
    assert request.model == "claude-sonnet-5-5"
    with pulse_harness.desk.database.transaction(who) as tx:
        told = refresh_requests.read_answer(who, tx, "site/harbour", question)
    assert told.row.markdown
    assert [pulse_harness.pulse_column("version::text || checked_at::text", level) for level in (0, 3)] == before
    assert pulse_harness.due_at() == due
    assert pulse_harness.desk.query("SELECT count(*) FROM pulse_ledgers WHERE question_id IS NOT NULL") == [(1,)]


def test_the_same_question_of_the_same_material_asks_no_model(pulse_harness: PulseHarness) -> None:
    first, other = reader(pulse_harness, 1), replace(reader(pulse_harness, 1), id=UUID(int=8))
    pulse_harness.ask("What are the risks?", first)
    pulse_harness.ask("What are the risks?", first)
    assert len(pulse_harness.model.requests) == 1
    pulse_harness.ask("What are the chances?", first)
    pulse_harness.ask("What are the risks?", other)
    assert len(pulse_harness.model.requests) == 3
    pulse_harness.change("site/harbour", place="the west quay")
    pulse_harness.ask("What are the risks?", first)
    assert len(pulse_harness.model.requests) == 4


def test_a_question_waits_for_whoever_is_at_the_record(pulse_harness: PulseHarness) -> None:
    refused = []

    def meanwhile() -> None:
        pulse_harness.model.during = lambda: None
        with pytest.raises(LeaseHeld) as problem:
            pulse_harness.ask("What are the risks?")
        refused.append(problem.value)

    pulse_harness.model.during = meanwhile
    pulse_harness.refresh()
    assert len(refused) == len(pulse_harness.model.requests) == 1
    assert pulse_harness.pulse_column("version") == 1


def test_a_question_that_gets_no_answer_says_why(pulse_harness: PulseHarness) -> None:
    pulse_harness.model.script = ["no JSON"]
    question = pulse_harness.ask("What are the risks?")
    with pulse_harness.desk.database.transaction(pulse_harness.admin) as tx:
        told = refresh_requests.read_answer(pulse_harness.admin, tx, "site/harbour", question)
    assert (told.row.problem, told.row.markdown) == ("bad_json", "")
    assert pulse_harness.state_column("failures") in (None, 0)


def test_a_level_whose_text_cannot_be_written_holds_up_no_other_and_is_no_news_below(
    pulse_harness: PulseHarness,
) -> None:
    with_a_secret(pulse_harness)
    pulse_harness.refresh()
    for place in ("the west quay", "the east quay"):
        pulse_harness.model.script = [quote_everything, "no JSON"]
        pulse_harness.change("site/harbour", place=place)
        pulse_harness.sweep(600)
        pulse_harness.run_writers()
    assert "the east quay" in pulse_harness.pulse_column()
    assert "the east quay" not in pulse_harness.pulse_column(level=3)
    below, above = look(pulse_harness, 0), look(pulse_harness, 3)
    assert (below["stale_since"], below["problem"], below["failures"], below["due_at"]) == (None, None, 0, None)
    assert (above["problem"], above["failures"]) == ("bad_json", 2)
    assert "the east quay" in str(above["changes_text"])
    pulse_harness.change("site/harbour", place="the dry dock")
    assert "the dry dock" in str(look(pulse_harness, 0)["changes_text"])
    assert look(pulse_harness, 0)["problem"] is None


def test_when_it_was_looked_at_is_told_to_those_who_may_know_why(pulse_harness: PulseHarness) -> None:
    pulse_harness.refresh()
    before = look(pulse_harness, 0)
    with_a_secret(pulse_harness)
    pulse_harness.sweep()
    pulse_harness.run_writers()
    assert pulse_harness.pulse_column("checked_at > generated_at")
    assert look(pulse_harness, 0) == before
