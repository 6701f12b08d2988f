"""Whether the files of a pack agree with each other: every name used is there, nothing is claimed twice."""

from collections.abc import Collection, Iterable, Iterator

from parlour.infra.errors import PackProblem
from parlour.knowledge.records.snapshots import placeholders
from parlour.packs import facts, prompts
from parlour.packs.format import Agent, Binding, EntityType, Guardrail, Human, Team, Tool, WhatsApp
from parlour.packs.locate import Located, Place
from parlour.packs.reading import TENANT, Reading
from parlour.packs.tools import definition_of
from parlour.text.suggestions import listed, meant
from parlour.tools import definition

_NUMBERS = (
    ("app", True, "gupshup"),
    ("source", True, "gupshup"),
    ("phone_number_id", True, "whatsapp_cloud"),
)
_TEMPLATES = (
    ("template.id", True, "gupshup"),
    ("template.name", True, "whatsapp_cloud"),
    ("template.language", True, "whatsapp_cloud"),
    ("template.parameter", False, "whatsapp_cloud"),
)
"""Fields of a WhatsApp number: which provider's they are, and whether it needs them."""


def problems(reading: Reading, endpoints: Collection[str]) -> Iterator[PackProblem]:
    """Everything that is wrong between files."""
    yield from _tenant(reading)
    yield from _humans(reading)
    yield from _teams(reading)
    yield from _agents(reading, {endpoint.removeprefix(definition.BUILT_IN) for endpoint in endpoints})
    yield from _bindings(reading)
    yield from _routing_keys(reading)
    yield from _tools(reading, endpoints)
    yield from _entity_types(reading)
    yield from facts.problems(reading)


def _tenant(reading: Reading) -> Iterator[PackProblem]:
    tenant = reading.tenant()
    if tenant is None:
        return
    for name, reference in tenant.secrets.items():
        if reference.split("/")[-3:-1] != ["tenants", tenant.slug]:
            message = f"must end with tenants/{tenant.slug}/<name>: a tenant reads its own secrets only"
            yield reading.located[TENANT].problem(("secrets", name), message)
    yield from _repeated(reading.located[TENANT], ("tool_hosts",), tenant.tool_hosts)


def _humans(reading: Reading) -> Iterator[PackProblem]:
    for _, human, at in reading.each("humans", Human):
        yield from _repeated(at, ("languages",), human.languages)
        yield from _guardrails(at, human.guardrails)


def _teams(reading: Reading) -> Iterator[PackProblem]:
    for name, team, at in reading.each("teams", Team):
        yield from _all_known(at, ("members",), "human", team.members, reading.names("humans"))
        yield from _all_known(
            at, ("allowed_handoffs",), "other team", team.allowed_handoffs, reading.names("teams") - {name}
        )
        yield from _guardrails(at, team.guardrails)


def _agents(reading: Reading, built_in: Collection[str]) -> Iterator[PackProblem]:
    for _, agent, at in reading.each("agents", Agent):
        yield from _all_known(at, ("tools",), "tool", agent.tools, reading.names("tools").union(built_in))
        yield from _guardrails(at, agent.guardrails)
        yield from _repeated(at, ("modes",), agent.modes)
        if found := prompts.problem(prompts.settings(agent.budget)):
            yield at.problem(*found)


def _bindings(reading: Reading) -> Iterator[PackProblem]:
    tenant = reading.tenant()
    for _, binding, at in reading.each("bindings", Binding):
        yield from _known(at, ("human",), "human", binding.human, reading.names("humans"))
        yield from _known(at, ("team",), "team", binding.team, reading.names("teams"))
        yield from _known(at, ("agent",), "agent", binding.agent, reading.names("agents"))
        whatsapp = binding.channels.whatsapp
        if whatsapp and tenant:
            place = ("channels", "whatsapp", "api_key")
            yield from _known(at, place, f"secret in {TENANT}", whatsapp.api_key, tenant.secrets)
        if whatsapp:
            yield from _whatsapp(at, whatsapp)


def _whatsapp(at: Located, number: WhatsApp) -> Iterator[PackProblem]:
    """Every provider knows a number, and a template, in its own way."""
    place: Place = ("channels", "whatsapp")
    for name, needed, provider in (*_NUMBERS, *_TEMPLATES):
        part = number.template if name.startswith("template.") else number
        if part is None:
            continue
        field = name.rpartition(".")[2]
        given = getattr(part, field)
        if given and provider != number.provider:
            yield at.problem((*place, *name.split(".")), f"belongs to the provider {provider}, not {number.provider}")
        elif needed and not given and provider == number.provider:
            yield at.problem((*place, *name.split(".")), f"is missing: the provider {provider} needs it")


def _routing_keys(reading: Reading) -> Iterator[PackProblem]:
    """Two bindings cannot answer the same WhatsApp number or the same host."""
    taken: dict[tuple[str, str], str] = {}
    for _, binding, at in reading.each("bindings", Binding):
        whatsapp, web = binding.channels.whatsapp, binding.channels.web
        claims = [(("channels", "whatsapp", "app"), whatsapp.app)] if whatsapp and whatsapp.app else []
        if whatsapp and whatsapp.phone_number_id:
            claims.append((("channels", "whatsapp", "phone_number_id"), whatsapp.phone_number_id))
        claims += [(("channels", "web", "host"), web.host)] if web else []
        for place, key in claims:
            holder = taken.setdefault((place[-1], key), at.file)
            if holder != at.file:
                yield at.problem(place, f"'{key}' already leads to {holder}")


def _tools(reading: Reading, endpoints: Collection[str]) -> Iterator[PackProblem]:
    tenant = reading.tenant()
    for name, tool, at in reading.each("tools", Tool):
        hosts = tenant.tool_hosts if tenant else ()
        for field, message in definition.problems(definition_of(name, tool, hosts)):
            yield at.problem((field,), message)
        for field, address in (("endpoint", tool.endpoint), ("lookup", tool.lookup or "")):
            if address.startswith(definition.BUILT_IN):
                yield from _known(at, (field,), "endpoint", address, endpoints)
        if tool.auth and tenant:
            yield from _known(at, ("auth",), f"secret in {TENANT}", tool.auth, tenant.secrets)


def _entity_types(reading: Reading) -> Iterator[PackProblem]:
    for _, kind, at in reading.each("entity_types", EntityType):
        for name, one in kind.properties.items():
            if (one.type == "choice") != bool(one.choices):
                yield at.problem(("properties", name), "needs `choices` exactly when its type is choice")
        yield from _all_known(at, ("rag", "status_properties"), "property", kind.rag.status_properties, kind.properties)
        yield from _all_known(
            at, ("rag", "tracked_properties"), "property", kind.rag.tracked_properties, kind.properties
        )
        if kind.rag.chat_agent:
            yield from _known(at, ("rag", "chat_agent"), "agent", kind.rag.chat_agent, reading.names("agents"))
        yield from _own_budget(reading, kind, at)
        for name in sorted(placeholders(kind.rag.semantic)):
            yield from _known(at, ("rag", "semantic"), "property", name, kind.properties)


def _own_budget(reading: Reading, kind: EntityType, at: Located) -> Iterator[PackProblem]:
    """What a kind says otherwise must make sense over the budget of every agent that has a sound one itself."""
    given = [prompts.settings(agent.budget) for _, agent, _ in reading.each("agents", Agent)]
    sound = [one for one in given if prompts.problem(one) is None]
    own = prompts.settings(kind.rag.budget) if kind.rag.budget else {}
    if found := next((wrong for one in sound or [{}] if (wrong := prompts.problem(one, own))), None):
        yield at.problem(("rag", *found[0]), found[1])


def _guardrails(at: Located, rules: Iterable[Guardrail]) -> Iterator[PackProblem]:
    seen: set[str] = set()
    for number, rule in enumerate(rules):
        if rule.id in seen:
            yield at.problem(("guardrails", number, "id"), f"'{rule.id}' is here twice; give every rule its own id")
        seen.add(rule.id)


def _all_known(
    at: Located, place: Place, what: str, names: tuple[str, ...], options: Collection[str]
) -> Iterator[PackProblem]:
    for number, name in enumerate(names):
        yield from _known(at, (*place, number), what, name, options)
    yield from _repeated(at, place, names)


def _known(at: Located, place: Place, what: str, name: str, options: Collection[str]) -> Iterator[PackProblem]:
    if name not in options:
        yield at.problem(place, f"there is no {what} '{name}'{meant(name, options)} (there are: {listed(options)})")


def _repeated(at: Located, place: Place, names: tuple[str, ...]) -> Iterator[PackProblem]:
    for number, name in enumerate(names):
        if name in names[:number]:
            yield at.problem((*place, number), f"'{name}' is here twice")
