"""Which model is asked, and which ones after it: the rules of an agent's `model_routing`.

    {"default":  {"provider": "anthropic", "model": "claude-sonnet-5-5", "thinking": "adaptive"},
     "cheap":    {"provider": "anthropic", "model": "claude-haiku-5-5"},
     "quality":  {...},
     "fallback": [{"provider": ..., "model": ...}, ...],
     "strategy": "rule"}

Only `default` is required. A purpose without an entry of its own is served by `default`. `thinking` has a model's
reasoning shown to members: `adaptive`, or the most tokens of a model that does not decide by itself how long it thinks.
It is asked for in turns only: background work shows nothing, and its time limits leave no room for it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from parlour.infra.errors import Misconfigured
from parlour.infra.json_values import Json, JsonObject

OFFLINE_PROVIDER = "offline"
"""The provider that needs no key: the offline model."""

DEMO_PROVIDER = "demo"
"""The provider that plays a pack's scenes on a laptop without a key: the demo model."""

FUNCTION_PROVIDER = "function"
"""The provider that is the pack's own agent loop; its models are functions of the pack."""

KEYLESS_PROVIDERS = frozenset({OFFLINE_PROVIDER, DEMO_PROVIDER})
"""The providers that are no models: what they answer is scripted or quoted."""

PURPOSES = ("default", "cheap", "quality")
"""default: conversation; cheap: extraction and summaries; quality: what is worth a larger model."""

STRATEGIES = ("rule",)
"""How the model is chosen; `rule` reads the table above and nothing else."""

_KEYS = (*PURPOSES, "fallback", "strategy")
_FIELDS = ("provider", "model")
_THINKING_PROVIDERS = frozenset({"anthropic", "bedrock"})

MIN_THINKING_TOKENS, MAX_THINKING_TOKENS = 1_024, 16_000
"""What a model may think at least and at most, where a number says so; the least is the provider's."""

ADAPTIVE_THINKING_TOKENS = 4_096
"""Tokens that a model may think which decides by itself, on top of its reply."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model to try: a provider's name here, and the provider's name for the model.

    thinking  "adaptive", the most tokens that it may think, or None: as it does by default, without being shown.
    """

    provider: str
    model: str
    thinking: str | int | None = None

    @property
    def thinking_tokens(self) -> int:
        """Return how many tokens it may think on top of its reply."""
        if isinstance(self.thinking, int):
            return self.thinking
        return ADAPTIVE_THINKING_TOKENS if self.thinking else 0

    @property
    def thinking_setting(self) -> JsonObject | None:
        """Return how it thinks, as Anthropic's API takes it."""
        if isinstance(self.thinking, int):
            return {"type": "enabled", "budget_tokens": self.thinking}
        return {"type": "adaptive", "display": "summarized"} if self.thinking else None


OFFLINE_MODEL = ModelChoice(OFFLINE_PROVIDER, "extractive")
"""Who answers where no real provider is configured."""

DEMO_MODEL = ModelChoice(DEMO_PROVIDER, "claude-haiku-4-5")
"""Who plays the scenes; it is priced like the model of that name."""


@dataclass(frozen=True, slots=True)
class RoutingProblem:
    """One thing wrong with a routing: the key, as a path, and how to put it right."""

    key: str
    message: str


def find_routing_problems(routing: JsonObject) -> list[RoutingProblem]:
    """Everything wrong with an agent's `model_routing`; nothing when it can be used."""
    return [RoutingProblem(key, message) for key, message in _find_problems(routing)]


def choose_models(routing: JsonObject, purpose: str = "default") -> list[ModelChoice]:
    """Return the models for `purpose` in the order in which they are tried, each once.

    Misconfigured names the key of `model_routing` that is wrong.
    """
    for problem in find_routing_problems(routing):
        raise Misconfigured(f"model_routing.{problem.key}: {problem.message}")
    first = routing.get(purpose) if purpose in PURPOSES else None
    fallback = routing.get("fallback")
    wanted = [first or routing["default"], *(fallback if isinstance(fallback, list) else [])]
    if purpose != "default" and _is_function(routing["default"]):  # an agent loop answers turns, it writes no summaries
        wanted = [entry for entry in [*wanted, routing["cheap"]] if not _is_function(entry)]
    return list(
        dict.fromkeys(
            ModelChoice(str(entry["provider"]), str(entry["model"]), _thinking(entry) if purpose == "default" else None)
            for entry in wanted
            if isinstance(entry, dict)
        )
    )


def filter_available(choices: list[ModelChoice], providers: Collection[str]) -> list[ModelChoice]:
    """Return the choices that this deployment can serve; where no real provider is configured at all, the demo model
    if the tenant has scenes, else the offline model.

    Misconfigured when there is a real provider but none of the agent's: silence would hide it.
    """
    served = [choice for choice in choices if choice.provider in providers]
    if served:
        return served
    if set(providers) <= {*KEYLESS_PROVIDERS, FUNCTION_PROVIDER}:
        return [DEMO_MODEL if DEMO_PROVIDER in providers else OFFLINE_MODEL]
    wanted = ", ".join(dict.fromkeys(choice.provider for choice in choices))
    raise Misconfigured(f"model_routing asks for {wanted}, which is not configured: set its key or choose another")


def _find_problems(routing: JsonObject) -> Iterator[tuple[str, str]]:
    yield from (
        (key, f"is not a key of model_routing; known are {', '.join(_KEYS)}") for key in routing if key not in _KEYS
    )
    if "default" not in routing:
        yield "default", "is missing; give it a provider and a model"
    for purpose in PURPOSES:
        if purpose in routing:
            yield from _entry_problems(purpose, routing[purpose])
    if _is_function(routing.get("default")) and "cheap" not in routing:
        yield "cheap", "is missing: the agent loop answers turns only; name a model that writes summaries"
    fallback = routing.get("fallback", [])
    if not isinstance(fallback, list):
        yield "fallback", "must be a list of provider and model"
    else:
        for index, entry in enumerate(fallback):
            yield from _entry_problems(f"fallback[{index}]", entry)
    if routing.get("strategy", "rule") not in STRATEGIES:
        yield "strategy", f"is not one of {', '.join(STRATEGIES)}"


def _thinking(entry: JsonObject) -> str | int | None:
    """Return an entry's setting; None without one, or for one that cannot be used."""
    given = entry.get("thinking")
    if isinstance(given, int) and MIN_THINKING_TOKENS <= given <= MAX_THINKING_TOKENS:
        return given
    return "adaptive" if given == "adaptive" else None


def _is_function(entry: Json) -> bool:
    return isinstance(entry, dict) and entry.get("provider") == FUNCTION_PROVIDER


def _entry_problems(key: str, entry: Json) -> Iterator[tuple[str, str]]:
    if not isinstance(entry, dict):
        yield key, "must have a provider and a model"
        return
    yield from (
        (f"{key}.{name}", "is not known here; give a provider and a model")
        for name in entry
        if name not in {*_FIELDS, "thinking"}
    )
    if entry.get("thinking") is not None and (
        _thinking(entry) is None or entry.get("provider") not in _THINKING_PROVIDERS
    ):
        yield (
            f"{key}.thinking",
            f"must be adaptive or {MIN_THINKING_TOKENS} to {MAX_THINKING_TOKENS} tokens, of anthropic or bedrock",
        )
    for name in _FIELDS:
        value = entry.get(name)
        if not isinstance(value, str) or not value.strip():
            yield f"{key}.{name}", "must be a name"
