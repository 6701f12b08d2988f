"""The ways on which people have a part: questions to them, the inbox, and the other desk. Pure."""

from collections.abc import Mapping

from local.scripted_model import Script, ToolUse
from tests.chaos.scenarios import Effect, Invocation, Scenario

CRANE, HOIST = "order_crane", "order_hoist"

PEOPLE_SCRIPTS: Mapping[str, Script] = {
    "crane": Script(tool_uses=(ToolUse(CRANE, {"subject": "Crane for grid C TAG"}),)),
    "hoist": Script(tool_uses=(ToolUse(HOIST, {"subject": "Hoist for grid C TAG"}),)),
    "person": Script(tool_uses=(ToolUse("ask_a_person", {"reason": "They want to talk."}),), reply="Of course."),
    "desks": Script(
        tool_uses=(ToolUse("hand_off", {"to": "contract-desk", "reason": "Damages.", "brief": "Clause 2."}),),
        reply="The contract desk knows.",
        later_reply="Clause 2 says so.",
    ),
}

_NOTIFIED = [("opened", "email"), ("opened", "webhook")]

PEOPLE_SCENARIOS = (
    Scenario(
        "yes in words",
        "crane",
        (
            Invocation("orchestrator"),
            Invocation("orchestrator", 1, phase=1),
            Invocation("tool_dispatcher", 1, phase=1),
            Invocation("orchestrator", 2, phase=1),
        ),
        turns=2,
        steps=2,
        effects=(Effect(CRANE, is_verifiable=False),),
        texts=2,
        follow_ups=(("type yes",),),
        expected_rows={"approvals": [("done",)], "thread": []},
    ),
    Scenario(
        "yes by button",
        "crane",
        (),
        turns=2,
        steps=2,
        effects=(Effect(CRANE, is_verifiable=False),),
        texts=2,
        follow_ups=(("press yes",),),
        expected_rows={"approvals": [("done",)]},
    ),
    Scenario(
        "yes by the API",
        "hoist",
        (Invocation("http_api", 1, phase=1), Invocation("tool_dispatcher", 1, phase=1)),
        turns=2,
        steps=2,
        effects=(Effect(HOIST, is_verifiable=True),),
        follow_ups=(("approve",),),
        expected_rows={"approvals": [("done",)]},
    ),
    Scenario(
        "no by the API",
        "hoist",
        (Invocation("http_api", 1, phase=1),),
        turns=2,
        steps=2,
        effects=(Effect(HOIST, is_verifiable=True, is_allowed=False),),
        follow_ups=(("refuse",),),
        expected_rows={"approvals": [("refused",)]},
    ),
    Scenario(
        "yes and then fewer rights",
        "hoist",
        (Invocation("tool_dispatcher", 1, phase=1),),
        turns=2,
        steps=2,
        effects=(Effect(HOIST, is_verifiable=True, is_allowed=False),),
        follow_ups=(("approve", "lower the user's rights"),),
        expected_rows={"approvals": [("superseded",)]},
    ),
    Scenario(
        "no answer in time",
        "crane",
        (Invocation("sweep", 1, phase=1),),
        turns=2,
        steps=2,
        effects=(Effect(CRANE, is_verifiable=False, is_allowed=False),),
        follow_ups=(("let the question expire",),),
        expected_rows={"approvals": [("expired",)]},
    ),
    Scenario(
        "a person answers",
        "person",
        (
            Invocation("orchestrator"),
            Invocation("outbound of email"),
            Invocation("outbound of webhook"),
            Invocation("http_api", 1, phase=1),
            Invocation("orchestrator", 1, phase=1),
            Invocation("http_api", 1, phase=2),
            Invocation("http_api", 2, phase=2),
            Invocation("http_api", 1, phase=3),
            Invocation("orchestrator", 1, phase=3),
        ),
        turns=3,
        steps=3,
        texts=3,
        follow_ups=(("take", "write on"), ("say", "note", "write again"), ("hand back",)),
        expected_rows={
            "thread": [("agent", None)],
            "inbox events": [
                ("opened", 1),
                ("said", 4),
                ("taken", 1),
                ("noted", 1),
                ("handed_back", 1),
            ],
            "notifications": _NOTIFIED,
            "authors": [("Support",)],
        },
    ),
    Scenario(
        "opened and done",
        "plain",
        (Invocation("http_api", 1, phase=1), Invocation("http_api", 1, phase=2)),
        turns=3,
        silent_turns=1,
        texts=2,
        follow_ups=(("open", "write on"), ("close",)),
        expected_rows={
            "thread": [("done", None)],
            "inbox events": [("opened", 1), ("said", 2), ("closed", 1)],
            "notifications": _NOTIFIED,
        },
    ),
    Scenario(
        "nobody answers",
        "person",
        (Invocation("sweep", 1, phase=1),),
        turns=2,
        steps=2,
        follow_ups=(("let them wait too long",),),
        expected_rows={
            "thread": [("waiting", None)],
            "inbox events": [("opened", 1), ("said", 2), ("escalated", 1)],
            "notifications": [
                ("opened", "email"),
                ("escalated", "email"),
                ("opened", "webhook"),
                ("escalated", "webhook"),
            ],
        },
    ),
    Scenario(
        "two desks",
        "desks",
        (Invocation("orchestrator"),),
        turns=2,
        steps=3,
        texts=2,
        expected_rows={"desks": [("site-desk",), ("contract-desk",)], "handoffs": [("contract-desk",)]},
    ),
)
