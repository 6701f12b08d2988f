"""The rule for what is sensitive, under its old name for `said`."""

from parlour.text.sensitive import is_sensitive as is_sensitive  # noqa: PLC0414
