"""The sample events: one set for `sam local invoke`, `parlour invoke`, the demo and the tests."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from parlour.channels import gupshup_webhook
from parlour.channels.envelope import Envelope
from parlour.infra.errors import MalformedPayload

FOLDER = Path(__file__).parents[3] / "events"
FUNCTIONS = {
    "inbound",
    "receiver",
    "orchestrator",
    "tool_dispatcher",
    "embedder",
    "ingest",
    "file_reader",
    "outbound",
    "sweep",
    "http_api",
    "http_stream",
    "migrate",
    "pulse_sweep",
    "pulse_writer",
    "memory_extractor",
}
NOW = datetime(2026, 3, 2, 9, 30, 5, tzinfo=UTC)


def event(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


def envelopes(name: str) -> list[Envelope]:
    return gupshup_webhook.parse(json.loads(event(name)["body"]), NOW)


def test_every_function_has_an_event_and_every_event_a_function() -> None:
    names = {file.stem for file in FOLDER.glob("*.json")}
    assert {next((f for f in FUNCTIONS if name.startswith(f)), name) for name in names} == FUNCTIONS


def test_the_text_event_is_what_the_receivers_event_carries_on() -> None:
    (queued,) = event("receiver_text")["Records"]
    assert envelopes("inbound_gupshup_text") == [Envelope.from_json(json.loads(queued["body"]))]


def test_the_image_event_carries_a_file_with_its_caption() -> None:
    (envelope,) = envelopes("inbound_gupshup_image")
    assert envelope.media is not None
    assert (envelope.kind, envelope.media.mime_type, envelope.text) == (
        "media",
        "image/jpeg",
        "The crack at C4 this morning",
    )


def test_the_status_event_is_about_the_id_that_the_send_api_answered() -> None:
    (envelope,) = envelopes("inbound_gupshup_status")
    assert (envelope.status, envelope.provider_message_id) == ("delivered", "ee4a68a0-1203-4c85-8dc3-49d0b3226a35")


def test_the_malformed_event_is_malformed() -> None:
    with pytest.raises((MalformedPayload, json.JSONDecodeError)):
        envelopes("inbound_gupshup_malformed")


@pytest.mark.parametrize(
    "name",
    [
        "orchestrator_wake",
        "embedder_pending",
        "ingest_file",
        "outbound_reply",
        "sweep_wakeup",
        "pulse_sweep_wakeup",
        "pulse_writer_job",
        "memory_extractor_job",
    ],
)
def test_queue_events_name_the_tenant_they_are_for(name: str) -> None:
    (record,) = event(name)["Records"]
    assert "tenant_id" in json.loads(record["body"])
