"""Fixtures that the functions' tests share with the rooms'."""

from tests.integration.conftest import conversation

__all__ = ["conversation"]
