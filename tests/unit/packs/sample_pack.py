"""A small, valid pack: one of everything."""

SAMPLE_TOOL = """\
description: Looks things up.
schema:
  type: object
  properties:
    query: {type: string}
  required: [query]
endpoint: python:search_knowledge
auth: search_key
"""

SMALL_PACK: dict[str, str] = {
    "tenant.yaml": """\
slug: acme
display_name: Acme Works
secrets:
  gupshup_key: parlour/tenants/acme/gupshup
  search_key: parlour/tenants/acme/search
""",
    "humans/mira.yaml": """\
display_name: Mira
identity: You are Mira. You help at the gate.
voice:
  tone: kind
languages: [en, hi]
guardrails:
  - id: no-guessing
    text: Never guess.
""",
    "teams/gate.yaml": """\
display_name: Gate
role: You answer visitors.
sops:
  - Greet first.
  - Then answer.
""",
    "teams/office.yaml": "display_name: Office\n",
    "agents/helper.yaml": """\
display_name: Helper
model_routing:
  strategy: rule
  default: {provider: anthropic, model: claude-sonnet-5-5}
tools: [look_up]
""",
    "bindings/front.yaml": """\
display_name: Front desk
human: mira
team: gate
agent: helper
clearance: internal
channels:
  whatsapp:
    provider: gupshup
    app: AcmeGate
    source: "447700900001"
    api_key: gupshup_key
  web:
    host: acme.example
""",
    "tools/look_up.yaml": SAMPLE_TOOL,
    "entity_types/site.yaml": """\
display_name: Site
properties:
  status: {type: choice, choices: [open, closed], required: true}
  opened: {type: date}
  area: {type: number, unit: m2}
  notes: {type: text}
rag:
  semantic: "{{name}} is {{status}} since {{opened}}"
  status_properties: [status]
""",
    "entities/site.yaml": """\
- key: S-1
  name: North yard
  properties:
    status: open
    opened: 2026-01-05
    area: 120.5
  links:
    - {relation: beside, to: site/S-2}
- key: S-2
  name: South yard
  classification: restricted
  properties: {status: closed}
""",
    "documents/rules.md": """\
---
title: Gate rules
kind: rules
entity: site/S-1
date: 2026-02-01
author: Mira
metadata:
  revision: 3
---

# Gate rules

The gate closes at 18:00.
""",
    "documents/notes/keys.txt": """\
---
title: Where the keys are
classification: restricted
---

In the blue box.
""",
}
"""Path -> text."""


def with_file(path: str, text: str) -> dict[str, str]:
    """The sample with one file added or put in another's place."""
    return {**SMALL_PACK, path: text}


def with_edit(path: str, old: str, new: str) -> dict[str, str]:
    """The sample with one passage of one file changed."""
    if SMALL_PACK[path].count(old) != 1:
        raise ValueError(f"{old!r} is not once in {path}")
    return with_file(path, SMALL_PACK[path].replace(old, new))


def without_files(*paths: str) -> dict[str, str]:
    """The sample without some of its files."""
    return {path: text for path, text in SMALL_PACK.items() if path not in paths}
