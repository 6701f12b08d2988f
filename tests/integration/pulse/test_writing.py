"""Everything that changed is told of by one writing, cited to the page; what is the same is not written again."""

from datetime import timedelta

from parlour.documents import authored_documents
from parlour.documents.authored_documents import DocumentPatch, NewDocument
from parlour.infra.json_values import JsonObject
from parlour.models.model import object_items
from parlour.models.offline import OfflineModel
from parlour.pulse.pulse import PulseJob
from parlour.pulse.writing import offline_answer, writing_job
from parlour.pulse.writing.prompt_explanation import explain_prompt
from parlour.records import crud
from parlour.records.record import RecordPatch
from tests import sample_files
from tests.integration.pulse.pulse_harness import AGE, PulseHarness
from tests.integration.pulse.scripted_pulse_model import find_number, quote_documents, statements_answer

REPORT = sample_files.make_pdf(
    [[("Site report", 20)], [("Crack", 14), ("The crack at the quay wall is 0.35 mm wide.", 11)]]
)


def three_changes(pulse_harness: PulseHarness) -> None:
    """A property, a report, a job."""
    pulse_harness.change("site/harbour", place="the south quay")
    pulse_harness.upload("report.pdf", REPORT)
    pulse_harness.change("job/crane", state="done")


def test_three_changes_are_told_of_in_one_writing_that_cites_the_page(pulse_harness: PulseHarness) -> None:
    three_changes(pulse_harness)
    pulse_harness.model.script = [
        quote_documents("the south quay", "0.35 mm", "state: done (was open)", "Job, state: done 1, open 1")
    ]
    assert pulse_harness.sweep().sent_count >= 1
    assert pulse_harness.run_writers() == 1
    assert len(pulse_harness.model.requests) == 1
    assert [line.rsplit(" ", 1)[0] for line in pulse_harness.pulse_column().splitlines()] == [
        "- the south quay",
        "- 0.35 mm",
        "- state: done (was open)",
        "- Job, state: done 1, open 1",
    ]
    cited: list[JsonObject] = pulse_harness.pulse_column("citations")
    assert (cited[1]["title"], cited[1]["table"]) == ("report.pdf", "context_rows")
    assert "page 2" in str(cited[1]["locator"])
    assert pulse_harness.pending_changes().since is None
    assert (pulse_harness.day_total("regenerated"), pulse_harness.day_total("skipped")) == (1, 0)
    assert pulse_harness.day_total("coalesced") >= 2
    assert pulse_harness.written_tenants == [pulse_harness.desk.tenant_id]


def test_counts_stand_first_and_everything_is_within_its_budget(pulse_harness: PulseHarness) -> None:
    pulse_harness.refresh()
    assert pulse_harness.model.last_documents[1].startswith(
        "Counts of the records that belong to it\nJob, state: open 2 (2 in all)"
    )
    assert "Harbour Office stands at the north quay." in pulse_harness.model.last_documents[2]
    (request,) = pulse_harness.model.requests
    assert request.tools == ()
    assert request.model == "claude-haiku-5-5"


def test_what_it_costs_is_reserved_settled_and_noted(pulse_harness: PulseHarness) -> None:
    pulse_harness.refresh()
    ((purpose, cost),) = pulse_harness.desk.query("SELECT purpose, cost_usd FROM llm_calls")
    assert purpose == "pulse"
    assert (
        cost
        == pulse_harness.pulse_column("cost_usd")
        == pulse_harness.day_total("cost_usd")
        == pulse_harness.state_column("last_cost_usd")
    )
    assert pulse_harness.desk.query("SELECT spent_usd FROM spend_days") == [(cost,)]
    assert pulse_harness.desk.query("SELECT count(*) FROM spend_reservations") == [(0,)]


def test_the_same_set_is_not_written_again_and_says_so(pulse_harness: PulseHarness) -> None:
    pulse_harness.refresh()
    before, checked = (
        pulse_harness.pulse_column("(version, generated_at)::text"),
        pulse_harness.pulse_column("checked_at"),
    )
    pulse_harness.refresh()
    assert len(pulse_harness.model.requests) == 1
    assert pulse_harness.pulse_column("(version, generated_at)::text") == before
    assert pulse_harness.pulse_column("checked_at") > checked
    assert (pulse_harness.day_total("regenerated"), pulse_harness.day_total("skipped")) == (1, 1)


def test_it_is_compared_again_when_it_is_old_although_nothing_changed(pulse_harness: PulseHarness) -> None:
    pulse_harness.refresh()
    assert (
        pulse_harness.pulse_column("checked_at") + AGE
        <= pulse_harness.due_at()
        <= pulse_harness.pulse_column("checked_at") + AGE + timedelta(minutes=1)
    )
    assert pulse_harness.sweep(AGE.total_seconds() + 60).sent_count >= 1
    assert "age" in pulse_harness.pending_changes().causes
    pulse_harness.run_writers()
    assert len(pulse_harness.model.requests) == 1
    assert pulse_harness.pending_changes().since is None


def test_a_siblings_row_that_newly_outranks_another_has_it_written_again(pulse_harness: PulseHarness) -> None:
    """Nothing happens to the site: a sibling's papers come to be nearer than what was in before."""
    for number in range(30):
        pulse_harness.create(f"job/far-{number}", f"Far {number}", state="open")
        pulse_harness.link("site/harbour", f"job/far-{number}", "relates_to")
    pulse_harness.embed()
    pulse_harness.refresh()
    pulse_harness.refresh()
    assert len(pulse_harness.model.requests) == 1
    row = pulse_harness.desk.query(
        "SELECT r.id FROM context_rows r JOIN entities e ON e.id = r.entity_id"
        " WHERE r.kind = 'snapshot' AND e.key LIKE 'far-%' AND r.id NOT IN"
        " (SELECT substr(one, 14)::uuid FROM pulses, unnest(source_ids) AS one WHERE one LIKE 'context_rows/%') LIMIT 1"
    )
    assert row
    pulse_harness.desk.query(
        f"UPDATE embeddings SET vector = (SELECT v.vector FROM embeddings v JOIN context_rows r ON r.id = v.row_id"
        f" WHERE r.entity_id = '{pulse_harness.id}' AND r.kind = 'snapshot' LIMIT 1) WHERE row_id = '{row[0][0]}'"
        " RETURNING 1"
    )
    assert pulse_harness.pending_changes().since is None
    pulse_harness.refresh()
    assert len(pulse_harness.model.requests) == 2
    assert f"context_rows/{row[0][0]}" in pulse_harness.pulse_column("source_ids")


def test_material_follows_the_prompt_and_noise_beside_it_has_nothing_written(pulse_harness: PulseHarness) -> None:
    """Siblings in a project are no noise if they are near the record, or say what its type's prompt asks for."""
    site: JsonObject = {"pulse": "auto", "semantic": "{{name}} stands at {{place}}.", "status_properties": ["state"]}
    pulse_harness.define("site", {**site, "pulse_prompt": "Name unsigned variations and permits."})
    pulse_harness.create("project/p", "Works", client="c", status="tender", contractor="d")
    with pulse_harness.desk.database.transaction(pulse_harness.admin) as tx:
        crud.update_record(
            pulse_harness.admin, tx, "site/harbour", RecordPatch(project="project/p"), None, pulse_harness.now
        )

    def write(name: str, level: int = 0) -> list[str]:
        """Store a sibling's record, have the Pulses written, and return the documents of the last request."""
        pulse_harness.create(f"job/{name.split(maxsplit=1)[0].lower()}", name, level, "project/p", state="open")
        pulse_harness.embed()
        pulse_harness.refresh()
        return [*pulse_harness.model.last_documents.values()]

    for number in range(6):
        pulse_harness.create(f"job/near-{number}", f"Harbour Office stands at the north quay {number}", 0, "project/p")
    first = write("Variation seven is unsigned")
    titles = [text.splitlines()[0] for text in first]
    linked, asked = (titles.index(f"{name} (Job · record)") for name in ("Crane hire", "Variation seven is unsigned"))
    assert linked < asked < next(place for place, title in enumerate(titles) if "stands at the north quay 1" in title)
    requests = len(pulse_harness.model.requests)
    for level in (0, 2):
        write(f"Lunch{level} menus", level)
    assert len(pulse_harness.model.requests) == requests
    assert "Permit9 variations unsigned" in str(write("Permit9 variations unsigned", 2))
    assert len(pulse_harness.model.requests) == requests + 1
    assert "Permit9" not in pulse_harness.pulse_column()
    assert pulse_harness.pulse_column("version", 2) == 1
    pulse_harness.ask("What about lunch menus?")
    assert "Lunch0 menus" in str(pulse_harness.model.last_documents)


def test_the_newest_file_is_told_of_however_many_rows_are_nearer(pulse_harness: PulseHarness) -> None:
    for number in range(20):
        pulse_harness.create(f"job/near-{number}", "Harbour Office stands at the north quay", state="open")
        pulse_harness.link("site/harbour", f"job/near-{number}", "relates_to")
    pulse_harness.upload("report.pdf", REPORT)
    pulse_harness.refresh()
    told = [text for text in pulse_harness.model.last_documents.values() if text.startswith("report.pdf")]
    assert any("page 2" in text and "0.35 mm" in text for text in told)


def test_what_was_just_written_is_told_of_before_it_has_a_vector(pulse_harness: PulseHarness) -> None:
    for number in range(20):
        pulse_harness.create(f"job/n{number}", f"Harbour Office, slab {number}", state="open")
        pulse_harness.link(f"job/n{number}", "site/harbour", "part_of")
    owner = pulse_harness.admin
    pulse_harness.create("project/p", "Other", client="c", status="tender", contractor="d")
    with pulse_harness.desk.database.transaction(owner) as tx:
        authored_documents.create_document(
            owner, tx, NewDocument("project/p", "Notes", content="All is dry.", key="notes"), now=pulse_harness.now
        )
    pulse_harness.link("document/notes", "site/harbour", "about")
    pulse_harness.embed()
    pulse_harness.refresh()
    with pulse_harness.desk.database.transaction(owner) as tx:
        change = DocumentPatch(content="The roof has collapsed.")
        authored_documents.revise_document(owner, tx, "document/notes", change, pulse_harness.now)
    pulse_harness.sweep()
    pulse_harness.run_writers()
    assert "The roof has collapsed" in str(pulse_harness.model.last_documents)


def test_what_changes_while_it_is_written_stays_to_be_told_of(pulse_harness: PulseHarness) -> None:
    def meanwhile() -> None:
        pulse_harness.model.during = lambda: None
        pulse_harness.desk.clock.now += timedelta(seconds=5)
        pulse_harness.change("job/slab", state="done")

    pulse_harness.model.during = meanwhile
    pulse_harness.refresh()
    left = pulse_harness.pending_changes()
    assert list(left.causes) == ["child_changed"]
    assert left.since is not None
    assert pulse_harness.due_at() == left.since + timedelta(seconds=30)
    assert "done" not in pulse_harness.model.last_documents[1]
    pulse_harness.sweep()
    pulse_harness.run_writers()
    assert "done 1" in pulse_harness.model.last_documents[1]
    assert pulse_harness.pending_changes().since is None


def test_who_wants_it_written_while_it_is_written_waits_for_no_window(pulse_harness: PulseHarness) -> None:
    def meanwhile() -> None:
        pulse_harness.model.during = lambda: None
        pulse_harness.change("site/harbour", place="the east quay")
        pulse_harness.refresh()

    pulse_harness.model.during = meanwhile
    pulse_harness.refresh()
    assert len(pulse_harness.model.requests) == 1
    assert pulse_harness.due_at() <= pulse_harness.now
    assert pulse_harness.sweep(1).sent_count >= 1
    pulse_harness.run_writers()
    assert "the east quay" in pulse_harness.pulse_column()


def test_two_writers_at_once_and_one_after_change_nothing(pulse_harness: PulseHarness) -> None:
    pulse_harness.change("site/harbour", place="the west quay")
    pulse_harness.sweep()
    (order,) = {
        PulseJob.from_json(body)
        for body, _ in pulse_harness.pulse_queue.sent
        if body["entity_id"] == str(pulse_harness.id)
    }
    pulse_harness.model.during = lambda: writing_job.run_pulse_job(
        pulse_harness.make_dependencies(), order, lambda: 299.0
    )
    writing_job.run_pulse_job(pulse_harness.make_dependencies(), order, lambda: 300.0)
    pulse_harness.model.during = lambda: None
    writing_job.run_pulse_job(pulse_harness.make_dependencies(), order, lambda: 300.0)
    assert len(pulse_harness.model.requests) == 1
    assert pulse_harness.pulse_column("version") == 1
    assert pulse_harness.day_total("regenerated") == 1


def test_a_kinds_own_model_is_asked_and_its_own_prompt_is_told(pulse_harness: PulseHarness) -> None:
    pulse_harness.define("site", {"pulse": "auto", "pulse_model": "default", "pulse_prompt": "Name the tides."})
    pulse_harness.refresh()
    (request,) = pulse_harness.model.requests
    assert request.model == "claude-sonnet-5-5"
    assert "Name the tides." in str(request.system[0]["text"])
    assert "This is about Harbour Office (site/harbour)." in str(request.system)


def test_its_prompt_is_accounted_for_and_made_again_byte_for_byte(pulse_harness: PulseHarness) -> None:
    three_changes(pulse_harness)
    pulse_harness.refresh()
    with pulse_harness.desk.database.transaction(pulse_harness.admin) as tx:
        told = explain_prompt(pulse_harness.admin, tx, "site/harbour")
    assert (told["outcome"], told["version"], told["is_identical"], told["is_erased"]) == ("written", 1, True, False)
    assert told["budget"] == 7_000
    assert int(str(told["tokens"])) <= 7_000
    lots = {str(one["kind"]) for one in object_items(told["candidates"])}
    assert lots >= {"counts", "record", "changes", "linked", "file_summaries"}
    assert str(pulse_harness.model.requests[0].system[-1]["text"])[:200] in str(told["prompt"]).replace("\\n", "\n")


def test_without_a_model_the_newest_is_quoted(pulse_harness: PulseHarness) -> None:
    pulse_harness.models = {"offline": OfflineModel()}
    three_changes(pulse_harness)
    pulse_harness.refresh()
    assert pulse_harness.pulse_column().startswith(f"*{offline_answer.OFFLINE_NOTE}*")
    assert "report.pdf: " in pulse_harness.pulse_column()
    assert (pulse_harness.pulse_column("provider"), pulse_harness.pulse_column("cost_usd")) == ("offline", 0)


def test_versions_are_kept_with_what_they_were_written_for(pulse_harness: PulseHarness) -> None:
    pulse_harness.refresh()
    pulse_harness.change("site/harbour", place="the east quay")
    pulse_harness.sweep()
    pulse_harness.run_writers()
    rows = pulse_harness.desk.query("SELECT version, mark_count, causes FROM pulse_versions ORDER BY version")
    assert [row[0] for row in rows] == [1, 2]
    assert rows[1][1] == 1
    assert [one["cause"] for one in rows[1][2]] == ["changed"]  # type: ignore[attr-defined]
    assert pulse_harness.pulse_column("version") == 2


def test_a_record_that_was_deleted_is_let_go(pulse_harness: PulseHarness) -> None:
    pulse_harness.change("site/harbour", place="the east quay")
    pulse_harness.sweep()
    pulse_harness.desk.query(f"UPDATE entities SET deleted_at = now() WHERE id = '{pulse_harness.id}' RETURNING 1")
    assert pulse_harness.run_writers() == 1
    assert pulse_harness.model.requests == []
    assert pulse_harness.due_at() is None


def test_a_conversation_that_was_closed_is_not_told_of(pulse_harness: PulseHarness) -> None:
    pulse_harness.create("conversation/talk", "Talk about tides", state="open", participants="Ines and Tom")
    pulse_harness.link("conversation/talk", "site/harbour", "part_of")
    pulse_harness.embed()
    pulse_harness.refresh()
    assert any("Talk about tides" in text for text in pulse_harness.model.last_documents.values())
    pulse_harness.change("conversation/talk", state="closed")
    pulse_harness.refresh()
    assert len(pulse_harness.model.requests) == 2
    assert not any("Talk about tides" in text for text in pulse_harness.model.last_documents.values())


def test_nobody_is_asked_for_what_nobody_asked(pulse_harness: PulseHarness) -> None:
    writing_job.run_pulse_job(
        pulse_harness.make_dependencies(), PulseJob(pulse_harness.desk.tenant_id, pulse_harness.id), lambda: 300.0
    )
    assert pulse_harness.model.requests == []


def test_only_what_holds_is_shown(pulse_harness: PulseHarness) -> None:
    pulse_harness.model.script = [
        lambda found: statements_answer(
            ("The office stands at the north quay.", [find_number(found, "north quay")]),
            ("It sank.", [999]),
            ("17 jobs are open.", [1]),
        )
    ]
    pulse_harness.refresh()
    assert pulse_harness.pulse_column() == "- The office stands at the north quay. [1]"
    assert pulse_harness.pulse_column("rejected_statements") == {"unknown_source": 1, "unsupported_number": 1}
