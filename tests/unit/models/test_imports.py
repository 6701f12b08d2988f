"""What may not be loaded by merely importing the room: it would be paid for at every cold start."""

import subprocess
import sys

import pytest

HEAVY = ("anthropic", "httpx2", "genai_prices", "pydantic", "boto3")


@pytest.mark.parametrize(
    "module",
    ["model", "model_routing", "offline", "fallback", "claude_stream", "stream_timeouts", "anthropic", "bedrock"],
)
def test_no_provider_sdk_is_loaded_before_it_is_needed(module: str) -> None:
    code = f"import sys, parlour.models.{module}; print(*[name for name in {HEAVY!r} if name in sys.modules])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.split() == []


def test_preloading_loads_what_a_call_needs() -> None:
    code = """
import sys
from parlour.models import anthropic, prices
anthropic.preload(); prices.preload()
before = set(sys.modules)
anthropic.AnthropicModel("key")._client.messages
print(*sorted(name for name in set(sys.modules) - before if name.startswith("anthropic.resources.messages")))
"""

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.split() == []
