"""The example's project, end to end: a property changes, a report comes in, a task is closed; one new text tells of all
three and cites the page, and whoever looks in between reads the old one and what came since."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from bench.pulse_day import Clerk
from parlour.api.pulse_schemas import RecordPulseView
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.models.model import Completion, ModelRequest, StreamPart, TokenUsage
from parlour.principal import INTERNAL, RESTRICTED, Principal
from parlour.pulse.due.sweep import PulseSweepDependencies, sweep
from parlour.pulse.pulse import LinkedCitation, PulseJob
from parlour.pulse.reading import pulse_statistics, pulse_view, version_history
from parlour.pulse.reading.pulse_view import PulseView
from parlour.pulse.writing import writing_job
from parlour.pulse.writing.level_draft import PulseDependencies
from parlour.records import crud
from parlour.records.crud import RecordPatch
from tests import sample_files
from tests.conversation_harness import ConversationHarness
from tests.integration.files.upload_harness import UploadHarness

CAP = Decimal(100)
REPORT = [[("Site report", 20), ("Weather dry.", 11)], [("The footing moved overnight: gauge CG-2 reads 0.61 mm.", 11)]]
NEWS = ("moved overnight", "2026-09-25", "state: done (was in progress)")


@dataclass
class ProjectHarness:
    """The example's project, and everything between a change and its Pulse."""

    desk: ConversationHarness
    model: Clerk = field(default_factory=Clerk)
    orders: list[PulseJob] = field(default_factory=list)

    def send(self, body: JsonObject, _seconds: float, /) -> None:
        self.orders.append(PulseJob.from_json(body))

    def passes(self, **time: float) -> None:
        self.desk.clock.now += timedelta(**time)

    def change(self, handle: str, **properties: str) -> None:
        desk = self.desk
        with desk.database.transaction(desk.admin) as tx:
            crud.update_record(desk.admin, tx, handle, RecordPatch(properties={**properties}), None, desk.clock())

    def sweep(self) -> list[PulseJob]:
        """What the sweep sends, of the project."""
        desk = self.desk
        sweep(PulseSweepDependencies(desk.database, self, CAP, CAP, desk.clock), lambda: 600.0)
        sent, self.orders = self.orders, []
        return [one for one in sent if one.entity_id == self.project]

    def write(self, order: PulseJob) -> None:
        writing_job.run_pulse_job(self.services, order, lambda: 600.0)

    def look(self, clearance: int = RESTRICTED) -> PulseView:
        desk = self.desk
        reader = Principal(desk.tenant_id, "member", uuid7(desk.clock()), frozenset({"viewer"}), clearance)
        with desk.database.transaction(reader) as tx:
            return pulse_view.read_pulse(reader, tx, "project/NRS", desk.clock())

    @property
    def project(self) -> UUID:
        ((found,),) = self.desk.query("SELECT id FROM entities WHERE key = 'NRS'")
        assert isinstance(found, UUID)
        return found

    @property
    def services(self) -> PulseDependencies:
        desk = self.desk
        return PulseDependencies(
            desk.database,
            lambda: {"anthropic": self.model},
            CAP,
            CAP,
            timedelta(hours=24),
            lambda _: None,
            desk.clock,
            lambda _: None,
            lambda low, _: low,
        )


class QuotingModel(Clerk):
    """Quotes the first words of everything that it is given, and says of all of it that it is from the first."""

    lies = False

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        self.calls += 1
        told = "\n".join(str(block.get("text", "")) for block in request.system)
        found = re.findall(r"^\[(\d+)\] (.+?)(?=\n\n|\Z)", told, re.MULTILINE | re.DOTALL)
        quoted = [(int(number), " ".join(text.split())[:400]) for number, text in found]
        if self.lies:
            quoted = [(quoted[0][0], re.sub(r"\d", "", text)) for _, text in quoted]
        quoted.sort(key=lambda one: not any(word in one[1] for word in NEWS))
        answer = canonical_json({"statements": [{"text": text, "sources": [number]} for number, text in quoted]})
        yield Completion(({"type": "text", "text": answer},), "end_turn", TokenUsage(4_000, 600))


@pytest.fixture
def project(conversation: ConversationHarness) -> ProjectHarness:
    """The project with a Pulse that tells of everything."""
    made = ProjectHarness(conversation, QuotingModel())
    made.passes(minutes=5)
    [order] = made.sweep()
    made.write(order)
    assert made.look().pulse
    return made


def report(project: ProjectHarness, **more: int) -> None:
    room = UploadHarness(project.desk.database, project.desk.admin, project.desk.clock)
    room.upload("morning-round.pdf", sample_files.make_pdf(REPORT), "project/NRS", **more)
    room.run_ingestion()


def test_three_changes_make_one_text_that_tells_of_all_and_cites_the_page(project: ProjectHarness) -> None:
    first, calls = project.look(), project.model.calls
    project.passes(minutes=10)
    project.change("project/NRS", forecast_completion="2026-09-25")
    project.passes(seconds=5)
    report(project)
    project.passes(seconds=5)
    project.change("task/T-112", state="done")

    between = project.look()
    assert between.pulse == first.pulse
    assert between.changes_text == (
        "Since then: 1 change of it (completion as forecast: 2026-09-25 (was 2026-09-11));"
        " 1 change of what belongs to it"
        " (Read crack gauge CG-2 at C4 every working day: state: done (was in progress));"
        " 1 new file (morning-round.pdf)."
    )
    assert project.sweep() == []

    project.passes(seconds=30)
    [order] = project.sweep()
    project.write(order)
    after = project.look()
    assert after.pulse
    assert after.changes_text == ""
    for word in (*NEWS, "0.61 mm"):
        assert word in after.pulse.markdown
    [told] = [one for one in after.pulse.statements if "moved overnight" in one.text]
    [cited] = [one for one in after.pulse.citations if one.number in told.sources]
    assert (cited.title, cited.locator.endswith("page 2")) == ("morning-round.pdf", True)
    assert isinstance(cited, LinkedCitation)
    assert (cited.link or "").endswith("page=2")
    with project.desk.database.transaction(project.desk.admin) as tx:
        versions = version_history.list_versions(project.desk.admin, tx, "project/NRS").versions
        total = pulse_statistics.read_statistics(project.desk.admin, tx, 1, CAP, project.desk.clock()).total
    for cause in ("changed", "file_ingested", "child_changed"):
        assert f"'{cause}'" in str(versions[0])
    assert project.model.calls - calls == len(levels(project))
    assert total.coalesced >= 2


def levels(project: ProjectHarness) -> list[int]:
    found = project.desk.query(f"SELECT level FROM pulses WHERE entity_id = '{project.project}' ORDER BY level")
    return [int(str(level)) for (level,) in found]


def test_of_a_restricted_file_nobody_below_hears_although_the_model_names_other_sources(
    project: ProjectHarness,
) -> None:
    assert isinstance(project.model, QuotingModel)
    project.model.lies = True
    project.passes(minutes=10)
    before = project.look(INTERNAL)
    report(project, classification=RESTRICTED)
    low, high = project.look(INTERNAL), project.look()
    assert (low.stale_since, low.changes_text, low.pulse, low.due_at) == (None, "", before.pulse, None)
    assert "morning-round.pdf" in high.changes_text
    project.passes(minutes=1)
    for order in project.sweep():
        project.write(order)
    low, high = project.look(INTERNAL), project.look()
    assert high.pulse
    assert low.pulse
    assert high.pulse.level == RESTRICTED
    assert "moved overnight" in high.pulse.markdown
    with project.desk.database.transaction(project.desk.admin) as tx:
        reader = Principal(
            project.desk.tenant_id, "member", uuid7(project.desk.clock()), frozenset({"viewer"}), INTERNAL
        )
        told = [
            RecordPulseView.model_validate(low).model_dump_json(),
            version_history.list_versions(reader, tx, "project/NRS"),
            version_history.diff_versions(reader, tx, "project/NRS"),
        ]
    assert "moved overnight" not in str(told)
    assert "morning-round" not in str(told)
