"""A persona: who speaks, the job being done, the machinery, and the binding that puts them together. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from parlour.infra.json_values import Json, JsonObject
from parlour.tenancy.rows import Tenant, User


@dataclass(frozen=True, slots=True)
class Binding:
    """One deployable agent: three tiers, channels, a door.

    channels     {"whatsapp": {"provider", ..., "api_key", "templates"}, "web": {"host"}}; `api_key` names a secret.
    clearance    what people who come in through this binding may see, unless their own row says otherwise.
    owner        whom a private door answers: {"phone"}, or {"issuer", "subject"} of a member.
    writes       {"anonymous" | "verified": "none" | "own" | "all"}: what people may change.
    tool_writes  the same by the name of a tool.
    limits       what it takes per minute, as `Limits` reads it.
    allowed_handoffs  slugs of bindings and teams that its conversations may be handed to.
    inbox        {"words": {language: [word]}, "service": {...}} where people answer its conversations, else {}.
    queue        {"mode": "collect" | "steer" | "interrupt", "stop_words": {language: [word]}}; {}: as by default.
    needs_approval  which calls ask a person first, besides those whose tool says so.
    """

    id: UUID
    slug: str
    display_name: str
    human_id: UUID
    team_id: UUID
    agent_id: UUID
    door: str
    channels: JsonObject
    clearance: int
    greeting: str
    is_active: bool
    version: int
    owner: JsonObject
    writes: JsonObject
    tool_writes: JsonObject
    limits: JsonObject
    allowed_handoffs: Sequence[str] = ()
    inbox: JsonObject = field(default_factory=dict)
    queue: JsonObject = field(default_factory=dict)
    needs_approval: Json = "never"

    @property
    def is_open_to_visitors(self) -> bool:
        """Whether somebody without credentials may start a session on the web."""
        return self.is_active and self.door != "private" and "web" in self.channels


@dataclass(frozen=True, slots=True)
class Human:
    """Who speaks: identity, voice, languages."""

    id: UUID
    slug: str
    display_name: str
    identity: str
    voice: JsonObject
    languages: tuple[str, ...]
    cultural_register: str
    guardrails: tuple[Json, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Team:
    """The job being done: role, procedures, when people take over."""

    id: UUID
    slug: str
    display_name: str
    department: str
    role: str
    sops: tuple[Json, ...]
    escalation: JsonObject
    guardrails: tuple[Json, ...]
    version: int
    allowed_handoffs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Agent:
    """The machinery: instructions, models, tools, memory, budget. `tools` are names.

    prompt     "system", or "floating": the instructions stand before what the user sends.
    modes      which of clarify, inform and act it may do; without act nothing is written.
    reminders  said at the end of every prompt.
    """

    id: UUID
    slug: str
    display_name: str
    instructions: str
    model_routing: JsonObject
    tools: tuple[str, ...]
    memory_policy: JsonObject
    budget: JsonObject
    guardrails: tuple[Json, ...]
    max_tool_iterations: int
    prompt: str
    modes: tuple[str, ...]
    reminders: tuple[str, ...]
    version: int

    @property
    def can_act(self) -> bool:
        """Whether it may change anything."""
        return "act" in self.modes


@dataclass(frozen=True, slots=True)
class HandoffTarget:
    """A binding that a persona may hand a conversation to, and its team's job."""

    slug: str
    display_name: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class Persona:
    """What a turn needs of a binding, as it was at one moment.

    user               the person in the conversation, where one was looked up and exists.
    tools_json         the agent's tool rows.
    record_types_json  the rows of the record types and the relations of the pack's links; "" for an agent without tools
                       for records.
    handoff_targets    the active bindings that its team and its binding allow.
    """

    tenant: Tenant
    binding: Binding
    human: Human
    team: Team
    agent: Agent
    user: User | None = None
    last_record_write: str | None = None
    tools_json: str = ""
    record_types_json: str = ""
    handoff_targets: tuple[HandoffTarget, ...] = ()

    @property
    def versions(self) -> JsonObject:
        """The version of each part: what a turn freezes, and what names the cause when a prompt changes."""
        return {
            "tenant": self.tenant.version,
            "binding": self.binding.version,
            "human": self.human.version,
            "team": self.team.version,
            "agent": self.agent.version,
        }
