"""What is restricted is in no prompt, count, text or history of a lower level, whatever the model says that it took its
words from; and a question is answered for its asker alone."""

import zlib
from dataclasses import replace
from typing import cast
from uuid import UUID

import pytest

from parlour.infra.errors import LeaseHeld
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.principal import Principal
from parlour.pulse.reading import refresh_requests
from parlour.pulse.reading.pulse_view import find_pulse_view
from tests import sample_files
from tests.integration.pulse.pulse_harness import PulseHarness
from tests.integration.pulse.scripted_pulse_model import DocumentTexts, quote_everything, statements_answer

SECRET = "ZEBRA"
"""What nobody below may meet."""

PAPER = sample_files.make_pdf(
    [[("Claim", 20)], [("Offer", 14), (f"The {SECRET} claim may be settled for 77,000.", 11)]]
)


def reader(site: PulseHarness, clearance: int) -> Principal:
    return replace(site.admin, kind="member", id=UUID(int=7), roles=frozenset({"viewer"}), clearance=clearance)


def misattributing(found: DocumentTexts) -> str:
    """All that it read, said of the record itself."""
    own = next(number for number, text in found.items() if "the record itself" in text)
    words = [text.replace("\n", " ") for text in found.values()]
    return statements_answer(*((word.translate({ord(digit): "" for digit in "0123456789"}), [own]) for word in words))


def with_a_secret(site: PulseHarness) -> None:
    """A restricted paper, job and link about the site."""
    site.upload("claim.pdf", PAPER, level=3)
    site.create("job/claim", f"Settle {SECRET}", level=3, state=f"{SECRET} pending")
    site.link("job/claim", "site/harbour", "part_of")
    site.embed()
    site.model.script = [misattributing] * 8


def look(site: PulseHarness, clearance: int) -> JsonObject:
    """What a reader is told of it over the API."""
    who, record_id = reader(site, clearance), site.id
    with site.desk.database.transaction(who) as tx:
        found = find_pulse_view(who, tx, record_id)
    assert found is not None
    return found.to_json()


def told_to(site: PulseHarness, clearance: int) -> str:
    """Everything that a reader gets."""
    who, record_id = reader(site, clearance), site.id
    with site.desk.database.transaction(who) as tx:
        found = find_pulse_view(who, tx, record_id)
    assert found is not None
    return canonical_json(found.to_json())


def test_a_reader_below_it_meets_nothing_of_what_is_restricted(site: PulseHarness) -> None:
    with_a_secret(site)
    site.refresh()
    assert [level for (level,) in site.desk.query("SELECT level FROM pulses ORDER BY level")] == [0, 3]
    below, above = site.model.requests
    assert SECRET not in str(below.to_json())
    assert SECRET in str(above.to_json())
    for level in range(3):
        assert SECRET not in told_to(site, level)
    assert SECRET in told_to(site, 3)
    assert SECRET not in canonical_json(site.desk.query("SELECT * FROM pulse_versions WHERE level < 3"))
    kept = site.desk.query("SELECT source_ids, prompt_inputs FROM pulse_ledgers WHERE level < 3")
    assert SECRET not in canonical_json(
        [[told_of, zlib.decompress(cast(bytes, basis)).decode()] for told_of, basis in kept]
    )


def test_counts_leave_out_what_is_restricted(site: PulseHarness) -> None:
    with_a_secret(site)
    site.model.script = []
    site.refresh()
    assert "Job, state: open 2 (2 in all)" in site.pulse_column(level=0)
    assert "3 in all" in site.pulse_column(level=3)


def test_a_level_with_nothing_of_its_own_has_no_pulse_of_its_own(site: PulseHarness) -> None:
    site.upload("plan.pdf", PAPER, level=2)
    site.refresh()
    assert [level for (level,) in site.desk.query("SELECT level FROM pulses ORDER BY level")] == [0, 2]


def test_a_text_made_of_what_was_closed_since_is_withheld_and_then_written_anew(site: PulseHarness) -> None:
    site.create("job/claim", f"Settle {SECRET}", state="open")
    site.link("job/claim", "site/harbour", "part_of")
    site.embed()
    site.model.script = [misattributing] * 8
    site.refresh()
    assert SECRET in told_to(site, 0)
    site.change("job/claim", level=3)
    assert SECRET not in told_to(site, 0)
    site.embed()
    site.sweep()
    site.run_writers()
    assert SECRET not in site.pulse_column(level=0)
    assert SECRET not in told_to(site, 0)
    assert SECRET in told_to(site, 3)


def test_levels_that_are_there_no_more_have_no_pulse(site: PulseHarness) -> None:
    with_a_secret(site)
    site.refresh()
    papers_of = site.file_harness
    papers_of.delete(next(one for one in papers_of.browse() if one.name == "claim.pdf"))
    site.desk.query("UPDATE entities SET deleted_at = now() WHERE key = 'claim' RETURNING 1")
    site.desk.query("DELETE FROM context_rows WHERE classification = 3 RETURNING 1")
    site.refresh()
    assert [level for (level,) in site.desk.query("SELECT level FROM pulses ORDER BY level")] == [0]


def test_a_question_is_answered_for_its_asker_and_changes_no_pulse(site: PulseHarness) -> None:
    with_a_secret(site)
    site.refresh()
    before = [site.pulse_column("version::text || checked_at::text", level) for level in (0, 3)]
    due = site.due_at()
    who = reader(site, 1)
    question = site.ask("What are the risks?", who)
    request = site.model.requests[-1]
    assert "What are the risks?" in str(request.messages)
    assert SECRET not in str(request.to_json())
    assert request.model == "claude-sonnet-5-5"
    with site.desk.database.transaction(who) as tx:
        told = refresh_requests.read_answer(who, tx, "site/harbour", question)
    assert told["markdown"]
    assert [site.pulse_column("version::text || checked_at::text", level) for level in (0, 3)] == before
    assert site.due_at() == due
    assert site.desk.query("SELECT count(*) FROM pulse_ledgers WHERE question_id IS NOT NULL") == [(1,)]


def test_the_same_question_of_the_same_material_asks_no_model(site: PulseHarness) -> None:
    first, other = reader(site, 1), replace(reader(site, 1), id=UUID(int=8))
    site.ask("What are the risks?", first)
    site.ask("What are the risks?", first)
    assert len(site.model.requests) == 1
    site.ask("What are the chances?", first)
    site.ask("What are the risks?", other)
    assert len(site.model.requests) == 3
    site.change("site/harbour", place="the west quay")
    site.ask("What are the risks?", first)
    assert len(site.model.requests) == 4


def test_a_question_waits_for_whoever_is_at_the_record(site: PulseHarness) -> None:
    refused = []

    def meanwhile() -> None:
        site.model.during = lambda: None
        with pytest.raises(LeaseHeld) as problem:
            site.ask("What are the risks?")
        refused.append(problem.value)

    site.model.during = meanwhile
    site.refresh()
    assert len(refused) == len(site.model.requests) == 1
    assert site.pulse_column("version") == 1


def test_a_question_that_gets_no_answer_says_why(site: PulseHarness) -> None:
    site.model.script = ["no JSON"]
    question = site.ask("What are the risks?")
    with site.desk.database.transaction(site.admin) as tx:
        told = refresh_requests.read_answer(site.admin, tx, "site/harbour", question)
    assert (told["problem"], told["markdown"]) == ("bad_json", "")
    assert site.state_column("failures") in (None, 0)


def test_a_level_whose_text_cannot_be_written_holds_up_no_other_and_is_no_news_below(site: PulseHarness) -> None:
    with_a_secret(site)
    site.refresh()
    for place in ("the west quay", "the east quay"):
        site.model.script = [quote_everything, "no JSON"]
        site.change("site/harbour", place=place)
        site.sweep(600)
        site.run_writers()
    assert "the east quay" in site.pulse_column()
    assert "the east quay" not in site.pulse_column(level=3)
    below, above = look(site, 0), look(site, 3)
    assert (below["stale_since"], below["problem"], below["failures"], below["due_at"]) == (None, None, 0, None)
    assert (above["problem"], above["failures"]) == ("bad_json", 2)
    assert "the east quay" in str(above["changes_text"])
    site.change("site/harbour", place="the dry dock")
    assert "the dry dock" in str(look(site, 0)["changes_text"])
    assert look(site, 0)["problem"] is None


def test_when_it_was_looked_at_is_told_to_those_who_may_know_why(site: PulseHarness) -> None:
    site.refresh()
    before = look(site, 0)
    with_a_secret(site)
    site.sweep()
    site.run_writers()
    assert site.pulse_column("checked_at > generated_at")
    assert look(site, 0) == before
