"""The memory limits of an agent's `memory_policy`. Pure."""

from dataclasses import dataclass

from parlour.infra.json_values import Json, JsonObject

MAX_FACTS, MAX_EPISODES = 100, 50
"""No prompt has more, whatever a policy says."""


@dataclass(frozen=True, slots=True)
class MemoryPolicy:
    """The most facts and episodes that a turn recalls. With 0 facts, extraction is off, too."""

    max_facts: int = 30
    max_episodes: int = 5


def parse_memory_policy(settings: JsonObject) -> MemoryPolicy:
    """Return the policy of these settings; defaults replace missing or invalid numbers, and `false` means 0."""
    own = MemoryPolicy()
    return MemoryPolicy(
        _parse_limit(settings.get("facts"), own.max_facts, MAX_FACTS),
        _parse_limit(settings.get("episodes", settings.get("episodic_topk")), own.max_episodes, MAX_EPISODES),
    )


def _parse_limit(setting: Json, default: int, maximum: int) -> int:
    if isinstance(setting, bool):
        return default if setting else 0
    return max(0, min(setting, maximum)) if isinstance(setting, int) else default
