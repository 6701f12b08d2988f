"""Gupshup's send API: one text, question with buttons, or template message.

The answer is an honest word on whether it was taken.
"""

import httpx2

from parlour.channels.outgoing_message import OutgoingMessage
from parlour.channels.provider_http import INVALID_REQUEST_ERRORS, NOT_SENT_ERRORS, response_json, retry_after_seconds
from parlour.infra.errors import DeliveryUnknown, KeyRefused, Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.infra.secrets import SecretStore

_GATEWAY_STATUSES = frozenset({502, 504})
"""A gateway that lost its upstream: the request had been handed on, so the message may have been taken."""

_MAX_REASON_CHARS = 200


class GupshupProvider:
    """The WhatsApp channel through Gupshup. The key is read for each call and held nowhere."""

    def __init__(self, client: httpx2.Client, base_url: str, secrets: SecretStore) -> None:
        self._client = client
        self._url = f"{base_url.rstrip('/')}/wa/api/v1"
        self._secrets = secrets

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        """Send one message; the id under which Gupshup took it. Errors as ChannelProvider says."""
        headers = {"apikey": self._secrets.get(outgoing.secret_reference).strip()}
        try:
            path = "template/msg" if outgoing.template else "msg"
            request_form = {
                "channel": "whatsapp",
                "source": outgoing.source.removeprefix("+"),
                "destination": outgoing.recipient.removeprefix("+"),
                "src.name": outgoing.app,
                **_message_content(outgoing),
            }
            response = self._client.post(f"{self._url}/{path}", data=request_form, headers=headers)
        except NOT_SENT_ERRORS as error:
            raise ProviderUnavailable("Gupshup could not be reached") from error
        except INVALID_REQUEST_ERRORS as error:
            raise Misconfigured(
                f"secret {outgoing.secret_reference} or GUPSHUP_BASE_URL cannot be used in a request"
            ) from error
        except httpx2.RequestError as error:
            raise DeliveryUnknown("Gupshup did not answer after the message was sent") from error
        status = response.status_code
        if status == 429 or (status >= 500 and status not in _GATEWAY_STATUSES):
            raise ProviderUnavailable(f"Gupshup answered {status}", retry_after=retry_after_seconds(response))
        if status >= 500:
            raise DeliveryUnknown(f"Gupshup's gateway answered {status}")
        answer = response_json(response)
        if status == 401:
            raise KeyRefused(f"Gupshup does not know the key: {_error_text(answer)}")
        if not response.is_success or answer.get("status") == "error":
            raise ProviderRejected(f"Gupshup answered {status}: {_error_text(answer)}")
        message_id = answer.get("messageId")
        if not isinstance(message_id, str) or not message_id:
            raise DeliveryUnknown(f"Gupshup answered {status} without the message's id")
        return message_id


def _message_content(outgoing: OutgoingMessage) -> dict[str, str]:
    """Return the form's fields that hold the content; a button's id comes back as its `postbackText`."""
    buttons = outgoing.buttons
    if outgoing.template:
        postbacks: Json = [{"index": index, "text": button.id} for index, button in enumerate(buttons)]
        template = canonical_json(
            {"id": outgoing.template.name, "params": [value for _, value in outgoing.template.parameters]}
        )
        return {"template": template, **({"postbackTexts": canonical_json(postbacks)} if buttons else {})}
    if not buttons:
        return {"message": canonical_json({"type": "text", "text": outgoing.text})}
    options: Json = [{"type": "text", "title": button.title, "postbackText": button.id} for button in buttons]
    content: Json = {"type": "text", "text": outgoing.text}
    return {"message": canonical_json({"type": "quick_reply", "content": content, "options": options})}


def _error_text(answer: JsonObject) -> str:
    """Gupshup puts text under `message`, or an object with more in it."""
    reason = answer.get("message", "no reason given")
    return (reason if isinstance(reason, str) else canonical_json(reason))[:_MAX_REASON_CHARS]
