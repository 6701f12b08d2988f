"""Names of hosts in text: how far one reaches that clients make a link, and the domain somebody registered. Pure."""

import functools
import re
from pathlib import Path

from parlour.text.words import word_list

#: IANA's list of top-level domains.
_TOP_LEVEL_DOMAINS_FILE = Path(__file__).with_name("top_level_domains.txt")

#: Top-level domains that examples use: they show what happens to a real one.
_EXAMPLE_DOMAINS = frozenset({"example", "test", "invalid", "localhost"})

#: Top-level domains that are also endings of files or names in code. A name of two labels with one of them is no host:
#: nobody can put a secret into it.
AMBIGUOUS_DOMAINS = frozenset(
    [
        "cc",
        "click",
        "country",
        "date",
        "email",
        "group",
        "host",
        "id",
        "link",
        "map",
        "md",
        "ml",
        "mm",
        "mov",
        "name",
        "open",
        "page",
        "pl",
        "pm",
        "ps",
        "pub",
        "py",
        "rs",
        "run",
        "sh",
        "so",
        "st",
        "target",
        "zip",
    ]
)

#: Endings of files that are no top-level domains. `report.final` before one of them is the rest of a file's name.
FILE_SUFFIXES = word_list(
    "bmp csv doc docx dwg dxf eml gif gz heic html ics jpeg jpg js json log mp3 mp4 msg odt ods pdf png ppt pptx rtf"
    " svg tar tif tiff toml ts tsv txt webp xls xlsx xml yaml yml"
)

#: What a name in code begins with, and words that it ends with and that are top-level domains too.
CODE_NAMES = frozenset({"self", "this", "cls"})
CODE_ENDINGS = AMBIGUOUS_DOMAINS | {"info"}

#: Products whose name is a host of their makers.
PRODUCT_NAMES = frozenset({"ado.net", "asp.net", "ml.net", "socket.io", "vb.net"})

#: Second labels below which the public registers domains, in countries: co.uk, com.au.
_PUBLIC_SECOND_LABELS = frozenset(
    [
        "ac",
        "co",
        "com",
        "edu",
        "go",
        "gob",
        "gov",
        "gv",
        "ltd",
        "me",
        "mil",
        "ne",
        "net",
        "nom",
        "or",
        "org",
        "plc",
        "sch",
    ]
)

_ASCII_START = re.compile(r"[a-z]{2,63}(?![a-z0-9-])", re.IGNORECASE)
_NO_HOST_CHARS = re.compile(r"[^\w-]")
_MAX_LABEL_CHARS = 63


@functools.cache
def top_level_domains() -> frozenset[str]:
    """Return the known top-level domains in lower case, international ones in both spellings."""
    lines = _TOP_LEVEL_DOMAINS_FILE.read_text("ascii").splitlines()
    names = {line for line in lines if not line.startswith("#")}
    return frozenset(names | {name[4:].encode().decode("punycode") for name in names if name.startswith("xn--")}) | (
        _EXAMPLE_DOMAINS
    )


def find_host(dotted: str) -> str:
    """Return the longest part of a dotted name, from its start, that clients may take for a host; empty if none.

    dotted  labels with single dots between them, such as `www.evil.example` or `report.pdf`.
    """
    labels = dotted.split(".")
    if labels[0].strip("_").lower() == "www":
        return dotted
    for index in range(len(labels) - 1, 0, -1):
        label = labels[index].rstrip("_-")
        if label.lower() in top_level_domains():
            return ".".join([*labels[:index], label])
        found = _ASCII_START.match(label)  # `com` in `evil.comと`
        if found and found[0].lower() in top_level_domains():
            return ".".join([*labels[:index], found[0]])
    return ""


def registered_domain(host: str) -> str:
    """Return the part of a host that somebody registered: the last two labels, or three below such as `co.uk`."""
    labels = [_NO_HOST_CHARS.sub("", label)[:_MAX_LABEL_CHARS] for label in host.strip(".").split(".")]
    is_below_public = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2].lower() in _PUBLIC_SECOND_LABELS
    return ".".join(labels[-3:] if is_below_public else labels[-2:])
