"""Everything that changed is told of by one writing, cited to the page; what is the same is not written again."""

from datetime import timedelta

from parlour.documents import authored_documents
from parlour.documents.authored_documents import DocumentPatch
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.models.model import object_items
from parlour.models.offline import OfflineModel
from parlour.pulse.pulse import PulseJob
from parlour.pulse.writing import offline_answer, writing_job
from parlour.pulse.writing.prompt_explanation import explain_prompt
from tests import sample_files
from tests.integration.pulse.pulse_harness import AGE, PulseHarness
from tests.integration.pulse.scripted_pulse_model import find_number, quote_documents, statements_answer

REPORT = sample_files.make_pdf(
    [[("Site report", 20)], [("Crack", 14), ("The crack at the quay wall is 0.35 mm wide.", 11)]]
)


def three_changes(site: PulseHarness) -> None:
    """A property, a report, a job."""
    site.change("site/harbour", place="the south quay")
    site.upload("report.pdf", REPORT)
    site.change("job/crane", state="done")


def test_three_changes_are_told_of_in_one_writing_that_cites_the_page(site: PulseHarness) -> None:
    three_changes(site)
    site.model.script = [
        quote_documents("the south quay", "0.35 mm", "state: done (was open)", "Job, state: done 1, open 1")
    ]
    assert site.sweep().sent_count >= 1
    assert site.run_writers() == 1
    assert len(site.model.requests) == 1
    assert [line.rsplit(" ", 1)[0] for line in site.pulse_column().splitlines()] == [
        "- the south quay",
        "- 0.35 mm",
        "- state: done (was open)",
        "- Job, state: done 1, open 1",
    ]
    cited: list[JsonObject] = site.pulse_column("citations")
    assert (cited[1]["title"], cited[1]["table"]) == ("report.pdf", "context_rows")
    assert "page 2" in str(cited[1]["locator"])
    assert site.pending_changes().since is None
    assert (site.day_total("regenerated"), site.day_total("skipped")) == (1, 0)
    assert site.day_total("coalesced") >= 2
    assert site.written_tenants == [site.desk.tenant_id]


def test_counts_stand_first_and_everything_is_within_its_budget(site: PulseHarness) -> None:
    site.refresh()
    assert site.model.last_documents[1].startswith(
        "Counts of the records that belong to it\nJob, state: open 2 (2 in all)"
    )
    assert "Harbour Office stands at the north quay." in site.model.last_documents[2]
    (request,) = site.model.requests
    assert request.tools == ()
    assert request.model == "claude-haiku-5-5"


def test_what_it_costs_is_reserved_settled_and_noted(site: PulseHarness) -> None:
    site.refresh()
    ((purpose, cost),) = site.desk.query("SELECT purpose, cost_usd FROM llm_calls")
    assert purpose == "pulse"
    assert cost == site.pulse_column("cost_usd") == site.day_total("cost_usd") == site.state_column("last_cost_usd")
    assert site.desk.query("SELECT spent_usd FROM spend_days") == [(cost,)]
    assert site.desk.query("SELECT count(*) FROM spend_reservations") == [(0,)]


def test_the_same_set_is_not_written_again_and_says_so(site: PulseHarness) -> None:
    site.refresh()
    before, checked = site.pulse_column("(version, generated_at)::text"), site.pulse_column("checked_at")
    site.refresh()
    assert len(site.model.requests) == 1
    assert site.pulse_column("(version, generated_at)::text") == before
    assert site.pulse_column("checked_at") > checked
    assert (site.day_total("regenerated"), site.day_total("skipped")) == (1, 1)


def test_it_is_compared_again_when_it_is_old_although_nothing_changed(site: PulseHarness) -> None:
    site.refresh()
    assert (
        site.pulse_column("checked_at") + AGE
        <= site.due_at()
        <= site.pulse_column("checked_at") + AGE + timedelta(minutes=1)
    )
    assert site.sweep(AGE.total_seconds() + 60).sent_count >= 1
    assert "age" in site.pending_changes().causes
    site.run_writers()
    assert len(site.model.requests) == 1
    assert site.pending_changes().since is None


def test_a_siblings_row_that_newly_outranks_another_has_it_written_again(site: PulseHarness) -> None:
    """Nothing happens to the site: a sibling's papers come to be nearer than what was in before."""
    for number in range(30):
        site.create(f"job/far-{number}", f"Far {number}", state="open")
        site.link("site/harbour", f"job/far-{number}", "relates_to")
    site.embed()
    site.refresh()
    site.refresh()
    assert len(site.model.requests) == 1
    row = site.desk.query(
        "SELECT r.id FROM context_rows r JOIN entities e ON e.id = r.entity_id"
        " WHERE r.kind = 'snapshot' AND e.key LIKE 'far-%' AND r.id NOT IN"
        " (SELECT substr(one, 14)::uuid FROM pulses, unnest(source_ids) AS one WHERE one LIKE 'context_rows/%') LIMIT 1"
    )
    assert row
    site.desk.query(
        f"UPDATE embeddings SET vector = (SELECT v.vector FROM embeddings v JOIN context_rows r ON r.id = v.row_id"
        f" WHERE r.entity_id = '{site.id}' AND r.kind = 'snapshot' LIMIT 1) WHERE row_id = '{row[0][0]}' RETURNING 1"
    )
    assert site.pending_changes().since is None
    site.refresh()
    assert len(site.model.requests) == 2
    assert f"context_rows/{row[0][0]}" in site.pulse_column("source_ids")


def test_the_newest_file_is_told_of_however_many_rows_are_nearer(site: PulseHarness) -> None:
    for number in range(20):
        site.create(f"job/near-{number}", "Harbour Office stands at the north quay", state="open")
        site.link("site/harbour", f"job/near-{number}", "relates_to")
    site.upload("report.pdf", REPORT)
    site.refresh()
    told = [text for text in site.model.last_documents.values() if text.startswith("report.pdf")]
    assert any("page 2" in text and "0.35 mm" in text for text in told)


def test_what_was_just_written_is_told_of_before_it_has_a_vector(site: PulseHarness) -> None:
    for number in range(20):
        site.create(f"job/n{number}", f"Harbour Office, slab {number}", state="open")
        site.link(f"job/n{number}", "site/harbour", "part_of")
    owner = site.admin
    site.create("project/p", "Other", client="c", status="tender", contractor="d")
    with site.desk.database.transaction(owner) as tx:
        authored_documents.create_document(
            owner, tx, "project/p", "Notes", content="All is dry.", key="notes", now=site.now, new_id=uuid7
        )
    site.link("document/notes", "site/harbour", "about")
    site.embed()
    site.refresh()
    with site.desk.database.transaction(owner) as tx:
        change = DocumentPatch(content="The roof has collapsed.")
        authored_documents.revise_document(owner, tx, "document/notes", change, None, site.now, uuid7)
    site.sweep()
    site.run_writers()
    assert "The roof has collapsed" in str(site.model.last_documents)


def test_what_changes_while_it_is_written_stays_to_be_told_of(site: PulseHarness) -> None:
    def meanwhile() -> None:
        site.model.during = lambda: None
        site.desk.clock.now += timedelta(seconds=5)
        site.change("job/slab", state="done")

    site.model.during = meanwhile
    site.refresh()
    left = site.pending_changes()
    assert list(left.causes) == ["child_changed"]
    assert left.since is not None
    assert site.due_at() == left.since + timedelta(seconds=30)
    assert "done" not in site.model.last_documents[1]
    site.sweep()
    site.run_writers()
    assert "done 1" in site.model.last_documents[1]
    assert site.pending_changes().since is None


def test_who_wants_it_written_while_it_is_written_waits_for_no_window(site: PulseHarness) -> None:
    def meanwhile() -> None:
        site.model.during = lambda: None
        site.change("site/harbour", place="the east quay")
        site.refresh()

    site.model.during = meanwhile
    site.refresh()
    assert len(site.model.requests) == 1
    assert site.due_at() <= site.now
    assert site.sweep(1).sent_count >= 1
    site.run_writers()
    assert "the east quay" in site.pulse_column()


def test_two_writers_at_once_and_one_after_change_nothing(site: PulseHarness) -> None:
    site.change("site/harbour", place="the west quay")
    site.sweep()
    (order,) = {PulseJob.from_json(body) for body, _ in site.pulse_queue.sent if body["entity_id"] == str(site.id)}
    site.model.during = lambda: writing_job.run_pulse_job(site.make_dependencies(), order, lambda: 299.0)
    writing_job.run_pulse_job(site.make_dependencies(), order, lambda: 300.0)
    site.model.during = lambda: None
    writing_job.run_pulse_job(site.make_dependencies(), order, lambda: 300.0)
    assert len(site.model.requests) == 1
    assert site.pulse_column("version") == 1
    assert site.day_total("regenerated") == 1


def test_a_kinds_own_model_is_asked_and_its_own_prompt_is_told(site: PulseHarness) -> None:
    site.define("site", {"pulse": "auto", "pulse_model": "default", "pulse_prompt": "Name the tides."})
    site.refresh()
    (request,) = site.model.requests
    assert request.model == "claude-sonnet-5-5"
    assert "Name the tides." in str(request.system[0]["text"])


def test_its_prompt_is_accounted_for_and_made_again_byte_for_byte(site: PulseHarness) -> None:
    three_changes(site)
    site.refresh()
    with site.desk.database.transaction(site.admin) as tx:
        told = explain_prompt(site.admin, tx, "site/harbour")
    assert (told["outcome"], told["version"], told["matches"], told["is_erased"]) == ("written", 1, True, False)
    assert told["budget"] == 7_000
    assert int(str(told["tokens"])) <= 7_000
    lots = {str(one["source_kind"]) for one in object_items(told["candidates"])}
    assert lots >= {"counts", "record", "changes", "linked", "file_summaries"}
    assert str(site.model.requests[0].system[-1]["text"])[:200] in str(told["prompt"]).replace("\\n", "\n")


def test_without_a_model_the_newest_is_quoted(site: PulseHarness) -> None:
    site.models = {"offline": OfflineModel()}
    three_changes(site)
    site.refresh()
    assert site.pulse_column().startswith(f"*{offline_answer.OFFLINE_NOTE}*")
    assert "report.pdf: " in site.pulse_column()
    assert (site.pulse_column("provider"), site.pulse_column("cost_usd")) == ("offline", 0)


def test_versions_are_kept_with_what_they_were_written_for(site: PulseHarness) -> None:
    site.refresh()
    site.change("site/harbour", place="the east quay")
    site.sweep()
    site.run_writers()
    rows = site.desk.query("SELECT version, mark_count, causes FROM pulse_versions ORDER BY version")
    assert [row[0] for row in rows] == [1, 2]
    assert rows[1][1] == 1
    assert [one["cause"] for one in rows[1][2]] == ["changed"]  # type: ignore[attr-defined]
    assert site.pulse_column("version") == 2


def test_a_record_that_was_deleted_is_let_go(site: PulseHarness) -> None:
    site.change("site/harbour", place="the east quay")
    site.sweep()
    site.desk.query(f"UPDATE entities SET deleted_at = now() WHERE id = '{site.id}' RETURNING 1")
    assert site.run_writers() == 1
    assert site.model.requests == []
    assert site.due_at() is None


def test_a_conversation_that_was_closed_is_not_told_of(site: PulseHarness) -> None:
    site.create("conversation/talk", "Talk about tides", state="open", participants="Ines and Tom")
    site.link("conversation/talk", "site/harbour", "part_of")
    site.embed()
    site.refresh()
    assert any("Talk about tides" in text for text in site.model.last_documents.values())
    site.change("conversation/talk", state="closed")
    site.refresh()
    assert len(site.model.requests) == 2
    assert not any("Talk about tides" in text for text in site.model.last_documents.values())


def test_nobody_is_asked_for_what_nobody_asked(site: PulseHarness) -> None:
    writing_job.run_pulse_job(site.make_dependencies(), PulseJob(site.desk.tenant_id, site.id), lambda: 300.0)
    assert site.model.requests == []


def test_only_what_holds_is_shown(site: PulseHarness) -> None:
    site.model.script = [
        lambda found: statements_answer(
            ("The office stands at the north quay.", [find_number(found, "north quay")]),
            ("It sank.", [999]),
            ("17 jobs are open.", [1]),
        )
    ]
    site.refresh()
    assert site.pulse_column() == "- The office stands at the north quay. [1]"
    assert site.pulse_column("rejected_statements") == {"unknown_source": 1, "unsupported_number": 1}
