"""What the API runs on; `parlour.bootstrap` builds it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from parlour.api.connections import Connections
from parlour.infra.ids import NewId
from parlour.infra.queues import Queue
from parlour.knowledge.embed import Embedder
from parlour.tenancy.sign_in import SignIn


@dataclass(frozen=True, slots=True)
class Services:
    """The ports of the API.

    turns        the queue that wakes turns of web sessions.
    embedder     turns a pack's documents into vectors.
    measure      text -> tokens, to refuse a pack whose persona does not fit its budget; None does not look.
    environment  what this deployment is called; the console shows it.
    local        whether a phone and a member's token are served beside the API (`/local/`); only on a laptop.
    showcase     tenants, by slug, whose public agents the console offers at any address; elsewhere the host decides.
    """

    connections: Connections
    sign_in: SignIn
    turns: Queue
    embedder: Embedder
    clock: Callable[[], datetime]
    new_id: NewId
    measure: Callable[[str], int] | None = None
    environment: str = ""
    local: bool = False
    showcase: tuple[str, ...] = ()
