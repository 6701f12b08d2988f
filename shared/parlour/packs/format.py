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

A description of a field is what people read in their editor and in docs/pack-reference.md (packs/json_schema.py).

A file's name is the slug, name, key or type of what is in it, so nothing is named twice. Field names are
those of the database columns. Texts are characters, `tokens` are tokens, `clearance` and `classification`
are words in a pack and integers in the database.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, WithJsonSchema

from parlour.channels.outgoing_message import DEFAULT_INTERIM_SECONDS
from parlour.conversations.canned_replies import ReplyCause
from parlour.models.model_routing import MAX_THINKING_TOKENS, MIN_THINKING_TOKENS
from parlour.packs import field_formats
from parlour.packs.pack_model import PackModel
from parlour.packs.prompt_settings import AgentBudget, AgentMode, BudgetOverride, expand_number
from parlour.packs.scene_format import Scene
from parlour.packs.source_positions import ParsedYaml
from parlour.principal import LEVEL_NAMES, WriteRights
from parlour.tenancy.access import DEFAULT_PHONE_ROLES, PhoneRole


def _parse_level(value: object) -> int:
    return LEVEL_NAMES.index(field_formats.one_of(value, LEVEL_NAMES))


#: Why a field is refused that packs may have and nothing uses yet.
_NOT_SUPPORTED = "not supported in this release; remove it"

Name = Annotated[str, Field(min_length=1, max_length=120)]
ShortText = Annotated[str, Field(max_length=500)]
ThinkingTokens = Annotated[int, Field(ge=MIN_THINKING_TOKENS, le=MAX_THINKING_TOKENS)]
LongText = Annotated[str, Field(max_length=8_000)]
Slug = Annotated[str, field_formats.slug]
Identifier = Annotated[str, field_formats.identifier]
RecordKey = Annotated[str, field_formats.record_key]
RecordReference = Annotated[str, field_formats.record_reference]
Language = Annotated[str, field_formats.language]
ReplyText = Annotated[str, Field(min_length=1, max_length=500)]
Host = Annotated[str, AfterValidator(field_formats.tool_host)]
RoleOnPhone = Annotated[PhoneRole, BeforeValidator(field_formats.phone_role)]
EmbedHost = Annotated[str, AfterValidator(field_formats.embed_host)]
Level = Annotated[int, BeforeValidator(_parse_level), WithJsonSchema({"enum": list(LEVEL_NAMES)})]
Scalar = Annotated[
    Any, AfterValidator(field_formats.scalar_value), WithJsonSchema({"type": ["string", "number", "boolean"]})
]


class Guardrail(PackModel):
    """A rule that a human, a team or an agent keeps."""

    field_hints: ClassVar[Mapping[str, str]] = {
        "check": "state the rule in `text`; checks in code are not available yet"
    }

    id: Slug = Field(description="Short name of the rule; reports name the rule by it.")
    text: Annotated[str, Field(min_length=1, max_length=1_000)] = Field(description="The rule, as the agent reads it.")


class Tenant(PackModel):
    """Whose pack it is."""

    slug: Slug = Field(description="The tenant's short name, in addresses and commands.")
    display_name: Name = Field(description="The tenant's name, as people read it.")
    plays_on: Annotated[str, AfterValidator(field_formats.iso_day)] = Field(
        default="",
        description="For examples: the day that is today in the pack, as 2026-03-02. Each apply moves all dates of the "
        "pack by whole weeks, so that this day is in the seven days up to the apply. Moved are 2026-03-02, 2 March, "
        "2 Mar 2026, 2 to 5 March, March 2026 and March.",
    )
    daily_cap_usd: Annotated[float, AfterValidator(field_formats.daily_cap)] | None = Field(
        default=None,
        description="Most that model calls may cost per day, in US dollars. Left out, the cap does not change.",
    )
    time_zone: Annotated[str, AfterValidator(field_formats.time_zone)] = Field(
        default="UTC",
        description="The zone of the times that agents and users read, such as Asia/Kolkata; a binding with opening "
        "hours has the zone of these.",
    )
    secrets: dict[Identifier, Annotated[str, AfterValidator(field_formats.secret_reference)]] = Field(
        default={},
        description="Name of a secret and where the secret store keeps it: `parlour/tenants/<slug>/<name>`. "
        "Never the value itself.",
    )
    tool_hosts: tuple[Host, ...] = Field(
        default=(),
        description="The only hosts that the tenant's tools may call: with the port, unless it is 443, or 80 for http.",
    )
    link_hosts: tuple[Host, ...] = Field(
        default=(),
        description="Hosts that links in replies may lead to, besides the tenant's own and those of `rag.link`; a "
        "`host` with every port, a `host:port` with that one.",
    )
    phone_roles: Annotated[tuple[RoleOnPhone, ...], Field(max_length=2)] = Field(
        default=DEFAULT_PHONE_ROLES,
        description="The roles that members have on a phone that they linked while signed in, as far as they have "
        "them: `viewer`, `editor`; never `admin`.",
    )
    replies: dict[ReplyCause, dict[Language, ReplyText]] = Field(
        default={},
        description="What users read when no model answers: by cause, then by language. The agent's languages choose.",
    )
    saved_replies: dict[Slug, dict[Language, Annotated[str, Field(min_length=1, max_length=2_000)]]] = Field(
        default={}, description="Texts that people of the inbox insert: by name, then by language."
    )


class Voice(PackModel):
    """How the persona sounds."""

    tone: ShortText = Field(default="", description="The tone, in a few words: warm, calm, plain.")
    style: ShortText = Field(default="", description="How an answer is built: the answer first, then its reasons.")
    sentence_length: ShortText = Field(default="", description="How long sentences are.")
    signature_phrases: tuple[ShortText, ...] = Field(default=(), description="Phrases that the persona likes to use.")
    avoid: tuple[ShortText, ...] = Field(default=(), description="What the persona does not say.")


class Human(PackModel):
    """Tier 1 of a persona: who speaks."""

    display_name: Name = Field(description="The persona's name; a phone shows it as the contact.")
    identity: LongText = Field(default="", description="Who the persona is, addressed to it: You are ...")
    voice: Voice = Field(default=Voice(), description="Tone, style and phrases.")
    languages: Annotated[tuple[Language, ...], Field(min_length=1)] = Field(
        default=("en",), description="Languages that the persona speaks; the first is the default."
    )
    cultural_register: ShortText = Field(default="", description="Manners of address, scripts and local habits.")
    guardrails: tuple[Guardrail, ...] = Field(default=(), description="Rules that the persona keeps in every job.")


class Escalation(PackModel):
    """When people take over, and who they are."""

    contact: ShortText = Field(default="", description="Whom the agent names: a person, a role, a phone number.")
    when: tuple[ShortText, ...] = Field(default=(), description="Cases in which the agent refers to that contact.")


class Team(PackModel):
    """Tier 2 of a persona: the job, and when people take over."""

    field_hints: ClassVar[Mapping[str, str]] = {"members": _NOT_SUPPORTED}

    display_name: Name = Field(description="The team's name.")
    department: ShortText = Field(default="", description="The department that the team belongs to.")
    role: LongText = Field(default="", description="The job of the team, and what is not its job.")
    sops: tuple[Annotated[str, Field(min_length=1, max_length=1_000)], ...] = Field(
        default=(), description="Standard procedures: one instruction per item."
    )
    escalation: Escalation = Field(default=Escalation(), description="Whom the agent refers to, and in which cases.")
    allowed_handoffs: tuple[Slug, ...] = Field(
        default=(), description="Bindings or teams that the team's agents may hand a conversation to."
    )
    guardrails: tuple[Guardrail, ...] = Field(default=(), description="Rules of this job.")


class ModelChoice(PackModel):
    """One model of one provider."""

    provider: Literal["anthropic", "bedrock", "function", "offline"] = Field(
        description="Who serves the model. `offline` needs no key and only quotes what a search finds; `function` "
        "is an agent of the pack's own code."
    )
    model: Name = Field(description="The model's name at the provider; for `function`, module.name of the agent.")
    thinking: Literal["adaptive"] | ThinkingTokens | None = Field(
        default=None,
        description="Have members see what the model thinks before it answers: `adaptive`, or the most tokens of a "
        "model that does not decide by itself how long it thinks. Thinking is paid as output. Only turns ask for it; "
        "summaries, memory and Pulses do not.",
    )


class ModelRouting(PackModel):
    """Which model answers. Without a key, the offline model takes the place of every model."""

    strategy: Literal["rule"] = Field(default="rule", description="How a model is chosen; `rule` is the only way.")
    default: ModelChoice = Field(description="The model that answers.")
    cheap: ModelChoice | None = Field(
        default=None, description="The model for work that nobody waits for, such as summaries."
    )
    fallback: tuple[ModelChoice, ...] = Field(
        default=(), description="Models to try in order when the default one fails."
    )


#: What answers when an agent names no model.
DEFAULT_MODELS = ModelRouting(
    default=ModelChoice(provider="anthropic", model="claude-sonnet-5-5"),
    cheap=ModelChoice(provider="anthropic", model="claude-haiku-5-5"),
    fallback=(ModelChoice(provider="anthropic", model="claude-haiku-5-5"),),
)


class MemoryPolicy(PackModel):
    """How much memory of a user a prompt contains at most."""

    facts: Annotated[int, Field(ge=0, le=100)] = Field(
        default=30, description="Facts about the user; 0 switches memory off: no facts are extracted either."
    )
    episodes: Annotated[int, Field(ge=0, le=50)] = Field(default=5, description="Summaries of earlier conversations.")


class Agent(PackModel):
    """Tier 3 of a persona: models, tools and limits."""

    field_hints: ClassVar[Mapping[str, str]] = {"retrieval": _NOT_SUPPORTED}

    display_name: Name = Field(description="The agent's name.")
    instructions: LongText = Field(default="", description="How the agent works: when to search, how long answers are.")
    model_routing: ModelRouting = Field(
        default=DEFAULT_MODELS,
        description="Which model answers. By default Claude Sonnet; Claude Haiku in the background and as fallback.",
    )
    tools: tuple[Identifier, ...] = Field(
        default=(), description="Names of tools: files in `tools/`, or built-in tools such as `search_knowledge`."
    )
    memory_policy: MemoryPolicy = Field(
        default=MemoryPolicy(), description="How much memory of a user a prompt contains."
    )
    budget: AgentBudget = Field(default=AgentBudget(), description="The token budget of a prompt.")
    guardrails: tuple[Guardrail, ...] = Field(default=(), description="Rules of this agent.")
    max_tool_iterations: Annotated[int, Field(ge=0, le=20)] = Field(
        default=4, description="How often one turn may call the model again after tool calls."
    )
    prompt: Literal["system", "floating"] = Field(
        default="system", description="Where the instructions are: in the system prompt, or before the user's words."
    )
    modes: Annotated[tuple[AgentMode, ...], Field(min_length=1)] = Field(
        default=("clarify", "inform", "act"),
        description="What the agent may do with a request. Without `act`, calls that change something are refused.",
    )
    reminders: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        default=(), description="Sentences at the end of every prompt; together they must fit the reminder layer."
    )


class WhatsAppTemplate(PackModel):
    """A message that Meta has approved: WhatsApp takes nothing else a day after the user last wrote."""

    name: Annotated[str, field_formats.template_name] = Field(
        description="The template's name at Meta. Name and language together are unique within the channel."
    )
    id: Annotated[str, field_formats.template_id] = Field(
        default="", description="The template's id at Gupshup, which needs it."
    )
    language: Annotated[str, field_formats.template_language] = Field(
        default="",
        description="The language that Meta approved the template in, such as en_GB. `whatsapp_cloud` needs it.",
    )
    text: Annotated[str, Field(min_length=1, max_length=1_024)] = Field(
        description="The approved text with its placeholders: {{1}}, {{2}} and so on, or names such as {{day}}."
    )
    purpose: Literal["inbox", "reply", "question"] = Field(
        default="inbox",
        description="Who fills it in. `inbox`: people, in the inbox. `reply`: Parlour, with a reply, and people, too. "
        "`question`: Parlour, with a question; it has two quick-reply buttons, for yes and no, in this order. Without "
        "a template for questions, they use that for replies.",
    )


class WhatsAppChannel(PackModel):
    """A WhatsApp number: `gupshup` needs `app` and `source`, `whatsapp_cloud` needs `phone_number_id`."""

    provider: Literal["gupshup", "whatsapp_cloud"] = Field(description="Who connects the number to WhatsApp.")
    app: Annotated[str, field_formats.gupshup_app] | None = Field(
        default=None,
        description="The app's name at Gupshup. Messages are routed by it, so no other binding may use it.",
    )
    source: Annotated[str, field_formats.phone_number] | None = Field(
        default=None, description="The number itself at Gupshup: country code and number, digits in quotes."
    )
    phone_number_id: Annotated[str, field_formats.phone_number_id] | None = Field(
        default=None, description="The id (not the number) that Meta shows for the number, digits in quotes."
    )
    api_key: Identifier = Field(
        description="A name in the tenant's `secrets`: Gupshup's API key, or Meta's access token."
    )
    templates: Annotated[tuple[WhatsAppTemplate, ...], Field(max_length=100)] = Field(
        default=(), description="The approved messages for users who last wrote more than a day ago."
    )
    interim_seconds: Annotated[int, Field(ge=0, le=120)] = Field(
        default=DEFAULT_INTERIM_SECONDS,
        description="After how many seconds without a reply the user is told that the agent is still working "
        "(`still_working` of `replies`), to the next five seconds; 0: never.",
    )


class WebChannel(PackModel):
    """A host whose visitors reach this binding."""

    host: Annotated[str, field_formats.host] = Field(
        description="Host name of the page, without https://. Names below .localhost open on your own machine."
    )
    samples: tuple[ShortText, ...] = Field(default=(), description="Questions that a chat page and the console offer.")
    face: Annotated[str, Field(max_length=8)] = Field(
        default="", description="An emoji or up to two letters beside the name on chat pages."
    )
    colour: Annotated[str, field_formats.hex_colour] = Field(
        default="", description="The colour of buttons on chat pages, like '#0a7f6c'; its text is black or white."
    )
    embed_hosts: Annotated[tuple[EmbedHost, ...], Field(max_length=50)] = Field(
        default=(),
        description="The only hosts whose pages may embed this chat, over https; names below .localhost over http. "
        "See docs/embed.md.",
    )


class Channels(PackModel):
    """Where people reach a binding."""

    whatsapp: WhatsAppChannel | None = Field(default=None, description="A WhatsApp number.")
    web: WebChannel | None = Field(default=None, description="A web page.")


class Owner(PackModel):
    """The only person that a private door answers: give `phone`, or `issuer` and `subject`."""

    phone: Annotated[str, field_formats.international_phone] | None = Field(
        default=None, description="The owner's phone number with + and country code, in quotes."
    )
    issuer: ShortText | None = Field(default=None, description="The issuer of the member's sign-in token.")
    subject: ShortText | None = Field(default=None, description="The subject of the member's sign-in token.")


class Writes(PackModel):
    """What people who are not members may change; one word is for both fields."""

    anonymous: WriteRights | None = Field(default=None, description="What visitors may change: none, own or all.")
    verified: WriteRights | None = Field(default=None, description="The same for people whom a channel verified.")


def expand_writes(value: object) -> object:
    """Return a single word as the rights of everybody. Raises ValueError for a word that is none of the rights."""
    if not isinstance(value, str):
        return value
    right = field_formats.one_of(value, get_args(WriteRights.__value__))
    return {"anonymous": right, "verified": right}


type PerMinute = Annotated[int, Field(ge=1, le=100_000)]
type WritesSetting = Annotated[Writes, BeforeValidator(expand_writes, json_schema_input_type=WriteRights | Writes)]


class BindingLimits(PackModel):
    """How much a binding accepts; a limit that is left out has its default."""

    visitor_per_minute: PerMinute | None = Field(default=None, description="Messages of one visitor per minute.")
    address_per_minute: PerMinute | None = Field(
        default=None,
        description="Messages from one network address per minute; a twelfth as many new visitors may come from it, and"
        " a twenty-fourth as many streams may be open.",
    )
    binding_per_minute: PerMinute | None = Field(
        default=None, description="Messages of all visitors per minute: on the web, and as many on messaging channels."
    )
    new_visitors_per_minute: PerMinute | None = Field(default=None, description="New visitors per minute.")
    anonymous_share: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None,
        description="Part of the tenant's daily cap that unverified visitors may spend, from 0 to 1; a fifth of that"
        " for those of one network address.",
    )


type OpeningSpan = Annotated[str, field_formats.opening_span, AfterValidator(field_formats.opening_hours)]
type Minutes = Annotated[int, Field(ge=1, le=100_000)]


class OpeningHours(PackModel):
    """When people are on duty, in local times; a day that is left out is closed."""

    time_zone: Annotated[str, AfterValidator(field_formats.time_zone)] = Field(
        default="UTC", description="The time zone of the hours, such as Asia/Kolkata."
    )
    monday: tuple[OpeningSpan, ...] = Field(default=(), description="Spans on Monday, such as '09:00-18:00'.")
    tuesday: tuple[OpeningSpan, ...] = Field(default=(), description="Spans on Tuesday, such as '09:00-18:00'.")
    wednesday: tuple[OpeningSpan, ...] = Field(default=(), description="Spans on Wednesday, such as '09:00-18:00'.")
    thursday: tuple[OpeningSpan, ...] = Field(default=(), description="Spans on Thursday, such as '09:00-18:00'.")
    friday: tuple[OpeningSpan, ...] = Field(default=(), description="Spans on Friday, such as '09:00-18:00'.")
    saturday: tuple[OpeningSpan, ...] = Field(default=(), description="Spans on Saturday, such as '09:00-18:00'.")
    sunday: tuple[OpeningSpan, ...] = Field(default=(), description="Spans on Sunday, such as '09:00-18:00'.")


class ServiceTimes(PackModel):
    """How soon people answer, in minutes of opening hours; a time that is left out has no clock."""

    first_response_minutes: Minutes | None = Field(default=None, description="Until a person answers first.")
    resolution_minutes: Minutes | None = Field(default=None, description="Until it is handed back or closed.")
    waiting_minutes: Minutes | None = Field(
        default=None, description="Until the user is told that it takes longer, and the conversation is escalated."
    )
    hours: OpeningHours | None = Field(default=None, description="When people are on duty; without it always.")


class InboxSettings(PackModel):
    """How people answer the binding's conversations. With it, failures bring a conversation to the inbox."""

    words: dict[Language, Annotated[tuple[ShortText, ...], Field(max_length=50)]] = Field(
        default={}, description="Words and phrases by language that ask for a person, such as 'real person'."
    )
    service: ServiceTimes | None = Field(default=None, description="How soon people answer, and when they are there.")


class QueueSettings(PackModel):
    """What happens to a message that comes while a reply is under way."""

    mode: Literal["collect", "steer", "interrupt"] = Field(
        default="collect",
        description="collect: the next reply answers it; steer: the running one reads it before its next step; "
        "interrupt: it stops the running one.",
    )
    stop_words: dict[Language, Annotated[tuple[ShortText, ...], Field(max_length=50)]] = Field(
        default={},
        description="Messages that stop the running reply on messaging channels, by language, in place of the built-in "
        "ones; an empty list switches a language off.",
    )


class NotificationWebhook(PackModel):
    """An address that receives signed JSON for each event."""

    url: Annotated[str, Field(max_length=500)] = Field(
        description="An https address on one of the tenant's `tool_hosts`."
    )
    secret: Identifier = Field(
        description="A name in the tenant's `secrets`: the key of 32 characters or more that signs what is sent."
    )


class NotificationChatwoot(PackModel):
    """An inbox in Chatwoot that gets the conversations of Parlour's inbox with their messages."""

    url: Annotated[str, Field(max_length=500)] = Field(
        description="Where Chatwoot is: an https address on one of the tenant's `tool_hosts`, without a path."
    )
    account: Annotated[int, Field(ge=1)] = Field(description="The number of the account in Chatwoot.")
    inbox: Annotated[int, Field(ge=1)] = Field(description="The number of an inbox there, of the channel API.")
    token: Identifier = Field(description="A name in the tenant's `secrets`: the access token of a user in Chatwoot.")
    clearance: Level = Field(
        default=0,
        description="The highest level of a conversation whose texts Chatwoot gets; of others it gets a link.",
    )


class Notifications(PackModel):
    """Who is told that a conversation needs a person. Mails and webhooks hold no text of the user."""

    email: tuple[Annotated[str, field_formats.email_address], ...] = Field(
        default=(), description="Addresses that are told of conversations that nobody has."
    )
    roles: tuple[Literal["viewer", "editor", "admin"], ...] = Field(
        default=(), description="The same for members with one of these roles and an e-mail address."
    )
    webhook: NotificationWebhook | None = Field(default=None, description="A system that receives every event.")
    chatwoot: NotificationChatwoot | None = Field(
        default=None, description="An inbox in Chatwoot where people see the conversations. It gets every event."
    )
    events: tuple[Literal["opened", "said", "taken", "handed_back", "closed"], ...] = Field(
        default=("opened",),
        description="Of which events mails and the webhook tell. `opened` includes that it waits too long; `said`, "
        "what people write, is for the webhook only.",
    )


def expand_policy(value: object) -> object:
    """Return a policy as it is stored; an earlier format had true and false. Raises ValueError for other words."""
    if isinstance(value, bool):
        return "always" if value else "never"
    return value if isinstance(value, dict) else field_formats.one_of(value, get_args(PolicyWord))


PolicyWord = Literal["never", "writes", "always"]
type ApprovalPolicy = Annotated[PolicyWord | dict[str, JsonValue], BeforeValidator(expand_policy)]


class Binding(PackModel):
    """One deployable agent: who does which job with what, and where people reach it."""

    display_name: Name = Field(description="The name that the console and the chat page show.")
    human: Slug = Field(description="A file in `humans/`, without .yaml.")
    team: Slug = Field(description="A file in `teams/`, without .yaml.")
    agent: Slug = Field(description="A file in `agents/`, without .yaml.")
    door: Literal["private", "public", "distribution"] = Field(
        default="public", description="Who is answered: everybody, or with `private` the `owner` only."
    )
    clearance: Level = Field(
        default=0, description="What people who come in here may see, unless their own clearance differs."
    )
    greeting: Annotated[str, Field(max_length=1_000)] = Field(default="", description="What a web visitor reads first.")
    channels: Channels = Field(default=Channels(), description="Where people reach the agent.")
    owner: Owner | None = Field(default=None, description="Whom a private door answers.")
    writes: WritesSetting = Field(
        default=Writes(),
        description="What people may change: none, own (what they created) or all. Members: by their role.",
    )
    limits: BindingLimits = Field(default=BindingLimits(), description="How many messages the binding accepts.")
    allowed_handoffs: tuple[Slug, ...] = Field(
        default=(), description="Bindings or teams that this binding may hand a conversation to, besides its team's."
    )
    inbox: InboxSettings = Field(
        default=InboxSettings(), description="Who answers when a person is asked for, and how soon."
    )
    queue: QueueSettings = Field(
        default=QueueSettings(),
        description="Whether a message waits for the reply that is under way, joins or ends it, and words that end it.",
    )
    notifications: Notifications = Field(
        default=Notifications(), description="Who is told that a conversation needs a person."
    )
    tool_writes: dict[Identifier, WritesSetting] = Field(
        default={}, description="Other rights for single tools of the agent, by tool name."
    )
    needs_approval: ApprovalPolicy = Field(
        default="never",
        description="Which calls of any tool ask a person first: never, writes, always, or those that match a schema.",
    )


class Tool(PackModel):
    """Something that a model may call: an address, or a function of the pack."""

    description: Annotated[str, Field(min_length=1, max_length=2_000)] = Field(
        description="What the model reads: what the tool does, and when to use it."
    )
    parameters: dict[str, JsonValue] = Field(
        alias="schema",  # pydantic's models have a `schema` of their own
        description="The JSON Schema of the arguments: type object, properties, required.",
    )
    endpoint: str = Field(
        description="An https address on one of the tenant's `tool_hosts`, `function:MODULE.NAME` for a function of "
        "the pack, or `python:NAME` for a built-in tool."
    )
    auth: Identifier | None = Field(
        default=None, description="A name in the tenant's `secrets`, sent as a bearer token."
    )
    writes: bool = Field(default=False, description="Whether a call changes something. Such a call runs once.")
    idempotent: bool = Field(default=False, description="Whether the endpoint ignores a second call with the same key.")
    heavy: bool = Field(default=False, description="Whether a call takes long; its result arrives as a later message.")
    needs_approval: ApprovalPolicy = Field(
        default="never",
        description="Which calls ask a person first: never, writes, always, or those that match a schema.",
    )
    approver: Literal["user", "viewer", "editor", "admin"] = Field(
        default="user", description="Who is asked: the user of the conversation, or members with this role."
    )
    approval_hours: Annotated[int, Field(ge=1, le=720)] = Field(
        default=24, description="Hours until an unanswered question expires; nothing is done then."
    )
    editable: bool = Field(
        default=False,
        description="Whether the user who is asked may change the arguments, which are then checked and asked about "
        "again. Members may in any case.",
    )
    trusted_results: bool = Field(
        default=False,
        description="Whether nobody outside of the tenant can write what the tool answers. Otherwise, while a "
        "conversation shows its answers, calls that change more than the user's own records ask first.",
    )
    lookup: str | None = Field(
        default=None, description="An address with {key} that tells what became of a call whose answer was lost."
    )
    timeout_seconds: int | None = Field(default=None, description="Seconds to wait for an answer.")


class Property(PackModel):
    """A property of a record. Money is a number with a `unit`; a date is ISO text."""

    type: Literal["text", "number", "integer", "boolean", "date", "choice"] = Field(
        description="The type of the values."
    )
    label: ShortText = Field(default="", description="The name that people read; by default made from the key.")
    description: ShortText = Field(default="", description="What the property means; models read it.")
    unit: Annotated[str, Field(max_length=20)] = Field(
        default="", description="The unit of a number, such as GBP or mm."
    )
    required: bool = Field(default=False, description="Whether every record must have it.")
    choices: tuple[Name, ...] = Field(default=(), description="The allowed values, for the type choice only.")


class RagSettings(PackModel):
    """How records of a type are searched, summarised and talked about."""

    field_hints: ClassVar[Mapping[str, str]] = {
        "coalesce": "use `coalesce_seconds`",
        "status_property": "use the list `status_properties`",
        "color": "use `colour`",
        "summary_interval": _NOT_SUPPORTED,
    }

    semantic: Annotated[str, Field(max_length=2_000)] = Field(
        default="",
        description="Template of the text that is searched, with {{name}}, {{key}}, {{type}} and properties.",
    )
    context: Literal["auto", "off"] = Field(default="auto", description="Whether records are part of search results.")
    children: Literal["auto", "off"] = Field(
        default="off", description="Whether a change of a child record makes the Pulse stale."
    )
    pulse: Literal["auto", "off"] = Field(
        default="off", description="Whether each record has a Pulse: a cited summary."
    )
    pulse_prompt: LongText = Field(
        default="", description="What the Pulse says; by default made from template and properties."
    )
    pulse_model: Literal["", "default", "cheap"] = Field(
        default="", description="The model of the agent's `model_routing` that writes Pulses."
    )
    coalesce_seconds: Annotated[int, Field(ge=10, le=120)] = Field(
        default=30, description="Seconds to wait for further changes before a Pulse is written."
    )
    status_properties: tuple[Identifier, ...] = Field(default=(), description="Properties whose values are counted.")
    tracked_properties: tuple[Identifier, ...] = Field(
        default=(), description="The only properties whose change makes the Pulse stale; by default all."
    )
    chat_visibility: Literal["private", "shared", "role_gated"] = Field(
        default="private", description="Who may read conversations about a record."
    )
    chat_agent: Slug | None = Field(default=None, description="The agent that talks about these records.")
    budget: (
        Annotated[BudgetOverride, BeforeValidator(expand_number, json_schema_input_type=int | BudgetOverride)] | None
    ) = Field(
        default=None,
        description="The budget of conversations about a record: a number, or what differs from the agent's.",
    )
    classification: Literal["public", "internal", "confidential", "restricted"] = Field(
        default="public", description="The lowest level of records of this type."
    )
    icon: Annotated[str, field_formats.icon] = Field(default="", description="An icon's name in the console's set.")
    colour: Annotated[str, field_formats.colour] = Field(
        default="", description="A colour's name, or a code like '#0a7f6c'."
    )
    link: Annotated[str, field_formats.link] = Field(
        default="", description="Where a record opens: an https address or a path, with {{key}} and {{type}}."
    )


class EntityType(PackModel):
    """A kind of business record."""

    display_name: Name = Field(description="The name of one such record: Order.")
    properties: dict[Identifier, Property] = Field(default={}, description="What is known of a record, by key.")
    rag: RagSettings = Field(
        default=RagSettings(), description="How records of this type are searched, summarised and talked about."
    )


class RecordLink(PackModel):
    """A typed link from a record to another."""

    relation: Identifier = Field(description="What the link means, such as belongs_to.")
    to: RecordReference = Field(description="The other record, as type/key.")


class RecordSource(PackModel):
    """Where something that a record says was read."""

    title: Annotated[str, Field(min_length=1, max_length=300)] = Field(description="The title of the source.")
    locator: ShortText = Field(default="", description="Where in the source: a clause, a section.")
    page: int | str | None = Field(default=None, description="The page in the source.")


class Record(PackModel):
    """A business record with its links."""

    key: RecordKey = Field(description="The record's own number or code.")
    name: Annotated[str, Field(min_length=1, max_length=300)] = Field(description="The record's name.")
    classification: Level = Field(default=0, description="Who may see it: people with this clearance or a higher one.")
    project: RecordReference | None = Field(default=None, description="The project it belongs to, as project/key.")
    properties: dict[Identifier, Scalar] = Field(default={}, description="Values by the keys of its type's properties.")
    sources: tuple[RecordSource, ...] = Field(default=(), description="Where its values were read.")
    links: tuple[RecordLink, ...] = Field(default=(), description="Links to other records.")


HEADER_FIELDS = ("date", "author", "written_by_others")
"""Fields of a document's header that its row has among the metadata."""


class DocumentHeader(PackModel):
    """What is known about a document besides its text."""

    title: Annotated[str, Field(min_length=1, max_length=300)] = Field(description="The title; citations show it.")
    kind: Identifier = Field(default="document", description="The kind of document, such as price_list.")
    entity: RecordReference | None = Field(default=None, description="The record it belongs to, as type/key.")
    classification: Level = Field(default=0, description="Who may see it: people with this clearance or a higher one.")
    date: Annotated[str, AfterValidator(field_formats.iso_date)] = Field(
        default="", description="Its date, as 2026-02-17 or 2026-02-17T09:30."
    )
    author: ShortText = Field(default="", description="Who wrote it.")
    written_by_others: bool = Field(
        default=False,
        description="Whether others wrote it: after reading it, calls that change something ask a person.",
    )
    metadata: dict[Identifier, Scalar] = Field(default={}, description="Anything else that is known about it, by key.")


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
