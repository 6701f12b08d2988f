"""Whether the files of a pack agree with each other: every name used is there, nothing is claimed twice.

Files with problems of their own are checked, too. Nothing is compared with a value that is wrong by itself.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from parlour.channels import templates
from parlour.conversations.handoff_rules import HAND_OFF
from parlour.infra.errors import PackProblem
from parlour.models.model_routing import find_routing_problems
from parlour.packs import prompt_settings, record_checks, scene_checks
from parlour.packs.format import (
    Agent,
    Binding,
    EntityType,
    Guardrail,
    Human,
    Notifications,
    Team,
    Tool,
    WhatsAppChannel,
)
from parlour.packs.pack_parser import TENANT_FILE, ParsedPack
from parlour.packs.serialization import to_json_value
from parlour.packs.source_positions import FieldPath, ParsedYaml
from parlour.packs.tool_definitions import to_tool_definition
from parlour.records.snapshots import placeholders
from parlour.text.spelling_suggestions import did_you_mean, list_options
from parlour.tools import tool_definition
from parlour.tools.tool_definition import host_of

#: Fields of a WhatsApp number, by the provider that needs them; the other has none of them.
_NUMBER_FIELDS = (("app", "gupshup"), ("source", "gupshup"), ("phone_number_id", "whatsapp_cloud"))

_TOOL_ADDRESSES = ("endpoint", "lookup")
_TOOL_FIELD_DEPENDS_ON = {"lookup": "endpoint", "timeout_seconds": "heavy"}
"""The other field of a tool that a field is checked against."""


def find_reference_problems(reading: ParsedPack, endpoints: Collection[str]) -> Iterator[PackProblem]:
    """Everything that is wrong between files."""
    yield from _check_tenant(reading)
    yield from _check_humans(reading)
    yield from _check_teams(reading)
    built_in = {endpoint.removeprefix(tool_definition.BUILTIN_SCHEME) for endpoint in endpoints}
    yield from _check_agents(reading, built_in)
    yield from _check_bindings(reading)
    yield from _check_routing_keys(reading)
    yield from _check_tools(reading, endpoints)
    yield from _check_entity_types(reading)
    yield from record_checks.find_record_problems(reading)
    yield from scene_checks.find_scene_problems(reading, {*built_in, HAND_OFF})


def _check_tenant(reading: ParsedPack) -> Iterator[PackProblem]:
    tenant = reading.get_tenant()
    if tenant is None:
        return
    for name, reference in tenant.secrets.items():
        if tenant.slug and reference.split("/")[-3:-1] != ["tenants", tenant.slug]:
            message = f"must end with tenants/{tenant.slug}/<name>: a tenant reads its own secrets only"
            yield reading.yaml_by_file[TENANT_FILE].problem_at(("secrets", name), message)
    yield from _check_duplicates(reading.yaml_by_file[TENANT_FILE], ("tool_hosts",), tenant.tool_hosts)
    yield from _check_duplicates(reading.yaml_by_file[TENANT_FILE], ("link_hosts",), tenant.link_hosts)
    yield from _check_duplicates(reading.yaml_by_file[TENANT_FILE], ("phone_roles",), tenant.phone_roles)


def _check_humans(reading: ParsedPack) -> Iterator[PackProblem]:
    for _, human, at in reading.iterate_models("humans", Human):
        yield from _check_duplicates(at, ("languages",), human.languages)
        yield from _check_guardrails(at, human.guardrails)


def _check_teams(reading: ParsedPack) -> Iterator[PackProblem]:
    for _, team, at in reading.iterate_models("teams", Team):
        yield from _check_guardrails(at, team.guardrails)
        yield from _check_handoffs(reading, at, team.allowed_handoffs)


def _check_handoffs(reading: ParsedPack, at: ParsedYaml, allowed: tuple[str, ...]) -> Iterator[PackProblem]:
    known = {*reading.list_names("bindings"), *reading.list_names("teams")}
    yield from _check_names(at, ("allowed_handoffs",), "binding or team", allowed, known)


def _check_agents(reading: ParsedPack, built_in: Collection[str]) -> Iterator[PackProblem]:
    for _, agent, at in reading.iterate_models("agents", Agent):
        yield from _check_names(at, ("tools",), "tool", agent.tools, reading.list_names("tools").union(built_in))
        yield from _check_guardrails(at, agent.guardrails)
        yield from _check_duplicates(at, ("modes",), agent.modes)
        routing = to_json_value(agent.model_routing)
        if isinstance(routing, dict) and not reading.has_problem(at.file, "model_routing"):
            for problem in find_routing_problems(routing):
                yield at.problem_at(("model_routing", problem.key), problem.message)
        if reading.has_problem(at.file, "budget"):
            continue
        if found := prompt_settings.find_budget_problem(prompt_settings.budget_settings(agent.budget)):
            yield at.problem_at(*found)


def _check_bindings(reading: ParsedPack) -> Iterator[PackProblem]:
    secrets = _list_secrets(reading)
    for _, binding, at in reading.iterate_models("bindings", Binding):
        yield from _check_name(at, ("human",), "human", binding.human, reading.list_names("humans"))
        yield from _check_name(at, ("team",), "team", binding.team, reading.list_names("teams"))
        yield from _check_name(at, ("agent",), "agent", binding.agent, reading.list_names("agents"))
        yield from _check_access(reading, binding, at)
        yield from _check_handoffs(reading, at, binding.allowed_handoffs)
        whatsapp = binding.channels.whatsapp
        if whatsapp:
            place = ("channels", "whatsapp", "api_key")
            yield from _check_secret(at, place, whatsapp.api_key, secrets)
        if whatsapp and not reading.has_problem(at.file, "channels.whatsapp.provider"):
            yield from _check_whatsapp(at, whatsapp)
        yield from _check_notifications(reading, at, binding.notifications, secrets)


def _check_notifications(
    reading: ParsedPack, at: ParsedYaml, notifications: Notifications, secrets: Mapping[str, str] | None
) -> Iterator[PackProblem]:
    hosts = _list_tool_hosts(reading)
    if webhook := notifications.webhook:
        yield from _check_secret(at, ("notifications", "webhook", "secret"), webhook.secret, secrets)
        if message := _webhook_problem(webhook.url, hosts):
            yield at.problem_at(("notifications", "webhook", "url"), message)
    if chatwoot := notifications.chatwoot:
        yield from _check_secret(at, ("notifications", "chatwoot", "token"), chatwoot.token, secrets)
        message = _webhook_problem(chatwoot.url, hosts)
        if not message and urlsplit(chatwoot.url)[2:] not in {("", "", ""), ("/", "", "")}:
            message = "give the address without a path, like 'https://chat.example.com'"
        if message:
            yield at.problem_at(("notifications", "chatwoot", "url"), message)


def _list_secrets(reading: ParsedPack) -> Mapping[str, str] | None:
    """Return the secrets by name; None when their part of the tenant's file cannot be read."""
    tenant = reading.get_tenant()
    if tenant is None or (not tenant.secrets and reading.has_problem(TENANT_FILE, "secrets")):
        return None
    return tenant.secrets


def _list_tool_hosts(reading: ParsedPack) -> tuple[str, ...] | None:
    """Return the hosts of tools; None when one of them is wrong, and may be the one that is meant."""
    tenant = reading.get_tenant()
    return None if tenant is None or reading.has_problem(TENANT_FILE, "tool_hosts") else tenant.tool_hosts


def _webhook_problem(url: str, hosts: Collection[str] | None) -> str | None:
    """Return what is wrong with a webhook's address: it leads to a host of the tenant."""
    try:
        parts, host = urlsplit(url), host_of(url)
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        return "must be an https address, like 'https://hooks.example.com/parlour'"
    is_allowed = hosts is None or host in hosts
    return None if is_allowed else f"the host {host} is not in tenant.yaml's tool_hosts: add it there"


def _check_access(reading: ParsedPack, binding: Binding, at: ParsedYaml) -> Iterator[PackProblem]:
    """Check that a private door has one owner, and that rights to write are given to tools that the agent has."""
    owner = binding.owner
    if binding.door == "private" and owner is None:
        yield at.problem_at(("door",), "private: name its `owner`, or nobody is answered")
    if owner and bool(owner.phone) == bool(owner.issuer or owner.subject):
        yield at.problem_at(("owner",), "give `phone`, or `issuer` and `subject` of a member")
    elif owner and bool(owner.issuer) != bool(owner.subject):
        yield at.problem_at(("owner",), "give `issuer` and `subject` together")
    agent = reading.get_models("agents", Agent).get(binding.agent)
    if agent and not reading.has_problem(f"agents/{binding.agent}.yaml", "tools"):
        for tool in binding.tool_writes:
            yield from _check_name(at, ("tool_writes", tool), "tool of the agent", tool, agent.tools)
    for message in tool_definition.find_policy_problems(binding.needs_approval):
        yield at.problem_at(("needs_approval",), message)


def _check_whatsapp(at: ParsedYaml, number: WhatsAppChannel) -> Iterator[PackProblem]:
    """Every provider knows a number, and a template, in its own way."""
    place: FieldPath = ("channels", "whatsapp")
    for name, owner in _NUMBER_FIELDS:
        yield from _check_provider_field(at, (*place, name), getattr(number, name), owner, number.provider)
    taken: set[tuple[str, str]] = set()
    for index, template in enumerate(number.templates):
        entry: FieldPath = (*place, "templates", index)
        yield from _check_provider_field(at, (*entry, "id"), template.id, "gupshup", number.provider)
        if number.provider == "whatsapp_cloud" and not template.language:
            yield at.problem_at((*entry, "language"), "is missing: the provider whatsapp_cloud needs it")
        if problem := templates.find_text_problem(template.text, template.purpose):
            yield at.problem_at((*entry, "text"), problem)
        if (template.name, template.language) in taken:
            yield at.problem_at((*entry, "name"), "is already the name of a template in this language")
        taken.add((template.name, template.language))
    for purpose in ("reply", "question"):
        same = [index for index, template in enumerate(number.templates) if template.purpose == purpose]
        for index in same[1:]:
            yield at.problem_at(
                (*place, "templates", index, "purpose"), f"only one template of a channel is for `{purpose}`"
            )


def _check_provider_field(
    at: ParsedYaml, place: FieldPath, value: str | None, owner: str, provider: str
) -> Iterator[PackProblem]:
    """Check that a field that one provider needs is given there, and nowhere else."""
    if value and owner != provider:
        yield at.problem_at(place, f"belongs to the provider {owner}, not {provider}")
    elif not value and owner == provider:
        yield at.problem_at(place, f"is missing: the provider {provider} needs it")


def _check_routing_keys(reading: ParsedPack) -> Iterator[PackProblem]:
    """Two bindings cannot answer the same WhatsApp number or the same host."""
    taken: dict[tuple[str, str], str] = {}
    for _, binding, at in reading.iterate_models("bindings", Binding):
        whatsapp, web = binding.channels.whatsapp, binding.channels.web
        claims = [(("channels", "whatsapp", "app"), whatsapp.app)] if whatsapp and whatsapp.app else []
        if whatsapp and whatsapp.phone_number_id:
            claims.append((("channels", "whatsapp", "phone_number_id"), whatsapp.phone_number_id))
        claims += [(("channels", "web", "host"), web.host)] if web and web.host else []
        for place, key in claims:
            holder = taken.setdefault((place[-1], key), at.file)
            if holder != at.file:
                yield at.problem_at(place, f"'{key}' is already used by {holder}")


def _check_tools(reading: ParsedPack, endpoints: Collection[str]) -> Iterator[PackProblem]:
    secrets, hosts = _list_secrets(reading), _list_tool_hosts(reading)
    for name, tool, at in reading.iterate_models("tools", Tool):
        if name == HAND_OFF:
            yield at.problem_at((), "is Parlour's own name: agents with `allowed_handoffs` have that tool; rename it")
        for field, message in tool_definition.find_problems(to_tool_definition(name, tool, hosts or ())):
            is_known = hosts is not None or field not in _TOOL_ADDRESSES
            if is_known and not reading.has_problem(at.file, _TOOL_FIELD_DEPENDS_ON.get(field, field)):
                yield at.problem_at((field,), message)
        for field, address in zip(_TOOL_ADDRESSES, (tool.endpoint, tool.lookup or ""), strict=True):
            if address.startswith(tool_definition.BUILTIN_SCHEME):
                yield from _check_name(at, (field,), "endpoint", address, endpoints)
        if tool.auth:
            yield from _check_secret(at, ("auth",), tool.auth, secrets)


def _check_entity_types(reading: ParsedPack) -> Iterator[PackProblem]:
    for _, kind, at in reading.iterate_models("entity_types", EntityType):
        for name, one in kind.properties.items():
            if record_checks.lacks_choices(one):
                yield at.problem_at(("properties", name), "must have `choices` if and only if its type is choice")
        if kind.rag.chat_agent:
            yield from _check_name(
                at, ("rag", "chat_agent"), "agent", kind.rag.chat_agent, reading.list_names("agents")
            )
        yield from _check_type_budget(reading, kind, at)
        if kind.properties or not reading.has_problem(at.file, "properties"):
            yield from _check_property_names(kind, at)


def _check_property_names(kind: EntityType, at: ParsedYaml) -> Iterator[PackProblem]:
    rag, known = kind.rag, kind.properties
    yield from _check_names(at, ("rag", "status_properties"), "property", rag.status_properties, known)
    yield from _check_names(at, ("rag", "tracked_properties"), "property", rag.tracked_properties, known)
    for name in sorted(placeholders(rag.semantic)):
        yield from _check_name(at, ("rag", "semantic"), "property", name, known)


def _check_type_budget(reading: ParsedPack, kind: EntityType, at: ParsedYaml) -> Iterator[PackProblem]:
    """Yield the problems of a type's budget over the budget of every agent that is valid by itself."""
    if reading.has_problem(at.file, "rag.budget"):
        return
    given = [
        prompt_settings.budget_settings(agent.budget)
        for _, agent, there in reading.iterate_models("agents", Agent)
        if not reading.has_problem(there.file, "budget")
    ]
    sound = [one for one in given if prompt_settings.find_budget_problem(one) is None]
    own = prompt_settings.budget_settings(kind.rag.budget) if kind.rag.budget else {}
    if found := next(
        (wrong for one in sound or [{}] if (wrong := prompt_settings.find_budget_problem(one, own))), None
    ):
        yield at.problem_at(("rag", *found[0]), found[1])


def _check_guardrails(at: ParsedYaml, rules: Iterable[Guardrail]) -> Iterator[PackProblem]:
    seen: set[str] = set()
    for number, rule in enumerate(rules):
        if rule.id in seen:
            yield at.problem_at(("guardrails", number, "id"), f"'{rule.id}' is used twice; give every rule its own id")
        seen.add(rule.id)


def _check_secret(
    at: ParsedYaml, place: FieldPath, name: str, secrets: Mapping[str, str] | None
) -> Iterator[PackProblem]:
    if secrets is not None:
        yield from _check_name(at, place, f"secret in {TENANT_FILE}", name, secrets)


def _check_names(
    at: ParsedYaml, place: FieldPath, what: str, names: tuple[str, ...], options: Collection[str]
) -> Iterator[PackProblem]:
    for number, name in enumerate(names):
        yield from _check_name(at, (*place, number), what, name, options)
    yield from _check_duplicates(at, place, names)


def _check_name(
    at: ParsedYaml, place: FieldPath, what: str, name: str, options: Collection[str]
) -> Iterator[PackProblem]:
    if name not in options:
        yield at.problem_at(
            place, f"unknown {what} '{name}'{did_you_mean(name, options)} (available: {list_options(options)})"
        )


def _check_duplicates(at: ParsedYaml, place: FieldPath, names: tuple[str, ...]) -> Iterator[PackProblem]:
    for number, name in enumerate(names):
        if name in names[:number]:
            yield at.problem_at((*place, number), f"'{name}' is listed twice")
