"""What stands where in a prompt, in symbols: three flows of one conversation, and a whole turn with every part.

S persona and rules, B briefing, P whole project files (in B), F a file, I an image, CA the agent's floating
instructions, U the user's words, TC a call, TR a result (whole), TR- a result's one line in history, A a reply, T the
tail, R the reminder; numbers are turns.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from parlour.infra.json_values import JsonObject, canonical_json
from parlour.prompts.assembly import budget, call_stubs
from parlour.prompts.assembly.assembler import AssembledPrompt, prepare_turn
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.materials import AssemblyContext, PromptMaterials
from parlour.prompts.assembly.past_turn import Message, PastTurn
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.prompts.assembly.tool_rounds import ToolRound
from tests.conftest import NOW

SEARCH: JsonObject = {"name": "search_knowledge", "description": "Search.", "input_schema": {"type": "object"}}
MOMENT = AssemblyContext(NOW, 1, "anthropic/claude-sonnet-4-5", {"agent": 1})
INSTRUCTIONS = "Answer as the tender desk does."


def test_an_agent_that_floats_moves_before_the_newest_words() -> None:
    past = [turn(1, called=True), turn(2)]
    asked = materials(3, floating=INSTRUCTIONS, past_turns=past)
    assert layout(prompt(asked)) == "S U1 TC TR- A1 U2 A2 CA U3 T"
    assert layout(prompt(asked, searched(3))) == "S U1 TC TR- A1 U2 A2 CA U3 T TC TR R"


def test_an_agent_that_does_not_float_stands_in_the_system_prompt() -> None:
    said = prompt(materials(3, past_turns=[turn(1, called=True), turn(2)]), searched(3))
    assert layout(said) == "S U1 TC TR- A1 U2 A2 U3 T TC TR R"
    assert INSTRUCTIONS in str(said.prompt.system)


def test_project_files_stay_in_the_briefing_and_a_sent_file_where_it_was_sent() -> None:
    project = Item(
        SourceKind.PROJECT_FILES, "The works begin in March. " * 20, Source("documents", "p"), title="plan.pdf"
    )
    sent = Item(SourceKind.ATTACHMENTS, "Crane log, page 1.", Source("files", "f"), title="log.txt")
    first = materials(1, briefing_candidates=[project], attachments=[sent], floating=INSTRUCTIONS)
    assert layout(prompt(first)) == "S B(P) CA F1 U1 T"
    later = materials(
        2, briefing_candidates=[project], past_turns=[replace(turn(1), attachments=(sent,))], floating=INSTRUCTIONS
    )
    assert layout(prompt(later)) == "S B(P) F1 U1 A1 CA U2 T"


def test_project_files_that_do_not_fit_together_are_left_to_be_searched() -> None:
    files = [
        Item(SourceKind.PROJECT_FILES, f"Part {n}. " + "The works begin in March. " * 50, Source("documents", str(n)))
        for n in range(4)
    ]
    said = prompt(materials(1, briefing_candidates=files))
    assert layout(said) == "S U1 T"
    assert {one.reason for one in said.ledger.entries if one.item.kind is SourceKind.PROJECT_FILES} == {"over_budget"}


def test_the_reminder_moves_to_the_end_with_every_result() -> None:
    asked = materials(1)
    one, two = searched(1), (*searched(1), *searched(2))
    assert layout(prompt(asked)) == "S U1 T"
    assert layout(prompt(asked, one)) == "S U1 T TC TR R"
    assert layout(prompt(asked, two)) == "S U1 T TC TR TC TR R"
    assert layout(prompt(materials(2, past_turns=[turn(1, called=True)]))) == "S U1 TC TR- A1 U2 T"


def test_what_the_pack_reminds_of_stands_in_the_tail_and_last_again() -> None:
    asked = materials(1, reminders=["Name the price only once."])
    assert layout(prompt(asked)) == "S U1 T R"
    both = prompt(asked, searched(1))
    assert layout(both) == "S U1 T R TC TR R"
    last = str(both.prompt.messages[-1]["content"][-1])  # type: ignore[index]
    assert "right after each statement" in last
    assert "Name the price only once." in last


def test_a_call_that_found_nothing_to_cite_is_not_reminded_of_citing() -> None:
    block: JsonObject = {"type": "tool_use", "id": "call_1", "name": "read_clock", "input": {}}
    assert layout(prompt(materials(1), (ToolRound((block,), (("call_1", {"ok": True}),)),))) == "S U1 T TC TR"


def test_a_whole_turn_of_a_busy_persona_has_everything_in_its_place() -> None:
    """A paying user's fifth turn: persona and job, tools, facts, older requests, four turns, a heartbeat, a short ask.
    What the cache keeps comes first: all that is known for this turn alone follows the user's words."""
    facts = ["The user is called Priya.", "She is on the Pro plan.", "Three of 25 talks this week are used."]
    older = [
        "[three days ago] asked for a mail to a supplier",
        "[last week] set up a weekly digest",
        "[in April] chased an invoice",
    ]
    tail = [
        *(Item(SourceKind.FACTS, text, Source("facts", text), score=0.9) for text in facts),
        *(Item(SourceKind.RECALL, text, Source("messages", text), score=0.5) for text in older),
    ]
    asked = materials(
        5, past_turns=[turn(n) for n in range(1, 5)], tail_candidates=tail, tiers=PERSONA, words="and put Akhil in copy"
    )
    said = prompt(asked)
    assert layout(said) == "S U1 A1 U2 A2 U3 A3 U4 A4 U5 T(recalled) T(memory) T R"
    (system,) = [str(one["text"]) for one in said.prompt.system]
    places = [system.index(item.text) for item in PERSONA]
    assert places == sorted(places)
    opening = texts(said)[-1:]
    assert all(one in str(said.prompt.messages[-1]) for one in (*facts, *older)), opening
    assert sum(said.tokens_by_layer.values()) <= budget.MESSAGING_PROFILE.total_tokens


def test_the_words_of_that_turn_are_all_that_enters_history() -> None:
    said = prompt(materials(6, past_turns=[turn(n) for n in range(1, 6)], words="thanks"))
    assert layout(said) == "S U1 A1 U2 A2 U3 A3 U4 A4 U5 A5 U6 T"


PERSONA = [
    Item(
        SourceKind.HUMAN,
        "# Identity\nYou are Mitra, who gets small jobs done. Warm and exact.",
        Source("humans", "h", 1),
    ),
    Item(SourceKind.TEAM, "# Role\nYou do jobs of several steps. One job counts as one talk.", Source("teams", "t", 1)),
    Item(SourceKind.AGENT, f"# Working\n{INSTRUCTIONS} At most four rounds of tools.", Source("agents", "a", 1)),
]


def materials(
    number: int, *, words: str = "", tiers: Sequence[Item] | None = None, floating: str = "", **given: object
) -> PromptMaterials:
    persona = tiers or (PERSONA[:2] if floating else PERSONA)
    said = [Message(words or f"words of turn {number}", Source("messages", f"u{number}"))]
    made = PromptMaterials(
        number, (canonical_json(SEARCH),), persona, f"Time: turn {number}", said, floating_instructions=floating
    )
    return replace(made, **given)  # type: ignore[arg-type]


def turn(number: int, *, called: bool = False) -> PastTurn:
    asked = Message(f"words of turn {number}", Source("messages", f"u{number}"))
    replied = Message(f"reply of turn {number}", Source("messages", f"a{number}"))
    return PastTurn(
        number, str(number), (asked,), call_stubs.history_messages(searched(number)) if called else (), (replied,)
    )


def searched(number: int) -> tuple[ToolRound, ...]:
    call = f"call_{number}"
    block: JsonObject = {"type": "tool_use", "id": call, "name": "search_knowledge", "input": {"query": "crane"}}
    found: JsonObject = {"documents": [{"n": 1, "title": "Report", "contents": "A crack at C4."}]}
    return (ToolRound((block,), ((call, found),)),)


def prompt(asked: PromptMaterials, rounds: Sequence[ToolRound] = ()) -> AssembledPrompt:
    return prepare_turn(asked, PromptCacheState(), budget.MESSAGING_PROFILE, MOMENT).assemble_step(
        len(rounds) + 1, rounds
    )


def texts(assembled: AssembledPrompt) -> list[str]:
    return [json.dumps(one) for one in assembled.prompt.messages]


def layout(assembled: AssembledPrompt) -> str:
    """The prompt's blocks as symbols, in the order of their bytes."""
    system = ["S" if n == 0 else _briefing(str(one["text"])) for n, one in enumerate(assembled.prompt.system)]
    said = [
        _symbol(str(message["role"]), block)
        for message in assembled.prompt.messages
        if isinstance(content := message["content"], list)
        for block in content
        if isinstance(block, dict)
    ]
    return " ".join([*system, *said])


def _briefing(text: str) -> str:
    return "B(P)" if "# Project files, whole" in text else "B"


def _symbol(role: str, block: JsonObject) -> str:
    text = str(block.get("text", ""))
    if block["type"] != "text":
        kinds = {"tool_use": "TC", "tool_result": "TR", "image": "I"}
        return kinds[str(block["type"])] + ("-" if str(block.get("content", "")).startswith("found [1]") else "")
    tags = {
        "instructions": "CA",
        "file": "F1",
        "tail": "T",
        "reminder": "R",
        "recalled": "T(recalled",
        "memory": "T(memory",
    }
    for tag, symbol in tags.items():
        if text.startswith(f"<parlour:{tag}>"):
            return f"{symbol})" if "(" in symbol else symbol
    return f"{'U' if role == 'user' else 'A'}{text.rsplit(maxsplit=1)[-1] if text[-1].isdigit() else _OWN[text]}"


_OWN = {"and put Akhil in copy": "5", "thanks": "6"}
"""Words that do not name their turn."""
