"""The recorded conversations, by name: the module's and the function's.

Their words are chosen so that memory's rules find nothing in them but where a conversation is about these rules: what
is to be remembered is given by the scripted model. A change here changes the recording; it is no way to get it equal.
"""

from collections.abc import Callable
from types import ModuleType

from bench.oracle.conversations import attachments, changes, contracts, long, memory, records, site, tools
from bench.oracle.player import Play


def _of(module: ModuleType) -> dict[str, Callable[[Play], None]]:
    short = module.__name__.rpartition(".")[2]
    return {
        f"{short}.{name}": found
        for name, found in vars(module).items()
        if callable(found) and getattr(found, "__module__", "") == module.__name__ and not name.startswith("_")
    }


_MODULES = (site, contracts, records, tools, attachments, long, memory, changes)

ALL: dict[str, Callable[[Play], None]] = {name: found for module in _MODULES for name, found in _of(module).items()}
