"""Recovery time after worker crashes, and whether work is lost or repeated.

    python -m bench.recovery [--json FILE] [--people N]

People write by WhatsApp. Every second person asks for a long tool call. The benchmark kills workers at random moments
of their work, delivers every fifth message twice, and crashes the database once. Each handler runs in a process of its
own, on a real database and the emulator's queues, with the timeouts and visibilities of the template. The scheduled
sweep does not run, as in a deployment with `DATABASE=idle` between two daily sweeps: only messages start functions.

For each function that processes queue messages (turns, tool calls, receiver, outbound):

    kills       workers killed during their work, but not just before the crash of the database
    never done  killed work that no other worker completed before the run ended
    resumed_s   seconds from a kill until another worker began what it then completed; median and p95
    done_s      seconds from a kill until another worker completed the work; median and p95

For the run:

    people         people who wrote
    lost           replies that were never delivered
    for a person   replies with unknown delivery: the sender was killed during the provider's call
    doubled        people who got a reply twice; the JSON file has what they read
    calls          effects of the tool
    doubled calls  tool calls that were made twice
    missing calls  tool calls that were never made
"""

import logging

from bench import report
from bench.recovery.trials import MODEL_SECONDS, TENANT, SlowOffice, measure
from local.scripted_model import Script, ToolUse
from tests.chaos.chaos_environment import open_chaos_environment
from tests.chaos.chaos_pack import OFFICE_HOST

PEOPLE = 100
SECONDS_BETWEEN_PEOPLE = 1.5


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--people", type=int, default=PEOPLE, help="who write; fewer on a slow machine")
    asked = parser.parse_args()
    logging.disable(logging.INFO)
    survey = ToolUse("order_survey", {"subject": "Survey of grid C TAG"})
    scripts = {
        "plain": Script(pause_seconds=MODEL_SECONDS),
        "heavy": Script(tool_uses=(survey,), reply="I am on it.", pause_seconds=MODEL_SECONDS),
    }
    office = SlowOffice()
    hosts = {"PRIVATE_TOOL_HOSTS": f"{TENANT}@{OFFICE_HOST}={office.url}"}
    try:
        with open_chaos_environment(scripts, extra_variables=hosts) as environment:
            functions, everything, doubled = measure(
                environment, office, asked.people, asked.people * SECONDS_BETWEEN_PEOPLE
            )
    finally:
        office.close()
    report.show("Work of killed workers", functions)
    report.show("All of it", [everything])
    report.write(asked.json, {"functions": functions, "everything": everything, "doubled_texts": doubled})


if __name__ == "__main__":
    main()
