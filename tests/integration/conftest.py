"""Fixtures that more than one room's tests use."""

from tests.integration.knowledge_tenant import library, other_library

__all__ = ["library", "other_library"]
