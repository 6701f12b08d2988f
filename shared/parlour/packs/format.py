"""What a pack may say: one frozen model per kind of file.

    tenant.yaml               Tenant: slug, name, secrets by reference, hosts of tools
    humans/<slug>.yaml        Human: who speaks
    teams/<slug>.yaml         Team: the job being done
    agents/<slug>.yaml        Agent: the machinery
    bindings/<slug>.yaml      Binding: human + team + agent + channels
    tools/<name>.yaml         Tool
    entity_types/<key>.yaml   EntityType
    entities/<type>.yaml      a list of Record, all of that type
    demo/<slug>.yaml          Scene (scene_format.py): what the demo model plays without a model key
    documents/<key>           DocumentHeader between two lines of ---, then the text (.md, .txt, .eml)

A file's name is the slug, name, key or type of what is in it, so nothing is named twice. Field names are
those of the database columns. Texts are characters, `tokens` are tokens, `clearance` and `classification`
are words in a pack and integers in the database.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from parlour.conversations.canned_replies import ReplyCause
from parlour.packs import field_formats
from parlour.packs.pack_model import PackModel
from parlour.packs.prompt_settings import AgentBudget, AgentMode, BudgetOverride, expand_number
from parlour.packs.scene_format import Scene
from parlour.packs.source_positions import ParsedYaml
from parlour.principal import LEVEL_NAMES, WriteRights


def _parse_level(value: object) -> int:
    return LEVEL_NAMES.index(field_formats.one_of(value, LEVEL_NAMES))


#: Why a field is refused that packs may have and nothing uses yet.
_NOT_SUPPORTED = "not supported in this release; remove it"

Name = Annotated[str, Field(min_length=1, max_length=120)]
ShortText = Annotated[str, Field(max_length=500)]
LongText = Annotated[str, Field(max_length=8_000)]
Slug = Annotated[str, AfterValidator(field_formats.slug)]
Identifier = Annotated[str, AfterValidator(field_formats.identifier)]
RecordKey = Annotated[str, AfterValidator(field_formats.record_key)]
RecordReference = Annotated[str, AfterValidator(field_formats.record_reference)]
ReplyText = Annotated[str, Field(min_length=1, max_length=500)]
Language = Annotated[str, AfterValidator(field_formats.language)]
Level = Annotated[int, BeforeValidator(_parse_level)]
Scalar = Annotated[Any, AfterValidator(field_formats.scalar_value)]


class Guardrail(PackModel):
    """A rule that the tier owning it states; `id` names it in reports."""

    field_hints: ClassVar[Mapping[str, str]] = {
        "check": "state the rule in `text`; checks in code are not available yet"
    }

    id: Slug
    text: Annotated[str, Field(min_length=1, max_length=1_000)]


class Tenant(PackModel):
    """Whose pack it is.

    secrets        name -> where the secret store keeps it; never the value itself.
    tool_hosts     the hosts that its tools may call, and no others.
    link_hosts     the hosts that links in replies may lead to, besides its own and those of its record types' links.
    replies        what users read when no model answers: cause -> language -> text. The agent's languages choose.
    daily_cap_usd  what model calls may cost a day, in US dollars; left out, it stays as it is.
    """

    slug: Slug
    display_name: Name
    daily_cap_usd: Annotated[float, AfterValidator(field_formats.daily_cap)] | None = None
    secrets: dict[Identifier, Annotated[str, AfterValidator(field_formats.secret_reference)]] = {}  # noqa: RUF012 - pydantic copies it
    tool_hosts: tuple[Annotated[str, AfterValidator(field_formats.tool_host)], ...] = ()
    link_hosts: tuple[Annotated[str, AfterValidator(field_formats.tool_host)], ...] = ()
    replies: dict[ReplyCause, dict[Language, ReplyText]] = {}  # noqa: RUF012 - pydantic copies it


class Voice(PackModel):
    """How the persona sounds."""

    tone: ShortText = ""
    style: ShortText = ""
    sentence_length: ShortText = ""
    signature_phrases: tuple[ShortText, ...] = ()
    avoid: tuple[ShortText, ...] = ()


class Human(PackModel):
    """Tier 1: identity, voice, languages (the first is the default)."""

    display_name: Name
    identity: LongText = ""
    voice: Voice = Voice()
    languages: Annotated[tuple[Language, ...], Field(min_length=1)] = ("en",)
    cultural_register: ShortText = ""
    guardrails: tuple[Guardrail, ...] = ()


class Escalation(PackModel):
    """When people take over, and who they are."""

    contact: ShortText = ""
    when: tuple[ShortText, ...] = ()


class Team(PackModel):
    """Tier 2: the job, how it is done, when people take over."""

    field_hints: ClassVar[Mapping[str, str]] = {"members": _NOT_SUPPORTED, "allowed_handoffs": _NOT_SUPPORTED}

    display_name: Name
    department: ShortText = ""
    role: LongText = ""
    sops: tuple[Annotated[str, Field(min_length=1, max_length=1_000)], ...] = ()
    escalation: Escalation = Escalation()
    guardrails: tuple[Guardrail, ...] = ()


class ModelChoice(PackModel):
    """One model of one provider."""

    provider: Literal["anthropic", "bedrock", "offline"]
    model: Name


class ModelRouting(PackModel):
    """Which model answers: `default`, then `fallback` in order; `cheap` for work that nobody waits for."""

    strategy: Literal["rule"]
    default: ModelChoice
    cheap: ModelChoice | None = None
    fallback: tuple[ModelChoice, ...] = ()


class MemoryPolicy(PackModel):
    """How many facts and episodes a turn is told of at most; where no facts are told, none are looked for either."""

    facts: Annotated[int, Field(ge=0, le=100)] = 30
    episodes: Annotated[int, Field(ge=0, le=50)] = 5


class Agent(PackModel):
    """Tier 3: models, tools (by name), limits.

    prompt     where its instructions stand: in the system prompt, or floating before the user's words.
    modes      what it may do with a request; without `act`, calls that change something are refused.
    reminders  said at the end of every prompt; together no more than the reminder's layer takes.
    """

    field_hints: ClassVar[Mapping[str, str]] = {"retrieval": _NOT_SUPPORTED}

    display_name: Name
    instructions: LongText = ""
    model_routing: ModelRouting
    tools: tuple[Identifier, ...] = ()
    memory_policy: MemoryPolicy = MemoryPolicy()
    budget: AgentBudget = AgentBudget()
    guardrails: tuple[Guardrail, ...] = ()
    max_tool_iterations: Annotated[int, Field(ge=0, le=20)] = 4
    prompt: Literal["system", "floating"] = "system"
    modes: Annotated[tuple[AgentMode, ...], Field(min_length=1)] = ("clarify", "inform", "act")
    reminders: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = ()


class WhatsAppTemplate(PackModel):
    """An approved WhatsApp message with one body parameter: what a reply is sent as a day after the user last wrote.

    Gupshup knows it by `id`, Meta by `name` and `language`; `parameter` is the parameter's name where it has one.
    """

    id: Annotated[str, AfterValidator(field_formats.template_id)] = ""
    name: Annotated[str, AfterValidator(field_formats.template_name)] = ""
    language: Annotated[str, AfterValidator(field_formats.template_language)] = ""
    parameter: Annotated[str, AfterValidator(field_formats.template_name)] = ""


class WhatsAppChannel(PackModel):
    """A WhatsApp number. `api_key` is a name in the tenant's secrets: Gupshup's key, or Meta's access token.

    provider gupshup         needs app and source
    provider whatsapp_cloud  needs phone_number_id
    """

    provider: Literal["gupshup", "whatsapp_cloud"]
    app: Annotated[str, AfterValidator(field_formats.gupshup_app)] | None = None
    source: Annotated[str, AfterValidator(field_formats.phone_number)] | None = None
    phone_number_id: Annotated[str, AfterValidator(field_formats.phone_number_id)] | None = None
    api_key: Identifier
    template: WhatsAppTemplate | None = None


class WebChannel(PackModel):
    """A host whose visitors reach this binding; `samples` are questions that a chat page offers."""

    host: Annotated[str, AfterValidator(field_formats.host)]
    samples: tuple[ShortText, ...] = ()


class Channels(PackModel):
    """Where people reach a binding."""

    whatsapp: WhatsAppChannel | None = None
    web: WebChannel | None = None


class Owner(PackModel):
    """Whom a private door answers: the holder of a phone number, or a member by their token's issuer and subject."""

    phone: Annotated[str, AfterValidator(field_formats.international_phone)] | None = None
    issuer: ShortText | None = None
    subject: ShortText | None = None


class Writes(PackModel):
    """What people may change: `anonymous` visitors, and those whom a channel has `verified`; one word is for both."""

    anonymous: WriteRights | None = None
    verified: WriteRights | None = None


def expand_writes(value: object) -> object:
    """Return a single word as the rights of everybody."""
    return {"anonymous": value, "verified": value} if isinstance(value, str) else value


type PerMinute = Annotated[int, Field(ge=1, le=100_000)]
type WritesSetting = Annotated[Writes, BeforeValidator(expand_writes)]


class BindingLimits(PackModel):
    """What a binding takes per minute: messages of one visitor, of one network address, of all; and new visitors.

    anonymous_share  the part of the tenant's daily cap that visitors whom no channel has verified may spend.
    """

    visitor_per_minute: PerMinute | None = None
    address_per_minute: PerMinute | None = None
    binding_per_minute: PerMinute | None = None
    new_visitors_per_minute: PerMinute | None = None
    anonymous_share: Annotated[float, Field(ge=0, le=1)] | None = None


class Binding(PackModel):
    """One deployable agent.

    clearance    what people who come in here may see, unless their user row says otherwise.
    owner        whom it answers when its door is private.
    writes       what people may change: none, own (what they created themselves) or all; members by their roles.
    tool_writes  the same for single tools, by name.
    limits       how much it takes; what is left out is the default.
    """

    display_name: Name
    human: Slug
    team: Slug
    agent: Slug
    door: Literal["private", "public", "distribution"] = "public"
    clearance: Level = 0
    greeting: Annotated[str, Field(max_length=1_000)] = ""
    channels: Channels = Channels()
    owner: Owner | None = None
    writes: WritesSetting = Writes()
    limits: BindingLimits = BindingLimits()
    tool_writes: dict[Identifier, WritesSetting] = {}  # noqa: RUF012 - pydantic copies it


class Tool(PackModel):
    """Something a model may call. `schema` is the JSON Schema of its arguments."""

    description: Annotated[str, Field(min_length=1, max_length=2_000)]
    parameters: dict[str, JsonValue] = Field(alias="schema")  # pydantic's models have a `schema` of their own
    endpoint: str
    auth: Identifier | None = None
    writes: bool = False
    idempotent: bool = False
    heavy: bool = False
    needs_approval: bool = False
    lookup: str | None = None
    timeout_seconds: int | None = None


class Property(PackModel):
    """A property of a record. Money is a number with a `unit`; a date is ISO text."""

    type: Literal["text", "number", "integer", "boolean", "date", "choice"]
    label: ShortText = ""
    description: ShortText = ""
    unit: Annotated[str, Field(max_length=20)] = ""
    required: bool = False
    choices: tuple[Name, ...] = ()


class RagSettings(PackModel):
    """What Parlour makes of a type's records: rows to search, Pulses, conversations about one of them.

    `semantic` is the template of a record's snapshot, with {{name}}, {{key}}, {{type}} and the type's properties; the
    rest is told in `knowledge.records.definition.Settings`. In `link`, {{key}} and {{type}} are filled in.
    """

    field_hints: ClassVar[Mapping[str, str]] = {
        "coalesce": "use `coalesce_seconds`",
        "status_property": "use the list `status_properties`",
        "color": "use `colour`",
        "summary_interval": _NOT_SUPPORTED,
    }

    semantic: Annotated[str, Field(max_length=2_000)] = ""
    context: Literal["auto", "off"] = "auto"
    children: Literal["auto", "off"] = "off"
    pulse: Literal["auto", "off"] = "off"
    pulse_prompt: LongText = ""
    pulse_model: Literal["", "default", "cheap"] = ""
    coalesce_seconds: Annotated[int, Field(ge=10, le=120)] = 30
    status_properties: tuple[Identifier, ...] = ()
    tracked_properties: tuple[Identifier, ...] = ()
    chat_visibility: Literal["private", "shared", "role_gated"] = "private"
    chat_agent: Slug | None = None
    budget: Annotated[BudgetOverride, BeforeValidator(expand_number)] | None = None
    classification: Literal["public", "internal", "confidential", "restricted"] = "public"
    icon: Annotated[str, AfterValidator(field_formats.icon)] = ""
    colour: Annotated[str, AfterValidator(field_formats.colour)] = ""
    link: Annotated[str, AfterValidator(field_formats.link)] = ""


class EntityType(PackModel):
    """A kind of business record."""

    display_name: Name
    properties: dict[Identifier, Property] = {}  # noqa: RUF012 - pydantic copies it
    rag: RagSettings = RagSettings()


class RecordLink(PackModel):
    """A typed link from a record to another, named `type/key`."""

    relation: Identifier
    to: RecordReference


class RecordSource(PackModel):
    """Where something that a record says was read."""

    title: Annotated[str, Field(min_length=1, max_length=300)]
    locator: ShortText = ""
    page: int | str | None = None


class Record(PackModel):
    """A business record with its links. `project`: the one that it belongs to, as `project/key`."""

    key: RecordKey
    name: Annotated[str, Field(min_length=1, max_length=300)]
    classification: Level = 0
    project: RecordReference | None = None
    properties: dict[Identifier, Scalar] = {}  # noqa: RUF012 - pydantic copies it
    sources: tuple[RecordSource, ...] = ()
    links: tuple[RecordLink, ...] = ()


class DocumentHeader(PackModel):
    """What is known about a document besides its text. `entity` is the record it belongs to, as `type/key`."""

    title: Annotated[str, Field(min_length=1, max_length=300)]
    kind: Identifier = "document"
    entity: RecordReference | None = None
    classification: Level = 0
    date: Annotated[str, AfterValidator(field_formats.iso_date)] = ""
    author: ShortText = ""
    metadata: dict[Identifier, Scalar] = {}  # noqa: RUF012 - pydantic copies it


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its header and its text."""

    header: DocumentHeader
    content: str


@dataclass(frozen=True, slots=True)
class Pack:
    """A valid pack. Every mapping is by slug, name or key; records by `type/key`; `located` says on which lines its
    files say what they say."""

    tenant: Tenant
    humans: Mapping[str, Human]
    teams: Mapping[str, Team]
    agents: Mapping[str, Agent]
    bindings: Mapping[str, Binding]
    tools: Mapping[str, Tool]
    entity_types: Mapping[str, EntityType]
    records: Mapping[str, Record]
    documents: Mapping[str, Document]
    scenes: Mapping[str, Scene] = field(default_factory=dict)
    files_by_path: Mapping[str, ParsedYaml] = field(default_factory=dict, compare=False)
