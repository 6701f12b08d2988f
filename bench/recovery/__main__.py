"""What becomes of messages whose workers are killed: how soon their work is done, and whether any is lost or doubled.

    python -m bench.recovery [--json FILE] [--people N]

People write by WhatsApp; every second one asks for a long tool. Meanwhile workers are killed at random moments of their
work, every fifth delivery comes twice, and the database crashes once. The handlers run in workers of their own, on a
real database and the emulator's queues, with the timeouts and visibilities of the template. Nothing sweeps: that is
how the deployment `DATABASE=idle` works, where only messages wake what was left lying.

Of each function that holds a message (turns, tool calls, receiver, outbound):

    kills    workers killed in the middle of their work
    median_s, p95_s, max_s  seconds from a kill until the killed worker's message was done by another

Of all:

    people         who wrote
    lost           replies that never came
    for a person   replies of which nobody knows whether they were sent: their sender died in the middle
    doubled        people who were answered twice
    calls          effects of the tool
    doubled calls, missing calls  calls of the tool that were made twice, or never
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
            functions, everything = measure(environment, office, asked.people, asked.people * SECONDS_BETWEEN_PEOPLE)
    finally:
        office.close()
    report.show("Work of killed workers", functions)
    report.show("All of it", [everything])
    report.write(asked.json, {"functions": functions, "everything": everything})


if __name__ == "__main__":
    main()
