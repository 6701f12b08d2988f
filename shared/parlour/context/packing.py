"""A record as the bytes that are kept: its JSON, compressed. Pure.

A turn's record tells of most of its candidates three times (as they were given, as they came out, as they stand in the
prompt), each with hashes, which only a compressor that looks far back makes small: the database's own keeps twice as
much, and JSON in which nothing stood twice took longer to make.
"""

import json
import zlib

from parlour.infra.jsonable import JsonObject

_LEVEL = 3
"""Higher ones save a tenth of the bytes and take twice the time."""


def pressed(text: bytes) -> bytes:
    """JSON that was written out already, in few bytes."""
    return zlib.compress(text, _LEVEL)


def unpacked(given: bytes) -> JsonObject:
    """What was packed."""
    found: JsonObject = json.loads(zlib.decompress(given))
    return found
