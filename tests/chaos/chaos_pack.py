"""The pack that chaos is made with: the example's site desk without its documents, a pager that asks nobody, and one
tool more."""

import re

from local.example_tenant import PACK_FOLDER
from parlour.packs import folder
from parlour.packs.format import Pack
from parlour.packs.validate import validate

PACK_SECRETS = ("gupshup",)
"""The tenant's own secrets, below parlour/tenants/<slug>/."""

OFFICE_HOST = "office.northbank.example"
"""Where the pack's tools are called; local/office.py answers for it."""

_BASE_FILES = ("tenant.yaml", "humans/", "teams/", "agents/", "tools/", "bindings/site-desk.yaml")

_KNOWLEDGE_FOLDERS = ("documents/", "entities/", "entity_types/")

_SURVEY_TOOL = f"""
description: Order a survey of an area. It takes a while; the result comes by itself.
schema:
  type: object
  properties:
    subject: {{type: string, maxLength: 120}}
  required: [subject]
  additionalProperties: false
endpoint: https://{OFFICE_HOST}/rfis
lookup: https://{OFFICE_HOST}/rfis/by-key/{{key}}
writes: true
heavy: true
"""
"""A long tool that changes something, and can be asked what became of a call."""


_GUPSHUP_SETTINGS = re.compile(r"provider: gupshup\n( +)app: \w+\n +source: .*\n")


def build_chaos_pack(slug: str, app: str, *, cloud: bool = False, with_knowledge: bool = False) -> Pack:
    """The pack for one tenant; a WhatsApp number, a web host and a slug are one tenant's only.

    app     what the tenant's number is called at Gupshup, or its id at Meta when it is a `cloud` number.
    whole   with its records and documents.
    """
    kept = (*_BASE_FILES, *_KNOWLEDGE_FOLDERS) if with_knowledge else _BASE_FILES
    files = {name: text for name, text in folder.read_folder(PACK_FOLDER).items() if name.startswith(kept)}
    mine = {
        "slug: northbank": f"slug: {slug}",
        "tenants/northbank/": f"tenants/{slug}/",
        "site.northbank": f"site.{slug}",
        "ParlourDemo": "Chaos" if cloud else app,
        "\ntools:\n": "\ntools:\n  - order_survey\n",
        "allowed_handoffs: [contract-desk]\n": "",
        "needs_approval: always\n": "",
    }
    for before, after in mine.items():
        files = {name: text.replace(before, after) for name, text in files.items()}
    if cloud:
        at_meta = rf'provider: whatsapp_cloud\n\1phone_number_id: "{app}"\n'
        files = {name: _GUPSHUP_SETTINGS.sub(at_meta, text) for name, text in files.items()}
    return validate({**files, "tools/order_survey.yaml": _SURVEY_TOOL})
