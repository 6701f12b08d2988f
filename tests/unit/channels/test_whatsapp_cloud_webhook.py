"""Meta's webhooks as envelopes: every kind of message, batches of several people, statuses, and what cannot be read."""

from datetime import UTC, datetime
from typing import Any

import pytest

from local import meta_webhooks
from parlour.channels.envelope import Envelope, Media
from parlour.channels.whatsapp_cloud_webhook import parse
from parlour.infra.errors import MalformedPayload

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
NUMBER = "106540352242922"


def change(*messages: dict[str, Any], **value: Any) -> dict[str, Any]:
    return {
        "metadata": {"phone_number_id": NUMBER},
        "contacts": [{"profile": {"name": "Asha"}, "wa_id": "919800000001"}],
        "messages": [
            {"from": "919800000001", "id": f"wamid.{number}", "timestamp": "1772443800", **message}
            for number, message in enumerate(messages, 1)
        ],
        **value,
    }


def read(*messages: dict[str, Any], **value: Any) -> list[Envelope]:
    return parse(meta_webhooks.webhook(change(*messages, **value)), NOW).envelopes


def test_a_text_is_who_wrote_what_to_which_number() -> None:
    [envelope] = read({"type": "text", "text": {"body": "Is it dry?\r\n"}, "context": {"id": "wamid.0"}})

    assert envelope == Envelope(
        "whatsapp",
        "whatsapp_cloud",
        f"whatsapp:{NUMBER}",
        "+919800000001",
        "wamid.1",
        "text",
        "Is it dry?\n",
        None,
        "",
        NOW,
        {"type": "text", "sender_name": "Asha", "reply_to": "wamid.0"},
    )
    assert Envelope.from_json(envelope.to_json()) == envelope


def test_somebody_who_hides_their_number_is_known_by_metas_id() -> None:
    [envelope] = parse(
        meta_webhooks.webhook(
            {
                "metadata": {"phone_number_id": NUMBER},
                "contacts": [{"profile": {"name": "Asha", "username": "asha"}, "user_id": "IN.13491208655302741918"}],
                "messages": [
                    {
                        "from_user_id": "IN.13491208655302741918",
                        "id": "wamid.1",
                        "timestamp": "1772443800",
                        "type": "text",
                        "text": {"body": "Hello"},
                    }
                ],
            }
        ),
        NOW,
    ).envelopes

    assert (envelope.sender, envelope.metadata["sender_name"]) == ("IN.13491208655302741918", "Asha")


@pytest.mark.parametrize(
    ("message", "text", "note"),
    [
        ({"type": "button", "button": {"text": "Yes", "payload": "yes-1"}}, "Yes", ("button_id", "yes-1")),
        (
            {
                "type": "interactive",
                "interactive": {"type": "button_reply", "button_reply": {"id": "b", "title": "A"}},
            },
            "A",
            ("button_id", "b"),
        ),
        (
            {"type": "interactive", "interactive": {"type": "list_reply", "list_reply": {"id": "l", "title": "C4"}}},
            "C4",
            ("button_id", "l"),
        ),
        (
            {"type": "interactive", "interactive": {"type": "nfm_reply", "nfm_reply": {"response_json": '{"a":1}'}}},
            '{"a":1}',
            ("type", "interactive"),
        ),
    ],
)
def test_what_somebody_chose_is_what_they_said(message: dict[str, Any], text: str, note: tuple[str, str]) -> None:
    [envelope] = read(message)

    assert (envelope.kind, envelope.text, envelope.metadata[note[0]]) == ("text", text, note[1])


@pytest.mark.parametrize("kind", ["image", "video", "audio", "sticker", "document"])
def test_a_file_is_known_by_its_id(kind: str) -> None:
    content = {"id": "media-1", "mime_type": "a/b", "sha256": "x", "caption": "C4", "filename": "plan.pdf"}
    [envelope] = read({"type": kind, kind: content})

    assert envelope.kind == "media"
    assert envelope.media == Media(kind, "", "a/b", "plan.pdf", "C4", "media-1")
    assert envelope.text == "C4"


@pytest.mark.parametrize(
    "message",
    [
        {"type": "location", "location": {"latitude": 51.5, "longitude": -0.1, "name": "Site"}},
        {"type": "contacts", "contacts": [{"name": {"formatted_name": "Jon"}}]},
        {"type": "unsupported", "errors": [{"code": 131051, "title": "Unsupported"}]},
        {"type": "order", "order": {"catalog_id": "1"}},
        {"type": "of tomorrow"},
    ],
)
def test_anything_else_is_somebody_waiting_for_an_answer(message: dict[str, Any]) -> None:
    [envelope] = read(message)

    assert (envelope.kind, envelope.media and envelope.media.kind) == ("media", message["type"])


@pytest.mark.parametrize(
    "message",
    [
        {"type": "reaction", "reaction": {"message_id": "wamid.0", "emoji": "👍"}},
        {"type": "system", "system": {"body": "changed", "type": "user_changed_number"}},
    ],
)
def test_a_thumb_and_a_changed_number_await_no_answer(message: dict[str, Any]) -> None:
    assert [envelope.kind for envelope in read(message)] == ["other"]


def test_a_batch_of_several_people_is_several_envelopes_in_order() -> None:
    first = change({"type": "text", "text": {"body": "a"}}, {"type": "text", "text": {"body": "b"}, "from": "447700"})
    second = change({"type": "text", "text": {"body": "c"}})
    batch = parse(meta_webhooks.webhook(first, second), NOW)

    assert [(one.sender, one.text) for one in batch.envelopes] == [
        ("+919800000001", "a"),
        ("+447700", "b"),
        ("+919800000001", "c"),
    ]
    assert (batch.unreadable_count, len({one.group_id for one in batch.envelopes})) == (0, 2)


def test_one_that_cannot_be_read_does_not_take_its_neighbours_with_it() -> None:
    batch = parse(
        meta_webhooks.webhook(change({"type": "text", "from": "?"}, {"type": "text", "text": {"body": "b"}})), NOW
    )

    assert ([one.text for one in batch.envelopes], batch.unreadable_count) == (["b"], 1)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        {},
        {"object": "page"},
        meta_webhooks.webhook(change({"id": ""})),
        meta_webhooks.webhook(change({"type": "text"}, metadata={})),
    ],
)
def test_what_is_no_such_webhook_is_malformed(payload: Any) -> None:
    with pytest.raises(MalformedPayload):
        parse(payload, NOW)


def test_news_about_the_account_are_nothing_to_us() -> None:
    payload: Any = {
        "object": "whatsapp_business_account",
        "entry": [{"changes": [{"field": "account_update", "value": {}}]}],
    }
    assert parse(payload, NOW).envelopes == []


def test_a_status_carries_our_callback_and_why_it_failed() -> None:
    told = meta_webhooks.status(
        phone_number_id=NUMBER,
        kind="failed",
        message_id="wamid.9",
        to="+919800000001",
        callback="o:1",
        now=NOW,
        code=131047,
    )
    [envelope] = parse(meta_webhooks.webhook(told), NOW).envelopes

    assert (envelope.kind, envelope.status, envelope.provider_message_id) == ("status", "failed", "wamid.9")
    assert envelope.metadata == {"code": "131047", "reason": "Message failed to send", "callback": "o:1"}
    assert envelope.sender == "+919800000001"


@pytest.mark.parametrize("kind", ["played", "deleted", "of tomorrow", 7])
def test_a_status_that_changes_nothing_is_left_out(kind: Any) -> None:
    told = {"metadata": {"phone_number_id": NUMBER}, "statuses": [{"id": "wamid.9", "status": kind}]}
    assert parse(meta_webhooks.webhook(told), NOW).envelopes == []  # type: ignore[arg-type]
