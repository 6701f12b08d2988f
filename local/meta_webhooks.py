"""What Meta's webhooks for WhatsApp Cloud numbers look like, and how they are signed, for playing Meta on a laptop.

Shapes from the provider's public documentation: messages, media and statuses.
"""

import hashlib
import hmac
import json
from datetime import datetime

from parlour.infra.json_values import Json, JsonObject

SIGNATURE_HEADER = "X-Hub-Signature-256"


def webhook(*changes: JsonObject) -> JsonObject:
    """One webhook; each change is what `text_message`, `media_message` or `status` returned."""
    entry: Json = {"id": "102290129340398", "changes": [{"field": "messages", "value": value} for value in changes]}
    return {"object": "whatsapp_business_account", "entry": [entry]}


def text_message(
    *, phone_number_id: str, sender: str, name: str, text: str, message_id: str, now: datetime
) -> JsonObject:
    """Somebody with the number `sender` (E.164, with or without "+") wrote `text`."""
    return _message(phone_number_id, sender, name, message_id, now, "text", {"body": text})


def button_reply(
    *, phone_number_id: str, sender: str, name: str, title: str, button_id: str, message_id: str, now: datetime
) -> JsonObject:
    """Somebody pressed the button `title` of a question of ours."""
    content: JsonObject = {"type": "button_reply", "button_reply": {"id": button_id, "title": title}}
    return _message(phone_number_id, sender, name, message_id, now, "interactive", content)


def media_message(
    *, phone_number_id: str, sender: str, name: str, media_id: str, mime_type: str, message_id: str, now: datetime
) -> JsonObject:
    """Somebody sent an image, which is fetched by `media_id`."""
    content: JsonObject = {"id": media_id, "mime_type": mime_type, "caption": "The crack at C4 this morning"}
    return _message(phone_number_id, sender, name, message_id, now, "image", content)


def status(
    *, phone_number_id: str, kind: str, message_id: str, to: str, callback: str, now: datetime, code: int = 0
) -> JsonObject:
    """What became of a message we sent: `kind` is sent, delivered, read or failed (with an error's `code`)."""
    told: JsonObject = {
        "id": message_id,
        "status": kind,
        "timestamp": str(int(now.timestamp())),
        "recipient_id": to.removeprefix("+"),
        **({"biz_opaque_callback_data": callback} if callback else {}),
        **({"errors": [{"code": code, "title": "Message failed to send"}]} if code else {}),
    }
    return {**_webhook_value(phone_number_id), "statuses": [told]}


def sign(body: bytes, secret: str) -> str:
    """The value of the signature's header."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def encode(payload: JsonObject) -> bytes:
    """A payload as Meta writes it: compact, everything beyond ASCII escaped."""
    return json.dumps(payload, separators=(",", ":")).encode()


def _message(
    phone_number_id: str, sender: str, name: str, message_id: str, now: datetime, kind: str, content: JsonObject
) -> JsonObject:
    phone = sender.removeprefix("+")
    message: JsonObject = {
        "from": phone,
        "id": message_id,
        "timestamp": str(int(now.timestamp())),
        "type": kind,
        kind: content,
    }
    contact: JsonObject = {"profile": {"name": name}, "wa_id": phone}
    return {**_webhook_value(phone_number_id), "contacts": [contact], "messages": [message]}


def _webhook_value(phone_number_id: str) -> JsonObject:
    metadata: JsonObject = {"display_phone_number": "447700900142", "phone_number_id": phone_number_id}
    return {"messaging_product": "whatsapp", "metadata": metadata}
