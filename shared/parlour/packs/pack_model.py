"""What all that a pack says is made of."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class PackModel(BaseModel):
    """Something a pack says; nothing in it is converted silently and nothing unknown is let through."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    field_hints: ClassVar[Mapping[str, str]] = {}
    """Fields that people look for here, and where they are instead."""
