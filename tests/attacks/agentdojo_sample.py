"""A sample of AgentDojo's injections as JSON, for the environment that has AgentDojo and not Parlour.

    .parlour/agentdojo/bin/python tests/attacks/agentdojo_sample.py

Prints `[text, ...]`: every suite's injection goals, each worded by one of the attacks that need no model's name.
"""

import itertools
import json
import sys

from agentdojo.agent_pipeline import GroundTruthPipeline
from agentdojo.attacks import load_attack
from agentdojo.task_suite import get_suites

VERSION = "v1.2.2"
ATTACKS = ("direct", "ignore_previous", "system_message", "injecagent", "important_instructions_no_names")


def main() -> None:
    wordings = itertools.cycle(ATTACKS)
    pipeline = GroundTruthPipeline(None)  # what is attacked; these attacks ask it nothing
    pipeline.name = "local"
    texts = []
    for suite in get_suites(VERSION).values():
        user_task = next(iter(suite.user_tasks.values()))
        for task in suite.injection_tasks.values():
            attack = load_attack(next(wordings), suite, pipeline)
            texts.append(next(iter(attack.attack(user_task, task).values())))
    json.dump(texts, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
