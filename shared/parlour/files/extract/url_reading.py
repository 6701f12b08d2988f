"""Reading one file by two addresses: its bytes come from one, its text goes to the other.

This is all that the function `file_reader` does. It parses what strangers upload, so it has nothing to steal: no
database, no secret, no right to any bucket, and each address is signed for one object and a few minutes.
"""

import httpx2
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from parlour.files.extract.parts import ExtractedFile
from parlour.files.extract.sandbox import ProcessLimits, extract_in_sandbox
from parlour.files.file_types import FileType
from parlour.files.problems import MAX_FILE_BYTES, unreadable_file
from parlour.infra import log
from parlour.infra.errors import UnreadableFile
from parlour.infra.json_values import JsonObject

_HTTP_SECONDS = 30.0
_EXTRACTED_FILE = TypeAdapter(ExtractedFile)


class ReadRequest(BaseModel):
    """What the function is called with.

    source_url, result_url  signed for GET and for PUT.
    seconds                 that reading may take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FileType
    source_url: str
    result_url: str
    seconds: int = Field(gt=0)


def read_by_url(request: ReadRequest) -> JsonObject:
    """Read the file and store its text as JSON; `{"problem": reason}`, and null when there is none.

    "unavailable" when the store did not hand the bytes out or did not take the text.
    """
    try:
        data = _download(request.source_url)
        found = extract_in_sandbox(data, request.kind, ProcessLimits(seconds=request.seconds))
        httpx2.put(
            request.result_url, content=_EXTRACTED_FILE.dump_json(found), timeout=_HTTP_SECONDS
        ).raise_for_status()
    except UnreadableFile as problem:
        return {"problem": problem.reason}
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:  # its text has the signed address
        log.warning("file_url_failed", error=type(error).__name__)
        return {"problem": "unavailable"}
    return {"problem": None}


def _download(url: str) -> bytes:
    """Return the bytes, at most one more than a file may have."""
    data = bytearray()
    with httpx2.stream("GET", url, timeout=_HTTP_SECONDS) as response:
        if response.status_code == 404:  # deleted since it was to be read
            raise unreadable_file("gone")
        response.raise_for_status()
        for block in response.iter_bytes():
            data += block
            if len(data) > MAX_FILE_BYTES:
                break
    return bytes(data)
