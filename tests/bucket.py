"""A bucket that people upload to, in memory: what the port for files promises, and nothing else."""

from collections.abc import Sequence

from parlour.infra.errors import AccessRefused, ObjectsUnavailable
from parlour.infra.objects import Form


class Bucket:
    """Keeps bytes by key; `away` makes it unreachable, `refuses` makes it know nobody any more."""

    origin = "https://files.example.org"

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.away = False
        self.refuses = False

    def form(self, key: str, content_type: str, most_bytes: int, seconds: int, /) -> Form:
        fields = {"key": key, "Content-Type": content_type, "policy": f"{most_bytes} bytes, {seconds} s"}
        return Form("https://files.example.org/", fields)

    def link(self, key: str, name: str, seconds: int, /) -> str:
        return f"https://files.example.org/{key}?name={name}&seconds={seconds}"

    def size(self, key: str, /) -> int | None:
        self._answer()
        return len(self.kept[key]) if key in self.kept else None

    def get(self, key: str, most_bytes: int, /) -> bytes | None:
        self._answer()
        return self.kept[key][: most_bytes + 1] if key in self.kept else None

    def put(self, key: str, data: bytes, content_type: str, /) -> None:
        self._answer()
        assert content_type
        self.kept[key] = data

    def delete(self, keys: Sequence[str], /) -> None:
        self._answer()
        for key in keys:
            self.kept.pop(key, None)

    def post(self, form: Form, data: bytes) -> None:
        """As a browser does with the form."""
        self.kept[form.fields["key"]] = data

    def _answer(self) -> None:
        if self.away:
            raise ObjectsUnavailable
        if self.refuses:
            raise AccessRefused
