"""A bucket that people upload to, in memory: what the port for files promises, and nothing else."""

from collections.abc import Sequence

from parlour.infra.errors import AccessRefused, ObjectsUnavailable
from parlour.infra.objects import UploadForm


class FakeBucket:
    """Keeps bytes by key; `away` makes it unreachable, `refuses` makes it know nobody any more."""

    origin = "https://files.example.org"

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.is_unavailable = False
        self.is_access_refused = False

    def make_upload_form(self, key: str, content_type: str, most_bytes: int, seconds: int, /) -> UploadForm:
        fields = {"key": key, "Content-Type": content_type, "policy": f"{most_bytes} bytes, {seconds} s"}
        return UploadForm("https://files.example.org/", fields)

    def make_download_link(self, key: str, name: str, seconds: int, /) -> str:
        return f"https://files.example.org/{key}?name={name}&seconds={seconds}"

    def make_upload_link(self, key: str, seconds: int, /) -> str:
        return f"https://files.example.org/{key}?seconds={seconds}"

    def size(self, key: str, /) -> int | None:
        self._answer()
        return len(self.objects[key]) if key in self.objects else None

    def get(self, key: str, most_bytes: int, /) -> bytes | None:
        self._answer()
        return self.objects[key][: most_bytes + 1] if key in self.objects else None

    def put(self, key: str, data: bytes, content_type: str, /) -> None:
        self._answer()
        assert content_type
        self.objects[key] = data

    def delete(self, keys: Sequence[str], /) -> None:
        self._answer()
        for key in keys:
            self.objects.pop(key, None)

    def post(self, form: UploadForm, data: bytes) -> None:
        """As a browser does with the form."""
        self.objects[form.fields["key"]] = data

    def _answer(self) -> None:
        if self.is_unavailable:
            raise ObjectsUnavailable
        if self.is_access_refused:
            raise AccessRefused
