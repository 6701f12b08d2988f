"""Addresses of Chatwoot's webhooks: one per inbox at a time, read and rotated by people, with a trace of both."""

from datetime import datetime
from uuid import UUID

from parlour.infra.errors import NotFound, Unauthenticated
from parlour.infra.postgres import Transaction
from parlour.notifications import notifications, store
from parlour.notifications.chatwoot_webhook import ChatwootSource
from parlour.principal import Principal
from parlour.tenancy import audit, roles


def open_address(
    principal: Principal, tx: Transaction, binding: str, new_id: UUID, now: datetime, *, rotates: bool = False
) -> ChatwootSource:
    """Return what the address of a binding's inbox in Chatwoot names; `rotates`: a new one, which ends the old.

    Audited. Needs admin, and no API key may: the address has no end of its own, and who has it answers as people do.
    `new_id` is used where there is no address yet, and to rotate. Raises Forbidden, and NotFound for a binding without
    an inbox in Chatwoot.
    """
    roles.require_role(principal, "admin")
    roles.require_person(principal)
    inbox = notifications.find_chatwoot_inbox(tx, binding)
    if inbox is None:
        raise NotFound("there is no binding of this name with `notifications.chatwoot`")
    address_id = store.save_chatwoot_address(tx, inbox, new_id, rotates=rotates)
    action = "chatwoot_address.rotated" if rotates else "chatwoot_address.read"
    audit.add_entry(principal, tx, action, f"binding:{binding}", {"inbox": inbox}, now)
    return ChatwootSource(principal.tenant_id, inbox, address_id)


def require_current(tx: Transaction, source: ChatwootSource) -> None:
    """Raise Unauthenticated for an address that was rotated since."""
    if store.find_chatwoot_address(tx, source.inbox) != source.address_id:
        raise Unauthenticated(reason="address_rotated")
