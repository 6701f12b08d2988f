"""Meta's send API for WhatsApp Cloud numbers: one text, question with buttons, or template message; read receipts.

The answer is an honest word on whether it was taken.

Meta tells its errors apart by code, not by HTTP status: a throttled call may well be a 400. An error that carries one
of its codes comes from behind the gateway, so that the message was surely not taken.
"""

import httpx2

from parlour.channels.outgoing_message import ChannelAccount, OutgoingMessage
from parlour.channels.provider_http import INVALID_REQUEST_ERRORS, NOT_SENT_ERRORS, response_json, retry_after_seconds
from parlour.infra.errors import (
    DeliveryUnknown,
    KeyRefused,
    Misconfigured,
    ProviderRejected,
    ProviderUnavailable,
    WindowClosed,
)
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.secrets import SecretStore

GRAPH_API_VERSION = "v23.0"
"""Of the Graph API, in every path."""

_TRANSIENT_CODES = frozenset({2, 4, 80007, 130429, 131000, 131016, 131056, 131057, 133004})
"""Down or overloaded, too many calls by app, account, number or to one person, in maintenance."""

_ACCESS_CODES = frozenset({0, 3, 10, 33, 190, *range(200, 300), 131005, 133010})
"""The token has expired or may not do this, or the number is none of ours any more: somebody has to mend that, and
until then every reply waits."""

_RECEIPT_SECONDS = 2
"""For each phase of a request that marks a message as read."""

_TOKEN_CODES = frozenset({0, 3, 190})
_WINDOW_CLOSED_CODE = 131047
_MAX_REASON_CHARS = 200


class WhatsAppCloudProvider:
    """The WhatsApp channel through Meta itself. The token is read for each call and held nowhere."""

    def __init__(self, client: httpx2.Client, base_url: str, secrets: SecretStore) -> None:
        self._client = client
        self._url = f"{base_url.rstrip('/')}/{GRAPH_API_VERSION}"
        self._secrets = secrets

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        """Send one message; the id (wamid) under which Meta took it. Errors as ChannelProvider says."""
        headers = self._headers(outgoing.secret_reference)
        url = f"{self._url}/{outgoing.phone_number_id}/messages"
        try:
            number = outgoing.recipient.removeprefix("+")
            request_body = {
                "messaging_product": "whatsapp",
                "recipient_type": "individual",
                # An id given as `to` is taken for a number: Meta answers with a message's id, and nothing ever arrives.
                **({"to": number} if number.isdecimal() else {"recipient": outgoing.recipient}),
                **({"biz_opaque_callback_data": outgoing.callback_data} if outgoing.callback_data else {}),
                **_message_content(outgoing),
            }
            response = self._client.post(url, json=request_body, headers=headers)
        except NOT_SENT_ERRORS as error:
            raise ProviderUnavailable("Meta could not be reached") from error
        except INVALID_REQUEST_ERRORS as error:
            raise Misconfigured(
                f"secret {outgoing.secret_reference} or WHATSAPP_BASE_URL cannot be used in a request"
            ) from error
        except httpx2.RequestError as error:
            raise DeliveryUnknown("Meta did not answer after the message was sent") from error
        return _read_response(response)

    def mark_read(self, account: ChannelAccount, message_id: str, /) -> None:
        """Mark a message (wamid) and those before it as read, and show for 25 seconds that somebody types.

        Raises the HTTP client's errors, and ParlourError when Meta refuses.
        """
        response = self._client.post(
            f"{self._url}/{account.settings['phone_number_id']}/messages",
            json={
                "messaging_product": "whatsapp",
                "status": "read",
                "message_id": message_id,
                "typing_indicator": {"type": "text"},
            },
            headers=self._headers(account.secret_reference),
            timeout=_RECEIPT_SECONDS,
        )
        if not response.is_success:
            raise ProviderRejected(f"Meta answered {response.status_code} to a read receipt")

    def _headers(self, secret_reference: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._secrets.get(secret_reference).strip()}"}


def is_token_refused(answer: JsonObject) -> bool:
    """Whether Meta's answer says that it is the token which has to be mended: about a file, 33 and 10 may mean that
    it is not there, or another number's."""
    error = answer.get("error")
    return isinstance(error, dict) and error.get("code") in _TOKEN_CODES


def _message_content(outgoing: OutgoingMessage) -> JsonObject:
    template = outgoing.template
    if template is None and outgoing.buttons:
        replies: Json = [{"type": "reply", "reply": button.to_json()} for button in outgoing.buttons]
        content: Json = {"type": "button", "body": {"text": outgoing.text}, "action": {"buttons": replies}}
        return {"type": "interactive", "interactive": content}
    if template is None:
        return {"type": "text", "text": {"body": outgoing.text, "preview_url": False}}
    parameters: list[Json] = [
        {"type": "text", "text": value, **({} if name.isdecimal() else {"parameter_name": name})}
        for name, value in template.parameters
    ]
    body: list[Json] = [{"type": "body", "parameters": parameters}] if parameters else []
    language: Json = {"code": template.language, "policy": "deterministic"}
    buttons: list[Json] = [
        {
            "type": "button",
            "sub_type": "quick_reply",
            "index": str(index),
            "parameters": [{"type": "payload", "payload": button.id}],
        }
        for index, button in enumerate(outgoing.buttons)
    ]
    components: Json = [*body, *buttons]
    return {"type": "template", "template": {"name": template.name, "language": language, "components": components}}


def _read_response(response: httpx2.Response) -> str:
    status, answer = response.status_code, response_json(response)
    error = answer.get("error")
    if isinstance(error, dict):
        raise _to_error(status, error, retry_after_seconds(response))
    if status == 429:
        raise ProviderUnavailable("Meta answered 429", retry_after=retry_after_seconds(response))
    if status >= 500:
        raise DeliveryUnknown(f"Meta's gateway answered {status}")
    if not response.is_success:
        raise ProviderRejected(f"Meta answered {status}: no reason given")
    messages = answer.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    found = first.get("id") if isinstance(first, dict) else None
    message_id = found if isinstance(found, str) else ""
    if not message_id:
        raise DeliveryUnknown(f"Meta answered {status} without the message's id")
    return message_id


def _to_error(status: int, error: JsonObject, after: int | None) -> Exception:
    given = error.get("code")
    code = given if isinstance(given, int) else None
    # Code and words; Meta puts what is most telling into `error_data.details`.
    data = error.get("error_data")
    details = data.get("details") if isinstance(data, dict) else None
    error_text = f"{error.get('code', '-')} {details or error.get('message', 'no reason given')}"[:_MAX_REASON_CHARS]
    words = f"Meta answered {status}: {error_text}"
    if code == _WINDOW_CLOSED_CODE:
        return WindowClosed(words)
    if code in _ACCESS_CODES:
        return KeyRefused(words)
    if code in _TRANSIENT_CODES or status in {429, 503}:
        return ProviderUnavailable(words, retry_after=after)
    return DeliveryUnknown(words) if status >= 500 else ProviderRejected(words)
