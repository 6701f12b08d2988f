"""The example tenant of a laptop: where its pack is, and what the laptop has for it."""

from local.state import ROOT

PACK_FOLDER = ROOT / "packs" / "construction"
TENANT_SLUG = "northbank"
OFFICE_HOST = "office.northbank.example"
"""The host that the pack's tools call; on a laptop `local/office.py` answers for it."""
