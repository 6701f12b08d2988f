"""docs/pack-reference.md is what the format's code says."""

from pathlib import Path

from parlour.packs.reference import render_reference

REFERENCE = Path("docs/pack-reference.md")


def test_reference_of_pack_fields_is_up_to_date() -> None:
    assert REFERENCE.read_text("utf-8") == render_reference(), f"{REFERENCE} is out of date: run `make reference`"
