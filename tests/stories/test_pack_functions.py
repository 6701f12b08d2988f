"""The code of a pack: deployed with the command, called by the functions that may call it, deployed again."""

from collections.abc import Callable
from typing import Any

from tests.stories import packs, words
from tests.stories.clients import Command, Visitor
from tests.stories.stack import until


def replies(visitor: Visitor, count: int) -> list[str]:
    """Wait for so many replies; return their texts, oldest first."""

    def received() -> list[dict[str, Any]]:
        found = [message for message in visitor.messages() if message["direction"] == "outbound"]
        return found if len(found) >= count else []

    return [message["text"] for message in until(received, f"reply {count}")]


def test_pack_code_answers_and_runs_tools_under_its_own_role(
    command: Command, visit: Callable[..., Visitor], name: str
) -> None:
    (command.folder / words.STATE_FOLDER).symlink_to(command.stack.folder)  # as in a checkout where `make run` runs
    folder = command.folder / "pack"
    for path, text in packs.code_pack(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    command.print("apply", str(folder), tenant=name)
    assert f"-pack-{name} runs the code in {folder}" in command.print("functions", "deploy", str(folder), tenant=name)

    visitor = visit(packs.BINDING, name)
    visitor.say("What is new?")
    answered, counted = replies(visitor, 2)
    assert f"{packs.RANG} for {name}" in answered
    assert packs.REFUSED in answered
    assert packs.COUNTED in counted

    (folder / packs.CODE_FILE).write_text(packs.CODE.replace("rang {times}", "struck {times}"), "utf-8")
    command.print("functions", "deploy", str(folder), tenant=name)
    second = visit(packs.BINDING, name)
    second.say("What is new?")
    assert f"struck 3 times for {name}" in replies(second, 1)[0]
