"""What the conversations need beside the example pack: agents with narrower budgets, and a long tool that writes."""

_NIGHT_AGENT = """
display_name: Night adviser
instructions: Answer in one line. Search when you do not know.
model_routing:
  strategy: rule
  default: {provider: anthropic, model: claude-sonnet-5-5}
  cheap: {provider: anthropic, model: claude-haiku-5-5}
  fallback:
    - {provider: anthropic, model: claude-haiku-5-5}
tools: [get_entity, list_entities, search_knowledge, update_entity]
budget:
  profile: messaging
  tokens: 4400
  layers:
    history: {floor: 300, cap: 700}
    recall: {floor: 100, cap: 250}
    memory: {floor: 60, cap: 120}
    calls: {floor: 0, cap: 600}
prompt: floating
modes: [clarify, inform]
reminders: [Give figures in metric units.]
memory_policy: {facts: 8, episodes: 2}
"""

_CLERK_AGENT = """
display_name: Records clerk
instructions: Keep the records in order. Look things up before you change them.
model_routing:
  strategy: rule
  default: {provider: anthropic, model: claude-sonnet-5-5}
  cheap: {provider: anthropic, model: claude-haiku-5-5}
tools: [create_entity, get_entity, get_linked_entities, list_entities, search_knowledge, update_entity, order_survey]
budget:
  profile: entity
  tokens: 5600
  layers:
    briefing: {floor: 500, cap: 1100}
    history: {floor: 400, cap: 900}
    recall: {floor: 100, cap: 300}
    calls: {floor: 0, cap: 900}
max_tool_iterations: 2
"""

_SURVEY = """
description: Order a survey of an area. It takes a while; the result comes by itself.
schema:
  type: object
  properties:
    subject: {type: string, maxLength: 120}
  required: [subject]
  additionalProperties: false
endpoint: https://office.northbank.example/rfis
lookup: https://office.northbank.example/rfis/by-key/{key}
writes: true
heavy: true
"""

_NIGHT_DESK = """
display_name: Night desk
human: asha
team: site-operations
agent: night-adviser
door: public
clearance: internal
greeting: This is the night desk.
channels:
  whatsapp: {provider: gupshup, app: OracleNight, source: "447700900143", api_key: gupshup_api_key}
  web: {host: night.northbank.example}
"""

_CLERK_DESK = """
display_name: Records desk
human: tobias
team: contract-advice
agent: records-clerk
door: public
clearance: restricted
channels:
  web: {host: records.northbank.example}
"""

OVERLAY = {
    "agents/night-adviser.yaml": _NIGHT_AGENT,
    "agents/records-clerk.yaml": _CLERK_AGENT,
    "bindings/night-desk.yaml": _NIGHT_DESK,
    "bindings/records-desk.yaml": _CLERK_DESK,
    "tools/order_survey.yaml": _SURVEY,
}
"""Files by their path in the pack."""
