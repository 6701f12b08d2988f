"""Envelopes: what survives cleaning, and the way through a queue and back."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.channels.envelope import Envelope, Media, clean_text
from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import JsonObject, canonical_json

MOMENT = datetime(2026, 3, 2, 9, 30, 0, 250_000, tzinfo=UTC)


def an_envelope(**changes: object) -> Envelope:
    fields: dict[str, object] = {
        "channel": "whatsapp",
        "provider": "gupshup",
        "to": "gupshup:ParlourDemo",
        "sender": "+919800000001",
        "provider_message_id": "wamid.1",
        "kind": "text",
        "text": "When was the slab poured?",
        "media": None,
        "status": "",
        "sent_at": MOMENT,
        "metadata": {"sender_name": "Asha"},
    }
    return Envelope(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("nul\0byte", "nulbyte"),
        ("lone \ud83d surrogate", "lone  surrogate"),
        ("a pair stays 😀", "a pair stays 😀"),
        ("one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        ("  spaces\tand\u200bodd ones stay ", "  spaces\tand\u200bodd ones stay "),
        ("", ""),
        ("\0", ""),
    ],
)
def test_cleaning_takes_only_what_cannot_be_stored(written: str, kept: str) -> None:
    assert clean_text(written) == kept


def test_text_is_cut_at_64_kib_and_never_inside_a_character() -> None:
    cut = clean_text("x" + "नम" * 40_000)

    assert len(cut.encode()) <= 64 * 1024
    assert len(cut.encode()) > 64 * 1024 - 3
    assert cut + ("x" + "नम" * 40_000)[len(cut) :] == "x" + "नम" * 40_000


@given(st.text(alphabet=st.characters(codec=None)))
def test_whatever_was_cleaned_is_utf_8_without_nul_and_cleaning_again_changes_nothing(written: str) -> None:
    cleaned = clean_text(written)

    assert "\0" not in cleaned
    assert "\r" not in cleaned
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert clean_text(cleaned) == cleaned


@pytest.mark.parametrize(
    "envelope",
    [
        an_envelope(),
        an_envelope(kind="media", media=Media("image", "https://files.example/1", "image/jpeg", "", "The slab")),
        an_envelope(kind="status", status="delivered", text=""),
    ],
)
def test_an_envelope_comes_out_of_the_queue_as_it_went_in(envelope: Envelope) -> None:
    assert Envelope.from_json(json.loads(canonical_json(envelope.to_json()))) == envelope


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("channel", "pigeon", "channel: Input should be 'whatsapp' or 'web'"),
        ("kind", None, "kind: "),
        ("status", "lost", "status: "),
        ("sent_at", "yesterday", "sent_at: "),
        ("sent_at", "2026-03-02T09:30:00", "sent_at: Input should have timezone info"),
        ("media", "a photograph", "media: "),
        ("media", {"kind": "image"}, "media.url: Field required"),
        ("metadata", [], "metadata: "),
        ("text", 7, "text: Input should be a valid string"),
    ],
)
def test_a_body_that_is_no_envelope_is_refused_by_field(field: str, value: object, complaint: str) -> None:
    body: JsonObject = {**an_envelope().to_json(), field: value}  # type: ignore[dict-item]

    with pytest.raises(MalformedPayload, match=f"^envelope: {complaint}"):
        Envelope.from_json(body)


def test_statuses_of_one_message_are_different_events_and_repeats_are_not() -> None:
    delivered = an_envelope(kind="status", status="delivered")

    assert delivered.deduplication_id == an_envelope(kind="status", status="delivered", sent_at=MOMENT).deduplication_id
    assert delivered.deduplication_id != an_envelope(kind="status", status="read").deduplication_id
    assert delivered.deduplication_id != an_envelope().deduplication_id
    assert delivered.group_id == an_envelope().group_id
