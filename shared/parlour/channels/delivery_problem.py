"""Why a reply was not delivered, read from the outbox: a code and a sentence. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

type DeliveryProblemCode = Literal[
    "delivery_unknown",
    "window_closed",
    "provider_unavailable",
    "provider_rejected",
    "misconfigured",
    "missing_secret",
    "key_refused",
    "secret_unavailable",
    "delayed",
    "not_delivered",
]
type StuckState = Literal["pending", "sending", "unknown", "held", "failed"]

_CODES: Mapping[str, DeliveryProblemCode] = {code: code for code in get_args(DeliveryProblemCode.__value__)}
_CODE_OF_STATE: Mapping[StuckState, DeliveryProblemCode] = {
    "pending": "delayed",
    "sending": "delayed",
    "unknown": "delivery_unknown",
    "held": "window_closed",
    "failed": "not_delivered",
}


@dataclass(frozen=True, slots=True)
class DeliveryProblem:
    """Why a reply was not delivered; `message` is a sentence, in part the provider's."""

    code: DeliveryProblemCode
    message: str


def read_problem(state: StuckState, stored: str | None) -> DeliveryProblem:
    """Return the problem of a stuck reply; senders store `code: message`, providers only tell a message."""
    code, separator, message = (stored or "").partition(": ")
    if separator and code in _CODES:
        return DeliveryProblem(_CODES[code], _sentence(message))
    return DeliveryProblem(_CODE_OF_STATE[state], _sentence(stored or "the provider gave no reason"))


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[:1].upper()}{line[1:]}{'' if line.endswith(('.', '!', '?')) else '.'}"
