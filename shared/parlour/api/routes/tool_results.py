"""Where tools that answer later send their results; the token in the path is all that they need to know."""

from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter

from parlour.api.authorization import AppDependencies
from parlour.api.schemas import ResponseModel
from parlour.conversations.tool_result_messages import PendingWakeup, store_tool_result
from parlour.infra import log
from parlour.infra.postgres import Transaction
from parlour.principal import system_principal
from parlour.tools import callbacks, calls
from parlour.tools.rows import EndedCall

router = APIRouter(prefix=callbacks.CALLBACK_PATH, tags=["tools"])


class ToolResultAccepted(ResponseModel):
    """How the call ended: with this result, or before it came, and then nothing was changed."""

    tool_call_id: UUID
    state: Literal["done", "failed", "unknown"]


@router.post("/{token}")
def post_tool_result(token: str, result: dict[str, Any], services: AppDependencies) -> ToolResultAccepted:
    """End a call with the tool's JSON answer, or with {"error": "why not"}. Sending it twice is harmless."""
    now = services.clock()
    callback = callbacks.verify_callback_token(token, services.token_secret(), now)

    def settle(tx: Transaction) -> tuple[EndedCall, PendingWakeup | None]:
        ended = calls.record_callback(tx, callback.call_id, callback.run_token, callbacks.parse_result(result), now)
        return ended, store_tool_result(tx, callback.tenant_id, ended, now)

    with services.databases.borrow() as database:
        ended, told = database.run(system_principal(callback.tenant_id), settle)
    if told is not None:
        services.turn_queues[told.queue_channel].send([told.message])
    log.info("tool_callback_received", tenant_id=callback.tenant_id, tool_call_id=callback.call_id, state=ended.state)
    return ToolResultAccepted(tool_call_id=ended.id, state=ended.state)
