"""What is restricted is in no prompt, count, text or history of a lower level, whatever the model says that it took its
words from; and a question is answered for its asker alone."""

import zlib
from dataclasses import replace
from typing import cast
from uuid import UUID

import pytest

from parlour.infra.errors import LeaseHeld
from parlour.infra.jsonable import JsonObject, canonical
from parlour.principal import Principal
from parlour.pulse.reading import asking
from parlour.pulse.reading.read import seen
from tests import papers
from tests.integration.pulse.author import Documents, answer, everything
from tests.integration.pulse.site import Site

SECRET = "ZEBRA"
"""What nobody below may meet."""

PAPER = papers.pdf([[("Claim", 20)], [("Offer", 14), (f"The {SECRET} claim may be settled for 77,000.", 11)]])


def reader(site: Site, clearance: int) -> Principal:
    return replace(site.admin, kind="member", id=UUID(int=7), roles=frozenset({"viewer"}), clearance=clearance)


def misattributing(found: Documents) -> str:
    """All that it read, said of the record itself."""
    own = next(number for number, text in found.items() if "the record itself" in text)
    words = [text.replace("\n", " ") for text in found.values()]
    return answer(*((word.translate({ord(digit): "" for digit in "0123456789"}), [own]) for word in words))


def with_a_secret(site: Site) -> None:
    """A restricted paper, job and link about the site."""
    site.upload("claim.pdf", PAPER, level=3)
    site.create("job/claim", f"Settle {SECRET}", level=3, state=f"{SECRET} pending")
    site.link("job/claim", "site/harbour", "part_of")
    site.embed()
    site.author.script = [misattributing] * 8


def look(site: Site, clearance: int) -> JsonObject:
    """What a reader is told of it over the API."""
    who, record_id = reader(site, clearance), site.id
    with site.desk.database.transaction(who) as tx:
        found = seen(who, tx, record_id)
    assert found is not None
    return found.to_json()


def told_to(site: Site, clearance: int) -> str:
    """Everything that a reader gets."""
    who, record_id = reader(site, clearance), site.id
    with site.desk.database.transaction(who) as tx:
        found = seen(who, tx, record_id)
    assert found is not None
    return canonical(found.to_json())


def test_a_reader_below_it_meets_nothing_of_what_is_restricted(site: Site) -> None:
    with_a_secret(site)
    site.refresh()
    assert [level for (level,) in site.desk.rows("SELECT level FROM pulses ORDER BY level")] == [0, 3]
    below, above = site.author.requests
    assert SECRET not in str(below.to_json())
    assert SECRET in str(above.to_json())
    for level in range(3):
        assert SECRET not in told_to(site, level)
    assert SECRET in told_to(site, 3)
    assert SECRET not in canonical(site.desk.rows("SELECT * FROM pulse_versions WHERE level < 3"))
    kept = site.desk.rows("SELECT told_of, basis FROM pulse_ledgers WHERE level < 3")
    assert SECRET not in canonical([[told_of, zlib.decompress(cast(bytes, basis)).decode()] for told_of, basis in kept])


def test_counts_leave_out_what_is_restricted(site: Site) -> None:
    with_a_secret(site)
    site.author.script = []
    site.refresh()
    assert "Job, state: open 2 (2 in all)" in site.pulse(level=0)
    assert "3 in all" in site.pulse(level=3)


def test_a_level_with_nothing_of_its_own_has_no_pulse_of_its_own(site: Site) -> None:
    site.upload("plan.pdf", PAPER, level=2)
    site.refresh()
    assert [level for (level,) in site.desk.rows("SELECT level FROM pulses ORDER BY level")] == [0, 2]


def test_a_text_made_of_what_was_closed_since_is_withheld_and_then_written_anew(site: Site) -> None:
    site.create("job/claim", f"Settle {SECRET}", state="open")
    site.link("job/claim", "site/harbour", "part_of")
    site.embed()
    site.author.script = [misattributing] * 8
    site.refresh()
    assert SECRET in told_to(site, 0)
    site.change("job/claim", level=3)
    assert SECRET not in told_to(site, 0)
    site.embed()
    site.sweep()
    site.write()
    assert SECRET not in site.pulse(level=0)
    assert SECRET not in told_to(site, 0)
    assert SECRET in told_to(site, 3)


def test_levels_that_are_there_no_more_have_no_pulse(site: Site) -> None:
    with_a_secret(site)
    site.refresh()
    papers_of = site.papers
    papers_of.delete(next(one for one in papers_of.browse() if one.name == "claim.pdf"))
    site.desk.rows("UPDATE entities SET deleted_at = now() WHERE key = 'claim' RETURNING 1")
    site.desk.rows("DELETE FROM context_rows WHERE classification = 3 RETURNING 1")
    site.refresh()
    assert [level for (level,) in site.desk.rows("SELECT level FROM pulses ORDER BY level")] == [0]


def test_a_question_is_answered_for_its_asker_and_changes_no_pulse(site: Site) -> None:
    with_a_secret(site)
    site.refresh()
    before = [site.pulse("version::text || checked_at::text", level) for level in (0, 3)]
    due = site.due_at()
    who = reader(site, 1)
    question = site.ask("What are the risks?", who)
    request = site.author.requests[-1]
    assert "What are the risks?" in str(request.messages)
    assert SECRET not in str(request.to_json())
    assert request.model == "claude-sonnet-5-5"
    with site.desk.database.transaction(who) as tx:
        told = asking.answer(who, tx, "site/harbour", question)
    assert told["markdown"]
    assert [site.pulse("version::text || checked_at::text", level) for level in (0, 3)] == before
    assert site.due_at() == due
    assert site.desk.rows("SELECT count(*) FROM pulse_ledgers WHERE question_id IS NOT NULL") == [(1,)]


def test_the_same_question_of_the_same_material_asks_no_model(site: Site) -> None:
    first, other = reader(site, 1), replace(reader(site, 1), id=UUID(int=8))
    site.ask("What are the risks?", first)
    site.ask("What are the risks?", first)
    assert len(site.author.requests) == 1
    site.ask("What are the chances?", first)
    site.ask("What are the risks?", other)
    assert len(site.author.requests) == 3
    site.change("site/harbour", place="the west quay")
    site.ask("What are the risks?", first)
    assert len(site.author.requests) == 4


def test_a_question_waits_for_whoever_is_at_the_record(site: Site) -> None:
    refused = []

    def meanwhile() -> None:
        site.author.during = lambda: None
        with pytest.raises(LeaseHeld) as problem:
            site.ask("What are the risks?")
        refused.append(problem.value)

    site.author.during = meanwhile
    site.refresh()
    assert len(refused) == len(site.author.requests) == 1
    assert site.pulse("version") == 1


def test_a_question_that_gets_no_answer_says_why(site: Site) -> None:
    site.author.script = ["no JSON"]
    question = site.ask("What are the risks?")
    with site.desk.database.transaction(site.admin) as tx:
        told = asking.answer(site.admin, tx, "site/harbour", question)
    assert (told["problem"], told["markdown"]) == ("bad_json", "")
    assert site.state("failures") in (None, 0)


def test_a_level_whose_text_cannot_be_written_holds_up_no_other_and_is_no_news_below(site: Site) -> None:
    with_a_secret(site)
    site.refresh()
    for place in ("the west quay", "the east quay"):
        site.author.script = [everything, "no JSON"]
        site.change("site/harbour", place=place)
        site.sweep(600)
        site.write()
    assert "the east quay" in site.pulse()
    assert "the east quay" not in site.pulse(level=3)
    below, above = look(site, 0), look(site, 3)
    assert (below["stale_since"], below["problem"], below["failures"], below["due_at"]) == (None, None, 0, None)
    assert (above["problem"], above["failures"]) == ("bad_json", 2)
    assert "the east quay" in str(above["since"])
    site.change("site/harbour", place="the dry dock")
    assert "the dry dock" in str(look(site, 0)["since"])
    assert look(site, 0)["problem"] is None


def test_when_it_was_looked_at_is_told_to_those_who_may_know_why(site: Site) -> None:
    site.refresh()
    before = look(site, 0)
    with_a_secret(site)
    site.sweep()
    site.write()
    assert site.pulse("checked_at > generated_at")
    assert look(site, 0) == before
