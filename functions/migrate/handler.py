"""Brings the database to this release's schema; `make deploy` calls it."""

from typing import Any

from parlour.bootstrap.migrate import build_migrate


def handler(_event: dict[str, Any], _context: object) -> dict[str, list[str]]:
    """Return the names of the migrations that were applied just now."""
    return {"applied": build_migrate()()}
