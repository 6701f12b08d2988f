"""Whether the files of a pack agree with each other: every name used is there, nothing is claimed twice."""

from collections.abc import Collection, Iterable, Iterator

from parlour.infra.errors import PackProblem
from parlour.knowledge.snapshots import placeholders
from parlour.packs import facts
from parlour.packs.format import Agent, Binding, EntityType, Guardrail, Human, Team, Tool
from parlour.packs.locate import Located, Place
from parlour.packs.reading import TENANT, Reading
from parlour.packs.spelling import listed, meant
from parlour.packs.tools import definition_of
from parlour.tools import definition


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


def _routing_keys(reading: Reading) -> Iterator[PackProblem]:
    """Two bindings cannot answer the same WhatsApp app or the same host."""
    taken: dict[tuple[str, str], str] = {}
    for _, binding, at in reading.each("bindings", Binding):
        whatsapp, web = binding.channels.whatsapp, binding.channels.web
        claims = [(("channels", "whatsapp", "app"), whatsapp.app)] if whatsapp else []
        claims += [(("channels", "web", "host"), web.host)] if web else []
        for place, key in claims:
            holder = taken.setdefault((place[-1], key), at.file)
            if holder != at.file:
                yield at.problem(place, f"'{key}' already leads to {holder}")


def _tools(reading: Reading, endpoints: Collection[str]) -> Iterator[PackProblem]:
    tenant = reading.tenant()
    for name, tool, at in reading.each("tools", Tool):
        for field, message in definition.problems(definition_of(name, tool)):
            yield at.problem((field,), message)
        yield from _known(at, ("endpoint",), "endpoint", tool.endpoint, endpoints)
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
        for name in sorted(placeholders(kind.rag.semantic)):
            yield from _known(at, ("rag", "semantic"), "property", name, kind.properties)


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
