"""The environment is read once, and what is missing is named."""

import pytest

from parlour.infra.errors import Misconfigured
from parlour.infra.settings import InboundSettings, OrchestratorSettings, load_settings


def test_fields_are_the_variables_in_lower_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTAKE_QUEUE_URL", "https://queue")
    monkeypatch.setenv("WEBHOOK_SECRET", "arn:secret")
    settings = load_settings(InboundSettings)
    assert (settings.intake_queue_url, settings.webhook_secret) == ("https://queue", "arn:secret")


def test_every_missing_or_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = (
        "DATABASE_SECRET",
        "EMBEDDING_QUEUE_URL",
        "MEDIA_BUCKET",
        "MEMORY_QUEUE_URL",
        "MODEL_SECRET",
        "OUTBOX_QUEUE_URL",
    )
    for name in missing:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EMBEDDING_DIMENSIONS", "several")
    named = ", ".join(sorted([*missing, "EMBEDDING_DIMENSIONS"]))
    with pytest.raises(Misconfigured, match=named):
        load_settings(OrchestratorSettings)
