"""Showing somebody who wrote that their message was read and that a reply is being written, where a provider can."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from parlour.channels import outgoing_message
from parlour.channels.outgoing_message import ChannelAccount
from parlour.infra.errors import Misconfigured
from parlour.infra.json_values import JsonObject


class ReadReceiptSender(Protocol):
    """A provider that takes read receipts.

    `mark_read` raises ParlourError or the HTTP client's error where the provider did not take one. It takes seconds at
    most: a typing indicator that comes late is worth nothing.
    """

    def mark_read(self, account: ChannelAccount, message_id: str, /) -> None: ...


type ReadReceiptSenders = Mapping[str, ReadReceiptSender]
"""By the name that a binding's settings give as `provider`; of another provider nothing is shown."""


@dataclass(frozen=True, slots=True)
class ReceivedMessageRow:
    """A message that a provider delivered, and the number that it came to.

    provider_message_id  with the provider's name before it: `whatsapp_cloud:wamid...`.
    """

    provider_message_id: str
    channel: str
    channel_settings: JsonObject | None
    secret_reference: str | None


def send_read_receipt(senders: ReadReceiptSenders, message: ReceivedMessageRow) -> bool:
    """Mark the message and those before it as read and show that somebody types; False where the provider cannot.

    Raises Misconfigured when the binding's channel lacks a setting, and what `mark_read` raises.
    """
    provider, _, message_id = message.provider_message_id.partition(":")
    sender = senders.get(provider)
    if sender is None:
        return False
    account = outgoing_message.parse_account(message.channel, message.channel_settings, message.secret_reference)
    if account.provider != provider:
        raise Misconfigured(f"the message came through {provider}, and the binding uses {account.provider} now")
    sender.mark_read(account, message_id)
    return True
