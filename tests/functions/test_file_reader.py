"""The function that reads files, as it was built and under AWS's own runtime client, between two addresses."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from local import deployment
from local.lambda_runtime import FunctionCode, Sandbox
from parlour.files.extract.parts import ExtractedFile
from parlour.files.file_reader import RemoteFileReader
from parlour.files.file_types import FileType
from parlour.infra.errors import ObjectsUnavailable, UnreadableFile
from parlour.infra.functions import FunctionFailed
from parlour.infra.json_values import JsonObject
from tests import sample_files
from tests.fake_bucket import FakeBucket

KEY = "tenant/t/files/f/1"

_LISTING = """
import os
import handler

def variables(event, context):
    return sorted(os.environ)
"""


@dataclass
class ServedBucket(FakeBucket):
    """A bucket whose objects are read and written by HTTP, each by an address that names it."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    is_unavailable: bool = False
    is_access_refused: bool = False
    is_read_only: bool = False

    def make_download_link(self, key: str, name: str, seconds: int, /) -> str:
        return f"{self.url}/{key}"

    def make_upload_link(self, key: str, seconds: int, /) -> str:
        return f"{self.url}/{key}"


class _Handler(BaseHTTPRequestHandler):
    bucket: ServedBucket

    def do_GET(self) -> None:
        data = self.bucket.objects.get(self.path[1:])
        self._answer(404 if data is None else 200, data or b"")

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.bucket.is_read_only:
            self.bucket.objects[self.path[1:]] = data
        self._answer(403 if self.bucket.is_read_only else 200, b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve_bucket() -> Iterator[ServedBucket]:
    bucket = ServedBucket()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"bucket": bucket}))
    bucket.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def code() -> FunctionCode:
    return deployment.function_code(deployment.build(deployment.host_architecture(), print), "file_reader")


@pytest.fixture(scope="module")
def function(code: FunctionCode) -> Iterator[Sandbox]:
    with Sandbox(code, {}) as sandbox:
        yield sandbox


@pytest.fixture
def bucket() -> Iterator[ServedBucket]:
    with serve_bucket() as served:
        yield served


def read(function: Sandbox, bucket: ServedBucket, data: bytes, kind: FileType) -> ExtractedFile:
    """Have the file read as `ingest` does."""
    bucket.objects[KEY] = data
    return RemoteFileReader(lambda event: cast(JsonObject, function.invoke(event)), bucket)(KEY, kind, 60)


def test_it_reads_between_two_addresses_and_leaves_nothing(function: Sandbox, bucket: ServedBucket) -> None:
    found = read(function, bucket, sample_files.make_contract_pdf(), "pdf")
    assert found.page_count > 1
    assert any(chunk.page == 1 and chunk.body for chunk in found.chunks)
    assert set(bucket.objects) == {KEY}


@pytest.mark.parametrize(
    ("data", "reason"), [(b"%PDF-1.7 nothing else", "broken"), (b"PK\x03\x04 an archive", "wrong_kind")]
)
def test_what_is_wrong_with_a_file_comes_back_by_name(
    function: Sandbox, bucket: ServedBucket, data: bytes, reason: str
) -> None:
    with pytest.raises(UnreadableFile) as caught:
        read(function, bucket, data, "pdf")
    assert caught.value.reason == reason


def test_a_file_that_was_deleted_meanwhile_is_gone(function: Sandbox, bucket: ServedBucket) -> None:
    reader = RemoteFileReader(lambda event: cast(JsonObject, function.invoke(event)), bucket)
    with pytest.raises(UnreadableFile) as caught:
        reader(KEY, "pdf", 60)
    assert caught.value.reason == "gone"


def test_a_store_that_does_not_take_the_text_is_not_the_files_fault(function: Sandbox, bucket: ServedBucket) -> None:
    bucket.is_read_only = True
    with pytest.raises(ObjectsUnavailable):
        read(function, bucket, b"Dig here.", "text")
    assert bucket.url not in function.log  # an address is a key


def test_it_is_given_no_secret_and_no_place_to_go(code: FunctionCode, tmp_path: Path) -> None:
    (tmp_path / "listing.py").write_text(_LISTING)
    listing = FunctionCode(code.folder, (tmp_path, *code.layers), "listing.variables")
    with Sandbox(listing, {}) as sandbox:
        names = set(sandbox.invoke({}))
    assert not [name for name in names if name.endswith(("_SECRET", "_URL", "_BUCKET", "_HOST"))]


class TestWhatComesBack:
    """The function may have been taken over by a file: whatever it says is data."""

    def ask(self, bucket: FakeBucket, answer: JsonObject | Exception, text: bytes = b"") -> ExtractedFile:
        def invoke(_event: JsonObject) -> JsonObject:
            if isinstance(answer, Exception):
                raise answer
            bucket.objects[f"extracted/{KEY}"] = text
            return answer

        return RemoteFileReader(invoke, bucket)(KEY, "pdf", 60)

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"no JSON",
            b"[]",
            b'{"chunks": [{"body": 1}], "page_count": 1, "token_count": 1}',
            json.dumps({"chunks": [], "page_count": "many", "token_count": 0}).encode(),
        ],
    )
    def test_a_text_of_another_shape_is_a_broken_file(self, text: bytes) -> None:
        bucket = FakeBucket()
        with pytest.raises(UnreadableFile) as caught:
            self.ask(bucket, {"problem": None}, text)
        assert (caught.value.reason, bucket.objects) == ("broken", {})

    @pytest.mark.parametrize("problem", ["no such reason", 7, ["x"], {"a": 1}])
    def test_a_reason_that_nobody_knows_is_a_broken_file(self, problem: Any) -> None:
        with pytest.raises(UnreadableFile) as caught:
            self.ask(FakeBucket(), {"problem": problem})
        assert caught.value.reason == "broken"

    def test_a_function_that_broke_is_a_broken_file(self) -> None:
        with pytest.raises(UnreadableFile) as caught:
            self.ask(FakeBucket(), FunctionFailed("file-reader"))
        assert caught.value.reason == "broken"
