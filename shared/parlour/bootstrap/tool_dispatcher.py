"""Tool calls off the turn's path."""

import functools
from datetime import UTC, datetime
from uuid import UUID

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.bootstrap.tools import endpoints
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.infra.settings import ToolDispatcherSettings, load
from parlour.tools import callbacks, calls
from parlour.tools.callbacks import Callback
from parlour.tools.dispatch import Services, dispatch
from parlour.tools.records import EndedCall
from parlour.turns.resume import ToWake, tool_ended


@functools.cache
def build_tool_dispatcher() -> Work[JsonObject]:
    """One call brought to its end, and its conversation resumed."""
    settings = load(ToolDispatcherSettings)
    secrets = clients.secrets()
    turns = {
        "whatsapp": clients.queue(settings.turns_messaging_queue_url),
        "web": clients.queue(settings.turns_web_queue_url),
    }

    def resume(tx: Transaction, tenant_id: UUID, ended: EndedCall, now: datetime) -> ToWake | None:
        return tool_ended(tx, tenant_id, ended, uuid7, now)

    def callback_url(callback: Callback, until: datetime, now: datetime) -> str:
        return callbacks.url(settings.public_url, callback, secrets.get(settings.token_secret), until, now)

    services = Services[ToWake](
        database=database(settings, secrets),
        open_database=lambda: database(settings, secrets),
        endpoints=endpoints(settings, secrets),
        resume=resume,
        wake=lambda told: turns[told.channel].send([told.message]),
        wakeups=clients.delays(settings.wakeups_queue_url),
        callback_url=callback_url,
        clock=lambda: datetime.now(UTC),
        new_id=uuid7,
    )

    def tool_dispatcher(body: JsonObject, seconds_left: SecondsLeft) -> None:
        tenant_id, tool_call_id = calls.read_message(body)
        dispatch(services, tenant_id, tool_call_id, seconds_left)

    return limited(services.database, settings, tool_dispatcher)
