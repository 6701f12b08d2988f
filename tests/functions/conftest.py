"""Fixtures that the functions' tests share with the rooms'."""

from tests.integration.conftest import desk

__all__ = ["desk"]
