"""A run of schemathesis over the API: which operations answered with what, and where the description was wrong."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from fastapi import FastAPI
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema

_SEED = 20
_EXAMPLES = 3
"""Generated requests of each operation and mode, besides those that vary one value at a time."""

_SEQUENCES = 20
"""Walks along the links between operations."""

_CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "ignored_auth",
    "unsupported_method",
    "allow_header_conformance",
)

_ENDLESS = ["/v1/sessions/{session_id}/stream", "/v1/agui/{binding}"]
"""A stream of a session without a finished turn lasts five minutes; `test_agui.py` checks the events of a run."""

_WITH_SLASHES = "move_document"
"""A document's handle has slashes: other methods at this path take it for a document called `.../place`."""


@dataclass
class ConformanceReport:
    """Statuses by operation (`GET /v1/turns`), and one failure of each kind by operation and check."""

    statuses: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def unsuccessful(self) -> set[str]:
        """The operations that never answered with a 2xx."""
        return {name for name, found in self.statuses.items() if not any(200 <= status < 300 for status in found)}


def run_conformance(
    app: FastAPI, document: dict[str, Any], headers: Mapping[str, str], headers_of: Mapping[str, Mapping[str, str]]
) -> ConformanceReport:
    """Call every operation with these headers, those of `headers_of` (by operation id) with their own."""
    config = SchemathesisConfig.from_dict(
        {
            "seed": _SEED,
            "headers": {**headers},
            "continue-on-failure": True,
            "suppress-health-check": ["all"],
            "warnings": False,
            "cache": {"enabled": False},
            "checks": {"enabled": False, **{name: {"enabled": True} for name in _CHECKS}},
            "generation": {
                "max-examples": _EXAMPLES,
                "deterministic": True,
                "no-shrink": True,
                "database": "none",
                "with-security-parameters": False,
            },
            "phases": {
                "examples": {"fill-missing": True},
                "stateful": {"max-steps": 4, "generation": {"max-examples": _SEQUENCES}},
            },
            "operations": [
                *({"include-operation-id": name, "headers": {**own}} for name, own in headers_of.items()),
                {
                    "include-operation-id": _WITH_SLASHES,
                    "checks": {
                        "unsupported_method": {"enabled": False},
                        "allow_header_conformance": {"enabled": False},
                    },
                },
            ],
        }
    )
    schema = schemathesis.openapi.from_dict(document, config=config).exclude(path=_ENDLESS)
    schema.app = app
    report = ConformanceReport()
    for event in from_schema(schema).execute():
        if isinstance(event, events.FatalError):
            raise event.exception
        if isinstance(event, events.NonFatalError):
            report.failures[event.label] = str(event.value)
        if isinstance(event, events.ScenarioFinished):
            _collect(event, report)
    return report


def _collect(event: events.ScenarioFinished, report: ConformanceReport) -> None:
    for case_id, interaction in event.recorder.interactions.items():
        case = event.recorder.cases[case_id].value
        if interaction.response is not None and case.method.upper() == case.operation.method.upper():
            report.statuses[case.operation.label].add(interaction.response.status_code)
    for case_id, checks in event.recorder.checks.items():
        for check in checks:
            if check.status is Status.FAILURE and check.failure_info:
                label = event.recorder.cases[case_id].value.operation.label
                failure, request = check.failure_info.failure, check.failure_info.code_sample
                report.failures.setdefault(f"{label}: {check.name}", f"{failure.title}\n{failure.message}\n{request}")
