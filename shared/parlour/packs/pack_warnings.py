"""What a pack says that is valid and probably not what was meant. Pure.

A warning never keeps a pack from being applied: whoever applies or compares it reads where it is and what to do.
"""

from collections.abc import Iterator

from parlour.infra.errors import PackProblem
from parlour.packs.format import InboxSettings, Notifications, Pack
from parlour.packs.source_positions import FieldPath, ParsedYaml
from parlour.tools.builtin.definitions import ASK_A_PERSON


def find_warnings(pack: Pack) -> list[PackProblem]:
    """Return the pack's warnings, by file and line."""
    found = [*_find_unheard_requests(pack), *_find_needless_editable(pack)]
    return sorted(found, key=lambda warning: (warning.file, warning.line, warning.message))


def _find_unheard_requests(pack: Pack) -> Iterator[PackProblem]:
    """Warn of agents that ask for a person where nobody is notified: the conversation would wait for ever."""
    for slug, binding in pack.bindings.items():
        agent = pack.agents.get(binding.agent)
        has_people = binding.inbox != InboxSettings() or binding.notifications != Notifications()
        if agent is not None and ASK_A_PERSON.name in agent.tools and not has_people:
            message = (
                f"the agent may call {ASK_A_PERSON.name}, but nobody is notified of the conversation that then waits: "
                "say who is told in `notifications`, and how soon people answer in `inbox`"
            )
            yield _warning_at(pack, f"bindings/{slug}.yaml", ("agent",), message)


def _find_needless_editable(pack: Pack) -> Iterator[PackProblem]:
    """Warn of tools with `editable` about which no user is asked."""
    is_asked_anywhere = any(binding.needs_approval != "never" for binding in pack.bindings.values())
    for name, tool in pack.tools.items():
        if tool.editable and (tool.approver != "user" or (tool.needs_approval == "never" and not is_asked_anywhere)):
            message = (
                "changes nothing: it is for `approver: user` and calls that need approval; members may always edit"
            )
            yield _warning_at(pack, f"tools/{name}.yaml", ("editable",), message)


def _warning_at(pack: Pack, file: str, place: FieldPath, message: str) -> PackProblem:
    return pack.files_by_path.get(file, ParsedYaml(file, None, {})).problem_at(place, message)
