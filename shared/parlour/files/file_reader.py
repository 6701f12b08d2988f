"""Having a file read by the function that does nothing else."""

from collections.abc import Callable
from typing import Protocol

from pydantic import TypeAdapter, ValidationError

from parlour.files.extract.parts import ExtractedFile
from parlour.files.file import extracted_object_key
from parlour.files.file_types import FileType
from parlour.files.problems import unreadable_file
from parlour.infra.errors import ObjectsUnavailable
from parlour.infra.functions import FunctionFailed
from parlour.infra.json_values import JsonObject
from parlour.infra.objects import UploadStore

_MAX_EXTRACTED_BYTES = 64 * 1024 * 1024
"""Of a file's text as JSON; the longest text that is taken is a fraction of it."""

_URL_SECONDS = 600
"""How long the two addresses are good for: longer than a file may take."""

_EXTRACTED_FILE = TypeAdapter(ExtractedFile)


class FileReader(Protocol):
    """Reads files that somebody uploaded."""

    def __call__(self, object_key: str, kind: FileType, seconds: int, /) -> ExtractedFile:
        """Return the text of the file that is kept under this key, read within so many seconds.

        Raises UnreadableFile for what is wrong with the file, a RetryError for what is wrong with what reading takes.
        """
        ...


class RemoteFileReader:
    """Has the function `file_reader` read a file; what comes back is data, whatever happened there.

    invoke  calls the function (`parlour.infra.functions.LambdaFunction`).
    """

    def __init__(self, invoke: Callable[[JsonObject], JsonObject], uploads: UploadStore) -> None:
        self._invoke = invoke
        self._uploads = uploads

    def __call__(self, object_key: str, kind: FileType, seconds: int, /) -> ExtractedFile:
        """Have the file read, take its text and delete what it was handed over in."""
        result_key = extracted_object_key(object_key)
        event: JsonObject = {
            "kind": kind,
            "source_url": self._uploads.make_download_link(object_key, "file", _URL_SECONDS),
            "result_url": self._uploads.make_upload_link(result_key, _URL_SECONDS),
            "seconds": seconds,
        }
        try:
            problem = self._invoke(event).get("problem")
            if problem == "unavailable":
                raise ObjectsUnavailable
            if problem is not None:
                raise unreadable_file(str(problem))
            data = self._uploads.get(result_key, _MAX_EXTRACTED_BYTES)
            return _parse(data or b"")
        except FunctionFailed as error:
            raise unreadable_file("broken") from error
        finally:
            self._uploads.delete([result_key])


def _parse(data: bytes) -> ExtractedFile:
    if len(data) > _MAX_EXTRACTED_BYTES:
        raise unreadable_file("too_long")
    try:
        return _EXTRACTED_FILE.validate_json(data)
    except ValidationError as error:
        raise unreadable_file("broken") from error
