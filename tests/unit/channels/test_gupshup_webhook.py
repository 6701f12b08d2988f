"""Gupshup's payloads as its documentation shows them, and what becomes of each."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.channels import gupshup_webhook
from parlour.channels.envelope import Envelope, Media
from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import canonical_json

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def a_message(kind: str, content: dict[str, Any] | None, **changes: Any) -> dict[str, Any]:
    payload = {
        "id": "ABEGkYaYVSEEAhAL3SLAWwHKeKrt6s3FKB0c",
        "source": "919800000001",
        "type": kind,
        "payload": content,
        "sender": {"phone": "919800000001", "name": "Asha", "country_code": "91", "dial_code": "9800000001"},
        **changes,
    }
    return {"app": "ParlourDemo", "timestamp": 1772443800250, "version": 2, "type": "message", "payload": payload}


def an_event(kind: str, details: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    payload = {"id": "wamid.1", "gsId": "ee4a68a0", "type": kind, "destination": "919800000001", "payload": details}
    return {
        "app": "ParlourDemo",
        "timestamp": 1772443800250,
        "version": 2,
        "type": "message-event",
        "payload": {**payload, **changes},
    }


def the_one(payload: Any) -> Envelope:
    [envelope] = gupshup_webhook.parse(payload, NOW)
    return envelope


def test_a_text_message_becomes_an_envelope() -> None:
    assert the_one(a_message("text", {"text": "When was the slab poured?"})) == Envelope(
        channel="whatsapp",
        provider="gupshup",
        to="gupshup:ParlourDemo",
        sender="+919800000001",
        provider_message_id="ABEGkYaYVSEEAhAL3SLAWwHKeKrt6s3FKB0c",
        kind="text",
        text="When was the slab poured?",
        media=None,
        status="",
        sent_at=datetime(2026, 3, 2, 9, 30, 0, 250_000, tzinfo=UTC),
        metadata={"type": "text", "sender_name": "Asha"},
    )


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("button_reply", {"title": "First", "id": "qr1", "reply": "First 1"}, "First"),
        ("list_reply", {"title": "Tower B", "id": "list1", "reply": "Tower B 1", "postbackText": "b"}, "Tower B"),
        ("quick_reply", {"text": "View balance", "type": "button", "postbackText": "balance"}, "View balance"),
        ("quick_reply", {"title": "First", "id": "qr1", "reply": "First 1"}, "First"),
    ],
)
def test_what_somebody_chose_is_what_they_said(kind: str, content: dict[str, str], text: str) -> None:
    envelope = the_one(a_message(kind, content))

    assert (envelope.kind, envelope.text) == ("text", text)
    assert envelope.metadata.get("button_id") == content.get("postbackText")


def test_a_picture_keeps_where_to_fetch_it_and_its_caption_is_text() -> None:
    content = {
        "caption": "The slab",
        "url": "https://files.example/1",
        "contentType": "image/jpeg",
        "urlExpiry": 1773048600250,
    }
    envelope = the_one(a_message("image", content))

    assert envelope.kind == "media"
    assert envelope.text == "The slab"
    assert envelope.media == Media("image", "https://files.example/1", "image/jpeg", "", "The slab")


@pytest.mark.parametrize("kind", ["file", "audio", "video", "sticker"])
def test_every_sort_of_file_is_media(kind: str) -> None:
    envelope = the_one(a_message(kind, {"url": "https://files.example/1", "name": "report.pdf"}))

    assert envelope.kind == "media"
    assert envelope.text == ""
    assert envelope.media is not None
    assert (envelope.media.kind, envelope.media.name) == (kind, "report.pdf")


@pytest.mark.parametrize("kind", ["location", "contact", "order", "something_of_next_year"])
def test_what_we_cannot_read_is_media_without_a_file_so_that_somebody_answers(kind: str) -> None:
    envelope = the_one(a_message(kind, {"longitude": "72.85", "latitude": 19.14, "contacts": [{}]}))

    assert (envelope.kind, envelope.text, envelope.media) == ("media", "", Media(kind, ""))
    assert envelope.metadata["type"] == kind
    assert envelope.metadata["latitude"] == "19.14"


@pytest.mark.parametrize("kind", ["reaction", "deleted", "system"])
def test_what_awaits_no_answer_is_other(kind: str) -> None:
    envelope = the_one(a_message(kind, {"emoji": "👍"}))

    assert (envelope.kind, envelope.text, envelope.media) == ("other", "", None)
    assert envelope.metadata["type"] == kind


@pytest.mark.parametrize("content", [None, {}, {"text": ""}, {"text": 12}, {"text": "\0"}, {"text": "\ud83d"}])
def test_a_message_without_text_is_still_a_message(content: dict[str, Any] | None) -> None:
    envelope = the_one(a_message("text", content))

    assert (envelope.kind, envelope.text) == ("text", "")


def test_text_and_names_are_cleaned() -> None:
    envelope = the_one(a_message("text", {"text": "a\0b\ud83d\r\nc"}, sender={"name": "A\0sha" + "a" * 2000}))

    assert envelope.text == "ab\nc"
    assert envelope.metadata["sender_name"] == ("Asha" + "a" * 2000)[:1024]


def test_a_reply_names_the_message_of_ours_that_it_answers() -> None:
    envelope = the_one(a_message("text", {"text": "hi"}, context={"id": "gBEG", "gsId": "9b71295f"}))

    assert envelope.metadata["reply_to"] == "9b71295f"


@pytest.mark.parametrize("kind", ["sent", "delivered", "read"])
def test_progress_is_told_by_the_id_that_the_send_api_gave(kind: str) -> None:
    envelope = the_one(an_event(kind, {"ts": 1772443700}))

    assert (envelope.kind, envelope.status) == ("status", kind)
    assert envelope.provider_message_id == "ee4a68a0"
    assert envelope.sender == "+919800000001"
    assert envelope.sent_at == datetime(2026, 3, 2, 9, 28, 20, tzinfo=UTC)


def test_enqueued_carries_that_id_as_its_own() -> None:
    event = an_event("enqueued", {"whatsappMessageId": "wamid.1", "type": "session"}, id="ee4a68a0", gsId=None)

    assert the_one(event).provider_message_id == "ee4a68a0"


def test_a_failure_says_why() -> None:
    event = an_event("failed", {"code": 470, "reason": "Message failed: outside of the 24 hour window"}, gsId="")
    envelope = the_one(event)

    assert envelope.status == "failed"
    assert envelope.metadata == {"code": "470", "reason": "Message failed: outside of the 24 hour window"}
    assert envelope.problem == "470: Message failed: outside of the 24 hour window"
    assert envelope.provider_message_id == "wamid.1"
    assert the_one(an_event("failed")).problem == ""


@pytest.mark.parametrize(
    "payload",
    [
        an_event("deleted"),
        an_event("mismatch"),
        {"app": "A", "type": "user-event", "payload": {"phone": "callbackSetPhone", "type": "sandbox-start"}},
        {"app": "A", "type": "billing-event", "payload": {}},
        {"app": "A", "type": "account-event"},
    ],
)
def test_news_that_concern_no_conversation_make_no_envelope(payload: dict[str, Any]) -> None:
    assert gupshup_webhook.parse(payload, NOW) == []


@pytest.mark.parametrize("timestamp", [None, "soon", -1, 0, 10**30, float("nan"), 1772443800, 4102444800000, {}])
def test_a_missing_or_impossible_time_is_now(timestamp: Any) -> None:
    event = {**a_message("text", {"text": "hi"}), "timestamp": timestamp}

    assert the_one(event).sent_at == NOW


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        ("text", "the payload must be an object"),
        ([a_message("text", {})], "the payload must be an object"),
        ({"entry": [], "gs_app_id": "82ed", "object": "whatsapp_business_account"}, "type must be text"),
        ({"app": "A", "type": "message"}, "payload must be an object"),
        ({"type": "message", "payload": a_message("text", {})["payload"]}, "app must be text"),
        (a_message("text", {}, id=None), "id must be text"),
        (a_message("text", {}, id="\0"), "id must be 1 to 256"),
        (a_message("text", {}, id="x" * 257), "id must be 1 to 256"),
        (a_message("text", {}, type=["text"]), "type must be text"),
        (a_message("text", {}, source="somebody"), "source must be a phone number"),
        (a_message("text", {}, source="0123456789"), "source must be a phone number"),
        (a_message("text", {}, source="1" * 16), "source must be a phone number"),
        (an_event("sent", id=None, gsId=None), "id must be text"),
    ],
)
def test_a_payload_of_another_shape_is_malformed(payload: Any, complaint: str) -> None:
    with pytest.raises(MalformedPayload, match=complaint):
        gupshup_webhook.parse(payload, NOW)


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    kind=st.sampled_from(["message", "message-event"]),
    inner=st.sampled_from(["text", "image", "list_reply", "location", "sent", "failed", "deleted"]),
    content=st.fixed_dictionaries(
        {}, optional={"text": _JSON, "title": _JSON, "url": _JSON, "ts": _JSON, "code": _JSON, "caption": _JSON}
    )
    | _JSON,
    changes=st.fixed_dictionaries({}, optional={"id": _JSON, "gsId": _JSON, "source": _JSON, "sender": _JSON}),
)
def test_any_json_is_an_envelope_that_survives_a_queue_or_is_malformed(
    kind: str, inner: str, content: Any, changes: Any
) -> None:
    payload = {**a_message(inner, content, destination="919800000001", **changes), "type": kind}

    try:
        envelopes = gupshup_webhook.parse(payload, NOW)
    except MalformedPayload:
        return
    for envelope in envelopes:
        canonical_json(envelope.to_json()).encode("utf-8")
        assert Envelope.from_json(envelope.to_json()) == envelope
