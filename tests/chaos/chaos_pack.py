"""The pack that chaos is made with: the example's site desk without its documents, a pager that asks nobody, and a few
tools more."""

import re

from local.example_tenant import PACK_FOLDER
from parlour.packs import folder
from parlour.packs.format import Pack
from parlour.packs.validate import validate

PACK_SECRETS = ("gupshup", "hook")
"""The tenant's own secrets, below parlour/tenants/<slug>/."""

OFFICE_HOST = "office.northbank.example"
"""Where the pack's tools are called; local/office.py answers for it."""

_ADVISER = "agents/site-adviser.yaml"
_SITE_DESK, _OTHER_DESK = "bindings/site-desk.yaml", "bindings/contract-desk.yaml"

_BASE_FILES = ("tenant.yaml", "humans/", "teams/", "agents/", "tools/", _SITE_DESK)

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


def _asking_tool(description: str, approver: str, more: str = "") -> str:
    """Return a tool that asks a person first."""
    return f"""
description: {description}
schema:
  type: object
  properties:
    subject: {{type: string, maxLength: 120}}
  required: [subject]
  additionalProperties: false
endpoint: https://{OFFICE_HOST}/rfis
writes: true
needs_approval: always
approver: {approver}
{more}"""


_PEOPLE_FILES = {
    "tools/order_crane.yaml": _asking_tool("Order a crane.", "user"),
    "tools/order_hoist.yaml": _asking_tool(
        "Order a hoist.", "admin", f"lookup: https://{OFFICE_HOST}/rfis/by-key/{{key}}\n"
    ),
}
"""Tools about which people are asked: the user, who cannot find out whether it was done; and the tenant's admins."""

_HOOK_SECRET = {"\nsecrets:\n": "\nsecrets:\n  hook_key: parlour/tenants/northbank/hook\n"}

_NOTIFICATIONS = f"""
notifications:
  email: [desk@chaos.example]
  webhook: {{url: "https://{OFFICE_HOST}/notifications", secret: hook_key}}
"""

_GUPSHUP_SETTINGS = re.compile(r"provider: gupshup\n( +)app: \w+\n +source: .*\n")
_GUPSHUP_ID = re.compile(r"^ +id: .*\n", re.MULTILINE)
_PEOPLE_SETTINGS = re.compile(r"^(?:inbox|notifications):.*\n(?:[ #].*\n)*", re.MULTILINE)
_WHATSAPP_CHANNEL = re.compile(r"  whatsapp:\n(?:    .*\n)+")


def build_chaos_pack(
    slug: str,
    app: str,
    *,
    cloud: bool = False,
    with_knowledge: bool = False,
    with_people: bool = False,
    queue_mode: str = "collect",
) -> Pack:
    """The pack for one tenant; a WhatsApp number, a web host and a slug are one tenant's only.

    app             what the tenant's number is called at Gupshup, or its id at Meta when it is a `cloud` number.
    with_knowledge  with its records and documents.
    with_people     with people who are asked and notified, and with the other desk.
    queue_mode      what becomes of a message while a turn runs.
    """
    kept = (*_BASE_FILES, *_KNOWLEDGE_FOLDERS) if with_knowledge else _BASE_FILES
    kept = (*kept, _OTHER_DESK) if with_people else kept
    files = {name: text for name, text in folder.read_folder(PACK_FOLDER).items() if name.startswith(kept)}
    added_tools = ["order_crane", "order_hoist"] if with_people else ["order_survey"]
    mine = {
        **(_HOOK_SECRET if with_people else {"allowed_handoffs: [contract-desk]\n": ""}),
        "slug: northbank": f"slug: {slug}",
        "tenants/northbank/": f"tenants/{slug}/",
        "site.northbank": f"site.{slug}",
        "ParlourDemo": "Chaos" if cloud else app,
        "contracts.northbank": f"contracts.{slug}",
        "\ntools:\n": "\ntools:\n  - order_survey\n",
        "needs_approval: always\n": "",
        "\ntool_writes:\n": "".join(["\ntool_writes:\n", *(f"  {tool}: {{verified: all}}\n" for tool in added_tools)]),
    }
    for before, after in mine.items():
        files = {name: text.replace(before, after) for name, text in files.items()}
    files = {name: _PEOPLE_SETTINGS.sub("", text) for name, text in files.items()}
    if cloud:
        at_meta = rf'provider: whatsapp_cloud\n\1phone_number_id: "{app}"\n'
        files = {name: _GUPSHUP_ID.sub("", _GUPSHUP_SETTINGS.sub(at_meta, text)) for name, text in files.items()}
    if with_people:
        files |= _PEOPLE_FILES
        files[_ADVISER] = files[_ADVISER].replace("\n  - order_survey\n", "\n  - order_crane\n  - order_hoist\n")
        files[_SITE_DESK] += _NOTIFICATIONS
        files[_OTHER_DESK] = _WHATSAPP_CHANNEL.sub("", files[_OTHER_DESK])
    files[_SITE_DESK] += f"\nqueue: {{mode: {queue_mode}}}\n"
    return validate({**files, "tools/order_survey.yaml": _SURVEY_TOOL})
