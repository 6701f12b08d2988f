"""A folder of files to a valid Pack, or to every problem in it. Pure: nothing is read, nothing is written."""

from collections.abc import Collection, Mapping

from parlour.infra.errors import InvalidPack
from parlour.packs import built_in_tools, cross_references, pack_parser
from parlour.packs.format import Agent, Binding, EntityType, Human, Pack, Record, Team, Tool
from parlour.packs.pack_parser import SCENES_FOLDER
from parlour.packs.scene_format import Scene


def validate(files: Mapping[str, str], endpoints: Collection[str] = built_in_tools.BUILT_IN_ENDPOINTS) -> Pack:
    """Return the pack that `files` (path below the pack's folder, with /, -> text) describe.

    An agent may name a built-in tool without further definition, and a tool of the pack's own may use a built-in
    endpoint. Raises InvalidPack with every problem at once, in the order of files and lines: YAML that cannot be read,
    unknown fields with the nearest known one, names that lead nowhere with those that would.
    """
    found = pack_parser.parse_pack(files)
    # Where a field is wrong by itself, its default or nothing is compared with other files: not worth a second problem.
    between_files = [
        problem
        for problem in cross_references.find_reference_problems(found, endpoints)
        if problem.field == "-" or not found.has_problem(problem.file, problem.field)
    ]
    problems = [*found.problems, *between_files]
    tenant = found.get_tenant()
    if problems or tenant is None:
        raise InvalidPack(sorted(dict.fromkeys(problems), key=lambda one: (one.file, one.line, one.field)))
    records_by_type: Mapping[str, tuple[Record, ...]] = found.get_models("entities", tuple)
    return Pack(
        tenant=tenant,
        humans=found.get_models("humans", Human),
        teams=found.get_models("teams", Team),
        agents=found.get_models("agents", Agent),
        bindings=found.get_models("bindings", Binding),
        tools=found.get_models("tools", Tool),
        entity_types=found.get_models("entity_types", EntityType),
        records={f"{kind}/{record.key}": record for kind, records in records_by_type.items() for record in records},
        documents=found.get_documents(),
        scenes=found.get_models(SCENES_FOLDER, Scene),
        files_by_path=found.yaml_by_file,
    )
