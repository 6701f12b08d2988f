"""Where tools that answer later send their results; the token in the path is all that they need to know."""

from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel

from parlour.api.access import AnyServices
from parlour.infra import log
from parlour.infra.postgres import Transaction
from parlour.principal import system
from parlour.tools import callbacks, calls
from parlour.tools.records import EndedCall
from parlour.turns.resume import ToWake, tool_ended

router = APIRouter(prefix=callbacks.PATH, tags=["tools"])


class ResultTaken(BaseModel):
    """How the call ended: with this result, or before it came, and then nothing was changed."""

    tool_call_id: UUID
    state: Literal["done", "failed", "unknown"]


@router.post("/{token}")
def post_result(token: str, result: dict[str, Any], services: AnyServices) -> ResultTaken:
    """End a call with the tool's JSON answer, or with {"error": "why not"}. Sending it twice is harmless."""
    now = services.clock()
    callback = callbacks.read(token, services.token_secret(), now)

    def settle(tx: Transaction) -> tuple[EndedCall, ToWake | None]:
        ended = calls.called_back(tx, callback.call_id, callback.run, callbacks.result_of(result), now)
        return ended, tool_ended(tx, callback.tenant_id, ended, services.new_id, now)

    with services.connections.rent() as database:
        ended, told = database.run(system(callback.tenant_id), settle)
    if told is not None:
        services.by_channel[told.channel].send([told.message])
    log.info("tool_called_back", tenant_id=callback.tenant_id, tool_call_id=callback.call_id, state=ended.state)
    return ResultTaken(tool_call_id=ended.id, state=ended.state)
