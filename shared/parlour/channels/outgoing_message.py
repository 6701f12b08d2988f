"""One message for a provider, made from a reply and the settings of its binding's channel. Pure.

channels.whatsapp   provider: gupshup         app, source, api_key
                    provider: whatsapp_cloud  phone_number_id, api_key
                    either                    templates, which `templates` describes
                                              interim_seconds, until a line says that the reply takes longer
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from parlour.channels.buttons import Button, MessagePart
from parlour.channels.templates import FilledTemplate
from parlour.infra.errors import Misconfigured
from parlour.infra.json_values import JsonObject

CUSTOMER_SERVICE_WINDOW = timedelta(hours=24)
"""How long after the user last wrote WhatsApp takes free text."""

DEFAULT_INTERIM_SECONDS = 15
"""Until a line says that the reply takes longer, where the channel's settings do not say; 0: never."""

_REQUIRED_SETTINGS = {"gupshup": ("app", "source"), "whatsapp_cloud": ("phone_number_id",)}


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """One message for a provider: to whom, what, from which of our numbers, and where the key is stored.

    app              our app at Gupshup
    source           our number at Gupshup
    phone_number_id  our number at Meta
    callback_data    comes back with the provider's status updates of this message, where the provider can
    template         sent in place of the text, which it makes; None: free text
    buttons          shown below the text; a template has as many quick-reply buttons, in the same order
    """

    recipient: str
    text: str
    secret_reference: str
    app: str = ""
    source: str = ""
    phone_number_id: str = ""
    callback_data: str = ""
    template: FilledTemplate | None = None
    buttons: Sequence[Button] = ()


@dataclass(frozen=True, slots=True)
class ChannelAccount:
    """A binding's channel settings, checked: one of our numbers with one provider."""

    provider: str
    secret_reference: str
    settings: JsonObject

    def make_message(
        self, recipient: str, part: MessagePart, callback_data: str, template: FilledTemplate | None
    ) -> OutgoingMessage:
        """Return `part` addressed to `recipient` from this number."""
        values = {name: str(self.settings[name]) for name in _REQUIRED_SETTINGS[self.provider]}
        return OutgoingMessage(
            recipient,
            part.text,
            self.secret_reference,
            callback_data=callback_data,
            template=template,
            buttons=part.buttons,
            **values,
        )


def parse_account(channel: str, settings: JsonObject | None, secret_reference: str | None) -> ChannelAccount:
    """Return the number that a binding sends from; Misconfigured names what the binding's channel lacks."""
    given = settings or {}
    provider = str(given.get("provider"))
    needed = _REQUIRED_SETTINGS.get(provider)
    if needed is None:
        raise Misconfigured(f"channels.{channel}.provider must be one of {', '.join(_REQUIRED_SETTINGS)}")
    if not all(isinstance(given.get(name), str) and given[name] for name in needed):
        raise Misconfigured(f"channels.{channel} of the provider {provider} needs {' and '.join(needed)}")
    if not secret_reference:
        raise Misconfigured(f"channels.{channel}.api_key must name one of the tenant's secrets")
    return ChannelAccount(provider, secret_reference, given)


def is_window_open(last_inbound_at: datetime | None, now: datetime) -> bool:
    """Return whether free text may be sent to somebody who last wrote at `last_inbound_at` (None: never)."""
    return last_inbound_at is not None and now - last_inbound_at < CUSTOMER_SERVICE_WINDOW
