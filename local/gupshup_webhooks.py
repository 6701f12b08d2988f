"""What Gupshup's webhooks look like (payload version 2), for playing the provider on a laptop.

Shapes from the provider's public documentation: inbound messages and message events.
"""

from datetime import datetime

from parlour.infra.json_values import JsonObject

DEMO_APP = "ParlourDemo"
"""The app name that the example pack's WhatsApp binding is routed by."""


def text_message(*, app: str, sender: str, name: str, text: str, message_id: str, now: datetime) -> JsonObject:
    """Somebody with the number `sender` (E.164, with or without "+") wrote `text`."""
    phone = sender.removeprefix("+")
    payload: JsonObject = {
        "id": message_id,
        "source": phone,
        "type": "text",
        "payload": {"text": text},
        "sender": {"phone": phone, "name": name, "country_code": phone[:2], "dial_code": phone[2:]},
    }
    return _webhook(app, "message", payload, now)


def button_reply(
    *, app: str, sender: str, name: str, title: str, button_id: str, message_id: str, now: datetime
) -> JsonObject:
    """Somebody pressed the button `title` of a question of ours."""
    webhook = text_message(app=app, sender=sender, name=name, text=title, message_id=message_id, now=now)
    chosen: JsonObject = {"title": title, "id": message_id, "reply": title, "postbackText": button_id}
    payload = {**webhook["payload"], "type": "button_reply", "payload": chosen}  # type: ignore[dict-item]
    return {**webhook, "payload": payload}


def message_event(*, app: str, kind: str, provider_id: str, phone_id: str, to: str, now: datetime) -> JsonObject:
    """What became of a message we sent: `kind` is enqueued, sent, delivered, read or failed.

    provider_id   what the send API answered with (a Gupshup id).
    phone_id      the id WhatsApp itself gave the message, known once it is enqueued.
    """
    if kind in {"enqueued", "failed"}:
        detail: JsonObject = {"whatsappMessageId": phone_id, "type": "session"}
        payload: JsonObject = {"id": provider_id, "type": kind, "destination": to, "payload": detail}
    else:
        detail = {"ts": int(now.timestamp())}
        payload = {"id": phone_id, "gsId": provider_id, "type": kind, "destination": to, "payload": detail}
    return _webhook(app, "message-event", payload, now)


def _webhook(app: str, kind: str, payload: JsonObject, now: datetime) -> JsonObject:
    return {
        "app": app,
        "timestamp": int(now.timestamp() * 1000),
        "version": 2,
        "type": kind,
        "payload": payload,
    }
