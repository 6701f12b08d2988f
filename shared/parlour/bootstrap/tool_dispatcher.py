"""Tool calls off the turn's path."""

import functools
from datetime import UTC, datetime
from uuid import UUID

from parlour.approvals import approvals
from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.bootstrap.tool_endpoints import make_endpoints
from parlour.conversations.tool_result_messages import PendingWakeup, store_tool_result
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.infra.settings import ToolDispatcherSettings, load_settings
from parlour.tenancy.users import load_access
from parlour.tools import callbacks, calls
from parlour.tools.callbacks import Callback
from parlour.tools.dispatch import DispatchDependencies, dispatch_call
from parlour.tools.rows import EndedCall


@functools.cache
def build_tool_dispatcher() -> MessageHandler[JsonObject]:
    """One call brought to its end, and its conversation resumed."""
    settings = load_settings(ToolDispatcherSettings)
    secrets = clients.make_secret_store()
    turns = {
        "whatsapp": clients.make_checked_queue(settings.turns_messaging_queue_url, settings.wakeups_queue_url),
        "web": clients.make_checked_queue(settings.turns_web_queue_url, settings.wakeups_queue_url),
    }

    def resume(tx: Transaction, tenant_id: UUID, ended: EndedCall, now: datetime) -> PendingWakeup | None:
        return store_tool_result(tx, tenant_id, ended, now)

    def callback_url(callback: Callback, until: datetime, now: datetime) -> str:
        return callbacks.make_callback_url(
            settings.public_url, callback, secrets.get(settings.token_secret), until, now
        )

    services = DispatchDependencies[PendingWakeup](
        database=make_database(settings, secrets),
        open_database=lambda: make_database(settings, secrets),
        endpoints=make_endpoints(settings, secrets),
        resume=resume,
        wake=lambda told: turns[told.queue_channel].send([told.message]),
        principal_for=lambda tx, call: load_access(tx, call.user_id, call.binding_id, call.session_id).principal_for(
            call.name
        ),
        wakeups=clients.make_delayed_queue(settings.wakeups_queue_url),
        callback_url=callback_url,
        clock=lambda: datetime.now(UTC),
        claim=approvals.claim,
    )

    def tool_dispatcher(body: JsonObject, seconds_left: SecondsLeft) -> None:
        tenant_id, tool_call_id = calls.parse_dispatch_message(body)
        dispatch_call(services, tenant_id, tool_call_id, seconds_left)

    return with_time_limit(services.database, settings, tool_dispatcher)
