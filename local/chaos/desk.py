"""The pack that chaos is made with: the example's site desk without its documents, and tools that reach the office."""

from local.example import PACK
from parlour.packs import folder
from parlour.packs.format import Pack
from parlour.packs.validate import validate

PACK_SECRETS = ("gupshup",)
"""The tenant's own secrets, below parlour/tenants/<slug>/."""

_KEPT = (
    "tenant.yaml", "humans/asha.yaml", "humans/tobias.yaml", "teams/site-operations.yaml", "teams/contract-advice.yaml",
    "agents/site-adviser.yaml",
)  # fmt: skip
_BINDING = "bindings/site-desk.yaml"


def pack(slug: str, app: str, office: str) -> Pack:
    """The pack for one tenant; a WhatsApp number and a web host are one tenant's only."""
    files = folder.read(PACK)
    kept = {name: files[name].replace("northbank", slug) for name in _KEPT}
    binding = files[_BINDING].replace("ParlourDemo", app).replace("northbank", slug)
    return validate({**kept, _BINDING: binding})
