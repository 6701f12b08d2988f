"""A folder of files to a valid Pack, or to every problem in it. Pure: nothing is read, nothing is written."""

from collections.abc import Collection, Mapping

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.packs import agree, built_in, reading
from parlour.packs.format import Agent, Binding, EntityType, Human, Pack, Record, Team, Tool
from parlour.packs.reading import Reading


def validate(files: Mapping[str, str], endpoints: Collection[str] = built_in.ENDPOINTS) -> Pack:
    """The pack that `files` (path below the pack's folder, with /, -> text) describe.

    An agent may name a built-in tool without more ado, and a tool of the pack's own may have one's endpoint.
    Raises InvalidPack with all that is wrong at once, in the order of files and lines: YAML that cannot be
    read, unknown fields and the nearest right one, names that lead nowhere and those that would.
    """
    found = reading.read(files)
    problems = [*found.problems, *agree.problems(found, endpoints)]
    tenant = found.tenant()
    if problems or tenant is None:
        raise InvalidPack(sorted(problems, key=_order))
    return Pack(
        tenant=tenant,
        humans=found.all("humans", Human),
        teams=found.all("teams", Team),
        agents=found.all("agents", Agent),
        bindings=found.all("bindings", Binding),
        tools=found.all("tools", Tool),
        entity_types=found.all("entity_types", EntityType),
        records=_records(found),
        documents=found.documents(),
        located=found.located,
    )


def _records(found: Reading) -> dict[str, Record]:
    by_type: Mapping[str, tuple[Record, ...]] = found.all("entities", tuple)
    return {f"{kind}/{record.key}": record for kind, records in by_type.items() for record in records}


def _order(problem: PackProblem) -> tuple[str, int, str]:
    return problem.file, problem.line, problem.field
