"""Whether a pack's scenes agree with themselves and with the pack: slots, quotes, tools and records. Pure."""

from collections.abc import Collection, Iterator

from parlour.infra.errors import PackProblem
from parlour.models.demo_scenes import compile_pattern, malformed_slots, slot_names
from parlour.packs.pack_parser import SCENES_FOLDER, ParsedPack
from parlour.packs.record_checks import KnownRecords
from parlour.packs.scene_format import Scene
from parlour.packs.source_positions import FieldPath, ParsedYaml
from parlour.text.spelling_suggestions import did_you_mean, list_options

_ATTACHMENT_SLOTS = ("attachment.format", "attachment.size")


def find_scene_problems(reading: ParsedPack, built_in: Collection[str]) -> Iterator[PackProblem]:
    """Everything that is wrong with the scenes; `built_in` are the tools that need no definition."""
    scenes = reading.list_names(SCENES_FOLDER)
    tools = reading.list_names("tools").union(built_in)
    records = KnownRecords(reading)
    for _, scene, at in reading.iterate_models(SCENES_FOLDER, Scene):
        if scene.after:
            yield from _check_name(at, ("after",), "scene", scene.after, scenes)
        if scene.pulse_of and (message := records.missing_message(scene.pulse_of)):
            yield at.problem_at(("pulse_of",), message)
        if scene.result_of:
            yield from _check_name(at, ("result_of",), "tool", scene.result_of, tools)
        for number, name in enumerate(scene.tools):
            yield from _check_name(at, ("tools", number), "tool", name, tools)
        for number, call in enumerate(scene.calls):
            yield from _check_name(at, ("calls", number, "tool"), "tool", call.tool, tools)
        if not reading.has_problem(at.file):  # a slot may be filled by the part that is wrong
            yield from _check_conditions(scene, at)
            yield from _check_slots(scene, at)


def _check_conditions(scene: Scene, at: ParsedYaml) -> Iterator[PackProblem]:
    chat = bool(scene.ask or scene.after or scene.attachment or scene.result_of)
    if not chat and not scene.pulse_of:
        yield at.problem_at((), "says when it is played nowhere: give `ask`, `attachment`, `result_of` or `pulse_of`")
    if scene.after and not (scene.ask or scene.attachment):
        yield at.problem_at(("after",), "is no condition alone: give `ask`, too")
    if scene.pulse_of and (chat or scene.calls):
        yield at.problem_at(("pulse_of",), "stands alone: a Pulse has no question and no calls")


def _check_slots(scene: Scene, at: ParsedYaml) -> Iterator[PackProblem]:
    groups = {name for pattern in scene.ask for name in compile_pattern(pattern).groupindex}
    attachment = _ATTACHMENT_SLOTS if scene.attachment == "image" else ()
    known = [*scene.quotes, *scene.calculations, *sorted(groups), *attachment]
    for name, calculation in scene.calculations.items():
        for operand in calculation.add_days or calculation.days_between or ():
            yield from _check_name(at, ("calculations", name), "slot", operand, known)
    for number, call in enumerate(scene.calls):
        for text in _texts(call.arguments):
            yield from _check_text(scene, at, ("calls", number, "arguments"), text, known)
    for number, reply in enumerate(scene.replies):
        place: FieldPath = ("replies", number)
        yield from _check_text(scene, at, place, reply.text, known)
        yield from _check_citations(scene, at, place, reply.text)


def _check_text(
    scene: Scene, at: ParsedYaml, place: FieldPath, text: str, known: Collection[str]
) -> Iterator[PackProblem]:
    values, citations = slot_names(text)
    called = {call.tool for call in scene.calls} | {scene.result_of}
    for name in values:
        if name not in known and not ("." in name and name.partition(".")[0] in called):
            options = [*known, *(f"{tool}.<field>" for tool in called if tool)]
            yield _unknown(at, place, f"{{{name}}}", name, options)
    for slot in malformed_slots(text):
        yield at.problem_at(place, f"{slot} is no slot: names have lower-case letters, digits and _, parted by dots")
    for name in citations:
        if name not in scene.quotes:
            yield _unknown(at, place, f"[{name}]", name, list(scene.quotes))


def _check_citations(scene: Scene, at: ParsedYaml, place: FieldPath, text: str) -> Iterator[PackProblem]:
    """Check that every document that a reply quotes is cited in it."""
    values, citations = slot_names(text)
    cited = {scene.quotes[name].title for name in citations if name in scene.quotes}
    for name in dict.fromkeys(values):
        quote = scene.quotes.get(name)
        if quote and quote.source == "documents" and quote.title not in cited and not scene.pulse_of:
            yield at.problem_at(place, f"quotes {{{name}}} and does not cite it: write [{name}] behind it")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _check_name(
    at: ParsedYaml, place: FieldPath, what: str, name: str, options: Collection[str]
) -> Iterator[PackProblem]:
    if name not in options:
        yield _unknown(at, place, f"{what} '{name}'", name, options)


def _unknown(at: ParsedYaml, place: FieldPath, shown: str, name: str, options: Collection[str]) -> PackProblem:
    hint = f" (available: {list_options(options)})" if options else ""
    return at.problem_at(place, f"unknown {shown}{did_you_mean(name, options)}{hint}")
