"""What a pack says that is valid and probably not what was meant. Pure.

A warning never keeps a pack from being applied: whoever applies or compares it reads where it is and what to do.
"""

from collections.abc import Iterator
from typing import Literal

from parlour.infra.errors import PackProblem
from parlour.packs.format import Binding, InboxSettings, Pack, Writes
from parlour.packs.source_positions import FieldPath, ParsedYaml
from parlour.principal import CONFIDENTIAL, LEVEL_NAMES, WriteRights
from parlour.tenancy.access import DEFAULT_WRITES
from parlour.tools.builtin.builtin_tools import BUILTIN_TOOLS
from parlour.tools.builtin.definitions import ASK_A_PERSON
from parlour.tools.tool_definition import BUILTIN_SCHEME

_BUILT_IN = {tool.name: tool for tool in BUILTIN_TOOLS}


def find_warnings(pack: Pack) -> list[PackProblem]:
    """Return the pack's warnings, by file and line."""
    found = [
        *_find_unheard_requests(pack),
        *_find_needless_editable(pack),
        *_find_unusable_tools(pack),
        *_find_open_doors(pack),
    ]
    return sorted(found, key=lambda warning: (warning.file, warning.line, warning.message))


def _find_unheard_requests(pack: Pack) -> Iterator[PackProblem]:
    """Warn of agents that ask for a person where nobody is notified: the conversation would wait for ever."""
    for slug, binding in pack.bindings.items():
        agent = pack.agents.get(binding.agent)
        notified = binding.notifications
        is_notified = bool(notified.email or notified.roles or notified.webhook) and "opened" in notified.events
        has_people = binding.inbox != InboxSettings() or is_notified or notified.chatwoot is not None
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


def _find_unusable_tools(pack: Pack) -> Iterator[PackProblem]:
    """Warn of tools that write and that nobody who comes in by a binding may use: every call of theirs is refused.

    Editors are no reason to be silent: a customer's agent is for customers. A member's private agent is its owner's,
    and a binding that gives a tool `none` says what it means.
    """
    for slug, binding in pack.bindings.items():
        agent = pack.agents.get(binding.agent)
        if agent is None or "act" not in agent.modes or (binding.owner and binding.owner.subject):
            continue
        for name in agent.tools:
            tool = pack.tools.get(name) or _BUILT_IN.get(name)
            if tool is None or not tool.writes:
                continue
            is_outside = not tool.endpoint.startswith(BUILTIN_SCHEME)
            given = _list_rights(binding, name)
            if "all" in given or (not is_outside and "own" in given) or _is_closed(binding.tool_writes.get(name)):
                continue
            need = "all" if is_outside else "own"
            message = (
                f"only signed-in editors may use {name} here: visitors and phones have {' and '.join(sorted(given))}, "
                f"and it needs {need}. Give it with `tool_writes: {{{name}: {need}}}`, or say `none` there"
            )
            yield _warning_at(pack, f"bindings/{slug}.yaml", ("agent",), message)


def _list_rights(binding: Binding, tool: str) -> set[WriteRights]:
    """Return the rights that a tool has for people who are not members, by the channels on which they come."""
    settings = binding.tool_writes.get(tool, binding.writes)
    kinds: list[Literal["anonymous", "verified"]] = []
    if binding.channels.web and binding.door != "private":
        kinds.append("anonymous")
    if binding.channels.whatsapp or binding.door == "private":
        kinds.append("verified")
    return {getattr(settings, kind) or DEFAULT_WRITES[kind] for kind in kinds} or {"none"}


def _is_closed(settings: Writes | None) -> bool:
    return settings is not None and {settings.anonymous, settings.verified} <= {"none", None}


def _find_open_doors(pack: Pack) -> Iterator[PackProblem]:
    """Warn of public doors through which strangers change every record, or read what is confidential."""
    for slug, binding in pack.bindings.items():
        file = f"bindings/{slug}.yaml"
        if binding.door != "public":
            continue
        if "all" in {binding.writes.anonymous, binding.writes.verified}:
            message = (
                "strangers may change every record that they can read, and what they create counts as your own word: "
                "use `own`, and `tool_writes` for single tools that need more"
            )
            yield _warning_at(pack, file, ("writes",), message)
        if binding.clearance >= CONFIDENTIAL:
            level = LEVEL_NAMES[binding.clearance]
            message = f"strangers may read what is {level}: lower it, or set `door: private` with an `owner`"
            yield _warning_at(pack, file, ("clearance",), message)


def _warning_at(pack: Pack, file: str, place: FieldPath, message: str) -> PackProblem:
    return pack.files_by_path.get(file, ParsedYaml(file, None, {})).problem_at(place, message)
