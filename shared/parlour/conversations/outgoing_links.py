"""Links in replies: only hosts that the tenant allowed stay links. Pure.

An injected instruction can make a model put confidential text into the address of a link or an image: into its path,
its query or its subdomains. A client that renders the reply, or a user who clicks, sends the text to that host. Clients
decode what they render (escapes, entities, percent signs), drop marks such as `**`, and make links of bare hosts. So
the text is filtered as each of them may read it, and of another host only the registered domain is left, written so
that no client links it: `evil[.]example`.
"""

import functools
import html
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from parlour.text.hosts import (
    AMBIGUOUS_DOMAINS,
    CODE_ENDINGS,
    CODE_NAMES,
    FILE_SUFFIXES,
    PRODUCT_NAMES,
    find_host,
    registered_domain,
)

_MAX_DECODINGS = 3
_MAX_ROUNDS = 4
_MAX_HELD_CHARS = 2_000
"""Of a stream, what is held back at most while it may become a link."""

_CJK_MARKS = "\uff0c\u3001\uff01\uff1b\u300c\u300d\u300a\u300b"
"""Comma, stops and quotes of Chinese and Japanese: no client takes them into an address."""

_ADDRESS_END = rf"\s<>\"'`|\]){_CJK_MARKS}"
_ADDRESS = re.compile(
    rf"""
      (?P<scheme>[a-z][a-z0-9]{{1,30}}):(?P<rest>[/\\]{{2}}(?:\[[\w:.]*\])?[^{_ADDRESS_END}]*)
    | (?<![a-z0-9])(?P<bare_scheme>https?|mailto|tel|callto|sms|smsto|geo|javascript|vbscript|whatsapp|intent|market
        |skype|facetime|sips?|magnet|data(?=:(?:,|[a-z]+/))):(?P<bare_rest>[^{_ADDRESS_END}]+)
    | (?<![\w-])(?P<dotted>[\w-]++(?:\.[\w-]++)++)(?P<tail>\.?(?::\d{{1,5}})?(?:[/?\#\\][^{_ADDRESS_END}]*)?)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SAFE_PATH = re.compile(
    r"(?:[a-z0-9.:/?#@!$&+,;=%-]|\([\w-]{0,100}\)|(?<=[a-z0-9])_(?=[a-z0-9(])|(?<=/)~(?=\w))*", re.IGNORECASE
)
"""What of an allowed address every client takes for a part of it."""

_LINK = re.compile(
    r"""
      !?\[(?P<label>[^\[\]\n]{0,1000})\]\(\s*+<?+\s*+(?P<target>[^\s<>()]+)>?+
        (?:\s++(?:"[^"\n]{0,300}"|'[^'\n]{0,300}'|\([^()\n]{0,300}\)))?\s*+\)
    | \](?P<opening>\(\s*+<?+\s*+)(?P<start>[^\s<>()]+)>?+
    | \](?P<definition>:[\s>]*+<?+\s*+)(?P<reference>[^\s<>()]+)>?+
    | <(?P<autolink>[a-z][a-z0-9+.-]{1,30}:[^\s<>]*)>
    | <(?P<tag>[a-z][^<>]*)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TARGET = re.compile(r"(?:(?P<scheme>[a-z][a-z0-9+.-]{0,40}):)?(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(
    r"""\b(?P<name>[a-z-]+)\s*+=\s*+(?:"\s*+(?P<double>[^"<>]*)|'\s*+(?P<single>[^'<>]*)|(?P<bare>[^\s"'<>]*))""",
    re.IGNORECASE,
)
_DROPPED_IN_ADDRESSES = re.compile(r"[\t\n\r]+")
"""Browsers read an address of HTML without them."""
_LOADING_TAG = re.compile(r"(?:script|style)\b", re.IGNORECASE)
_AUTHORITY = re.compile(r"[/\\]*([^/?#\\]*)")
_MAIL_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w.-]{1,255}")
_PHONE_NUMBER = re.compile(r"\+?[\d().-]{2,30}")
_PORT = re.compile(r"[0-9]{1,5}")
_NO_HOST_FOLLOWS = re.compile(rf"\(|\.(?:{'|'.join(sorted(FILE_SUFFIXES))})(?![\w/?#\\:-]|\.\w)", re.IGNORECASE)
"""What stands behind the name of a function, or of a file: `frame.info()`, `report.final.pdf`."""

_IP_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")

_BACKSLASH_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_ENCODED = re.compile(r"&(?:#\d{1,8}|#x[0-9a-f]{1,8}|[a-z][a-z0-9]{1,31});?|(?:%[0-9a-f]{2})+", re.IGNORECASE)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_ADDRESS_CHARS = re.compile(r"[\w.:/?#@%&=\\-]*", re.ASCII)
_MARKS = re.compile(
    r"""
      (?P<defanged>\[[.:]\](?![\[(]))
    | </?[a-z][^<>]{0,200}>
    | \]\([^\s()<>]{0,500}(?:[ ]"[^"\n]{0,200}")?\)
    | \]\[[^\[\]\n]{0,100}\]
    | !?\[ | \] | [*~`] | (?<![^\W_])_ | _(?![^\W_])
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LINK_CHARS = re.compile(r"\](?=[(:])|<(?=[a-z])|\.(?=\w)|:(?=\S)", re.IGNORECASE)
_DISARMED = {"]": "] ", "<": "< ", ".": "[.]", ":": ": "}

_CONTROLS = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85]")
"""Characters that some clients drop from an address, and that end it in others."""

_PIECE_END = re.compile(rf"[{_CJK_MARKS}]|(?![\r\x0b\x0c\x1c-\x1f\x85])\s")
_OPEN_TARGET = re.compile(r"\](?=[(:][\s>]*+<?+\s*+$)")


@dataclass(frozen=True, slots=True)
class FilteredReply:
    """A reply without foreign links, and how many there were."""

    text: str
    removed_count: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text as a client may read it. starts, ends: where each of its characters stands in the text as it is."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def decode(self, pattern: re.Pattern[str], decode: Callable[[re.Match[str]], str]) -> "_Reading":
        """Return the text with each match replaced."""
        pieces, starts, ends, done = [], list[int](), list[int](), 0
        for match in pattern.finditer(self.text):
            start, end = match.span()
            decoded = decode(match)
            if decoded == match[0]:
                continue
            pieces += [self.text[done:start], decoded]
            starts += [*self.starts[done:start], *[self.starts[start]] * len(decoded)]
            ends += [*self.ends[done:start], *[self.ends[end - 1]] * len(decoded)]
            done = end
        if not done:
            return self
        return _Reading(
            "".join([*pieces, self.text[done:]]), [*starts, *self.starts[done:]], [*ends, *self.ends[done:]]
        )


@dataclass(frozen=True, slots=True)
class _Removal:
    """A part of a reading, and what is shown in its place."""

    start: int
    end: int
    shown: str


def filter_links(text: str, allowed_hosts: Collection[str]) -> FilteredReply:
    """Return the text in which only links to these hosts are links in any client.

    A `host` is allowed with every port, a `host:port` with that port only.
    """
    removed_count = 0
    for _ in range(_MAX_ROUNDS):
        filtered, count = _filter_once(text, allowed_hosts)
        removed_count += count
        if not count:
            return FilteredReply(text, removed_count)
        text = filtered
    # What is left came together only when the links within it were removed, again and again: nobody writes that.
    return FilteredReply(_LINK_CHARS.sub(lambda match: _DISARMED[match[0]], text), removed_count)


@dataclass(slots=True)
class LinkFilter:
    """The same for a text that comes in pieces: nothing that may become a link is passed on before it is complete."""

    allowed_hosts: Collection[str] = ()
    _held: list[str] = field(default_factory=list, init=False)

    def add(self, piece: str) -> str:
        """Return what can be shown by now."""
        ends = [match.end() for match in _PIECE_END.finditer(piece)]
        self._held.append(piece)
        if not ends:
            return ""
        text = "".join(self._held)
        complete = len(text) - len(piece) + ends[-1]
        complete = _find_open_link(text[:complete], max(0, complete - _MAX_HELD_CHARS))
        self._held = [text[complete:]]
        shown = _OPEN_TARGET.sub("] ", text[:complete])  # a target that is too far away to wait for it
        return filter_links(shown, self.allowed_hosts).text

    def finish(self) -> str:
        """Return the rest."""
        rest = "".join(self._held)
        self._held.clear()
        return filter_links(rest, self.allowed_hosts).text

    def reset(self) -> None:
        """Forget what is held back: the text begins anew."""
        self._held.clear()


def _find_open_link(text: str, begin: int) -> int:
    """Return where a link or a tag begins, from `begin` on, that is open at the end of the text; its end if none is."""
    label, target, tag = (text.rfind(mark, begin) for mark in ("[", "](", "<"))
    starts = [len(text)]
    if label >= 0 and not re.search(r"[\]\n]", text[label:]):
        starts.append(label)
    if target >= 0 and not re.search(r"[)\n]", text[target:]):
        starts.append(max(text.rfind("[", begin, target), begin))
    if (awaited := _OPEN_TARGET.search(text, begin)) is not None:
        starts.append(max(text.rfind("[", begin, awaited.start()), begin))
    if tag >= 0 and text[tag + 1 : tag + 2].isalpha() and ">" not in text[tag:]:
        starts.append(tag)
    start = min(starts)
    return start - 1 if text[begin:start].endswith("!") else start


def _filter_once(text: str, allowed_hosts: Collection[str]) -> tuple[str, int]:
    """Return the text after one look at each reading, and how many links were removed."""
    removed_count = 0
    checked: tuple[str, str] | None = None
    for read in (_read_decoded, _read_raw, _read_rendered):
        reading = read(text)
        if checked == (text, reading.text):
            continue
        for find in (_find_links, _find_addresses):
            removals = [*find(reading.text, allowed_hosts)]
            if removals:
                text = _remove(text, reading, removals)
                reading = read(text)
                removed_count += len(removals)
        checked = (text, reading.text)
    return text, removed_count


def _remove(text: str, reading: _Reading, removals: Iterable[_Removal]) -> str:
    pieces, done = [], 0
    for removal in removals:
        pieces += [text[done : reading.starts[removal.start]], removal.shown]
        done = reading.ends[removal.end - 1]
    return "".join([*pieces, text[done:]])


def _read_raw(text: str) -> _Reading:
    return _Reading(text, range(len(text)), range(1, len(text) + 1))


def _read_decoded(text: str) -> _Reading:
    """Return the text without escapes, entities, percent signs and characters that hosts do without."""
    reading = _read_raw(text).decode(_CONTROLS, lambda _: "").decode(_BACKSLASH_ESCAPE, lambda match: match[1])
    for _ in range(_MAX_DECODINGS):
        decoded = reading.decode(_ENCODED, _decode)
        if decoded is reading:
            break
        reading = decoded
    return reading.decode(_NOT_ASCII, lambda match: _plain(match[0]))


def _read_rendered(text: str) -> _Reading:
    """Return the decoded text without the marks of Markdown that join what stands beside them."""
    return _read_decoded(text).decode(_MARKS, lambda match: match["defanged"] or "")


def _decode(match: re.Match[str]) -> str:
    encoded = match[0]
    if encoded[0] == "%":
        return unquote(encoded)
    char = html.unescape(encoded)
    return "" if len(char) == 1 and char < " " else char  # browsers drop line ends and tabs from addresses


@functools.cache
def _plain(char: str) -> str:
    """Return what a character is in the name of a host: `.` for the full stop of Chinese, nothing for a soft hyphen."""
    if char in "\u3002\uff0e\uff61":
        return "."
    if unicodedata.category(char) == "Cf" or "\ufe00" <= char <= "\ufe0f" or char == "\u034f":
        return ""
    plain = unicodedata.normalize("NFKC", char)
    return plain if _ADDRESS_CHARS.fullmatch(plain) else char


def _find_links(text: str, allowed_hosts: Collection[str]) -> Iterator[_Removal]:
    """Yield the links, pictures and tags of Markdown that lead to another host."""
    position = 0
    while match := _LINK.search(text, position):
        position = match.start() + 1
        removals = [*_check_tag(match, allowed_hosts)] if match["tag"] else [*_check_link(match, allowed_hosts)]
        if removals:
            position = removals[-1].end
            yield from removals


def _check_link(match: re.Match[str], allowed_hosts: Collection[str]) -> Iterator[_Removal]:
    target = match["target"] or match["start"] or match["reference"] or match["autolink"]
    shown = _foreign_target(target, allowed_hosts)
    if shown is None:
        return
    opening = match["opening"] or match["definition"]
    if opening:
        text = f"] {opening.replace('<', '')}{shown}"
    else:
        label = filter_links(match["label"] or "", allowed_hosts).text.strip()
        text = f"{label} ({shown})" if label not in {"", shown} else f"({shown})"
    yield _Removal(match.start(), match.end(), text)


def _check_tag(match: re.Match[str], allowed_hosts: Collection[str]) -> Iterator[_Removal]:
    """Yield what makes a tag of HTML text, if it leads elsewhere or runs code."""
    removals = []
    for attribute in _ATTRIBUTE.finditer(match.string, *match.span("tag")):
        group = attribute.lastgroup or "bare"
        name, value = attribute["name"].lower(), _DROPPED_IN_ADDRESSES.sub("", attribute[group])
        if name.startswith("on"):
            removals.append(_Removal(*attribute.span("name"), "on"))
        elif name == "style":
            if "//" in value or "url(" in value.lower():
                removals.append(_Removal(*attribute.span(group), ""))
        elif shown := _foreign_target(value, allowed_hosts):
            removals.append(_Removal(*attribute.span(group), shown))
    if removals or _LOADING_TAG.match(match["tag"]):
        yield _Removal(match.start(), match.start() + 1, "< ")
        yield from removals


def _foreign_target(target: str, allowed_hosts: Collection[str]) -> str | None:
    """Return what is shown of a link's target; None if it stays, as an allowed or a relative one."""
    parts = _TARGET.fullmatch(target)
    scheme, rest = (parts["scheme"] or "", parts["rest"]) if parts else ("", target)
    if scheme and not _is_host_with_port(target):
        return None if _is_allowed(scheme, rest, allowed_hosts) else _show(scheme, rest)
    if re.match(r"[/\\]{2}", rest):
        return None if _is_allowed("https", rest, allowed_hosts) else _show("https", rest)
    found = next(_find_addresses(target, allowed_hosts), None)
    return found.shown if found else None


def _is_host_with_port(target: str) -> bool:
    return bool(re.match(r"[\w.-]+:\d{1,5}(?:[/?#\\]|$)", target)) and "." in target.partition(":")[0]


def _find_addresses(text: str, allowed_hosts: Collection[str]) -> Iterator[_Removal]:
    """Yield what clients make links of where it stands: addresses with a scheme, and bare hosts."""
    position = 0
    while match := _ADDRESS.search(text, position):
        scheme = match["scheme"] or match["bare_scheme"]
        removal: _Removal | None = None
        if scheme is None:
            removal, position = _check_dotted(match, allowed_hosts)
        else:
            rest = match["rest"] or match["bare_rest"]
            position = match.end()
            if _is_allowed(scheme, rest, allowed_hosts):
                authority = _AUTHORITY.match(rest)
                after_host = match.end() - len(rest) + (authority.end() if authority else 0)
                position = _end_of_path(text, after_host)
            else:
                end = match.end() - len(rest) + len(rest.rstrip(".,;:!?*_~"))
                removal = _Removal(match.start(), end, _show(scheme, rest))
        if removal is not None:
            yield removal


def _check_dotted(match: re.Match[str], allowed_hosts: Collection[str]) -> tuple[_Removal | None, int]:
    """Return what is removed of a name with dots, and where to look on."""
    dotted, tail = match["dotted"], match["tail"]
    start, end = match.span("dotted")
    host = dotted if _IP_ADDRESS.fullmatch(dotted) else find_host(dotted)
    if len(host) < len(dotted):
        tail = ""
    has_path = bool(re.search(r"[/?#\\]", tail))
    if not host or not _is_linked(match.string, start, host, has_path):
        return None, end
    if _is_allowed("https", host + tail, allowed_hosts):
        return None, _end_of_path(match.string, start + len(host)) if tail else start + len(host)
    end = start + len(host) + len(tail.rstrip(".,;:!?*_~"))
    return _Removal(start, end, _show("https", host)), end


def _is_linked(text: str, start: int, host: str, has_path: bool) -> bool:
    """Return whether a host in a text is more than a word, a file or a mail address, which stay readable."""
    if has_path:
        return True
    if start > 1 and text[start - 1] == "@" and re.match(r"[\w.+-]", text[start - 2]):
        return False
    if _IP_ADDRESS.fullmatch(host):
        return False
    labels = host.lower().split(".")
    if len(labels) == 3 and labels[0] in CODE_NAMES:  # `self.data.info`: no secret has room before a name of two labels
        return labels[-1] not in CODE_ENDINGS
    ending = host.rpartition(".")[2]
    is_word = (
        labels[-1] in AMBIGUOUS_DOMAINS
        or host.lower() in PRODUCT_NAMES
        or (len(ending) == 2 and ending.istitle())
        or bool(_NO_HOST_FOLLOWS.match(text, start + len(host)))
    )
    return not (len(labels) == 2 and is_word)


def _end_of_path(text: str, start: int) -> int:
    path = _SAFE_PATH.match(text, start)
    return path.end() if path else start


def _is_allowed(scheme: str, rest: str, allowed_hosts: Collection[str]) -> bool:
    if scheme.lower() not in {"https", "http"}:
        return False
    authority = _AUTHORITY.match(rest)
    host, colon, port = (authority[1] if authority else "").lower().partition(":")
    host, port = host.rstrip(".*_~,;!"), port.rstrip(".*_~,;!")
    names = (host, _to_ascii(host))
    if any(f"{name}{colon}{port}" in allowed_hosts for name in names):
        return True
    # A host that is allowed without a port is allowed with any. What is no number may be followed by another host.
    return bool(_PORT.fullmatch(port)) and any(name in allowed_hosts for name in names)


def _to_ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return ""


def _show(scheme: str, rest: str) -> str:
    """Return what is left of a foreign address: its registered domain, its mail address or its number."""
    scheme = scheme.lower()
    if scheme == "mailto":
        address = _MAIL_ADDRESS.match(rest)
        return address[0] if address else "mailto[:]"
    if scheme in {"tel", "callto", "sms", "smsto"}:
        number = _PHONE_NUMBER.match(rest)
        return f"{scheme} {number[0]}" if number else f"{scheme}[:]"
    authority = _AUTHORITY.match(rest)
    host = (authority[1] if authority else "").rpartition("@")[2]
    if host.startswith("["):
        return "IPv6"
    host = _read_decoded(host).text.partition(":")[0].strip("._*~,;!-")
    shown = host if _IP_ADDRESS.fullmatch(host) else registered_domain(host)
    has_host = "." in shown or (shown and scheme in {"https", "http"})
    return shown.replace(".", "[.]") if has_host else f"{scheme}[:]"
