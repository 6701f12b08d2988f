"""Links in replies: only hosts that the tenant allowed stay links. Pure.

An injected instruction can make a model put confidential text into the URL of a link or an image. A client that renders
the reply, or a user who clicks, sends the text to that host. So every other link becomes text without a scheme.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_LINK = re.compile(
    r"""
    !?\[(?P<label>[^\[\]\n]*)\]\(\s*<?(?P<target>(?:[a-z][a-z0-9+.-]*:|//)[^\s<>)]*)>?[^)\n]*\)  # of Markdown
    | (?P<address>[a-z][a-z0-9+.-]*://[^\s<>"'\])|]*)                                             # an address as it is
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://)?", re.IGNORECASE)
_OPEN_LINK = re.compile(r"!?\[[^\[\]\n]*(?:\](?:\([^)\n]*)?)?$|!$")
_MAX_HELD_CHARS = 2_000
"""Of a stream, what is held back at most while it may become a link."""


@dataclass(frozen=True, slots=True)
class FilteredReply:
    """A reply with its foreign links as text, and how many there were."""

    text: str
    removed_count: int


def filter_links(text: str, allowed_hosts: Collection[str]) -> FilteredReply:
    """Return the text with every link to another host as text without a scheme."""
    removed = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal removed
        address = match["target"] or match["address"]
        if _is_allowed(address, allowed_hosts):
            return match[0]
        removed += 1
        shown = _SCHEME.sub("", address, count=1)
        return f"{match['label']} ({shown})" if match["target"] else shown

    return FilteredReply(_LINK.sub(replace, text), removed)


@dataclass(slots=True)
class LinkFilter:
    """The same for a text that comes in pieces: nothing that may become a link is passed on before it is whole."""

    allowed_hosts: Collection[str] = ()
    _held: str = field(default="", init=False)

    def add(self, piece: str) -> str:
        """Return what can be shown by now."""
        self._held += piece
        end = len(self._held) - len(self._held.rsplit(maxsplit=1)[-1]) if self._held.split() else len(self._held)
        if self._held[-1:].isspace():
            end = len(self._held)
        if found := _OPEN_LINK.search(self._held[:end]):
            end = found.start()
        if len(self._held) - end > _MAX_HELD_CHARS:
            end = len(self._held)
        shown, self._held = self._held[:end], self._held[end:]
        return filter_links(shown, self.allowed_hosts).text

    def finish(self) -> str:
        """Return the rest."""
        rest, self._held = self._held, ""
        return filter_links(rest, self.allowed_hosts).text

    def reset(self) -> None:
        """Forget what is held back: the text begins anew."""
        self._held = ""


def _is_allowed(address: str, allowed_hosts: Collection[str]) -> bool:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme.lower() not in {"https", "http"} or parts.username is not None:
        return False
    host = (parts.hostname or "").rstrip(".")
    return host in allowed_hosts if port is None else f"{host}:{port}" in allowed_hosts
