"""One uploaded file to its text, between two signed addresses."""

from typing import Any

from parlour.files.extract.url_reading import ReadRequest, read_by_url


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Read the file; the answer names what is wrong with it, if anything is."""
    return dict(read_by_url(ReadRequest.model_validate(event)))
