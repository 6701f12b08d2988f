"""Which models the deployment embeds with, and which of them is a tenant's."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from uuid import UUID

from parlour.infra.errors import Misconfigured, NotFound
from parlour.infra.postgres import Database
from parlour.principal import system_principal
from parlour.search.index import store
from parlour.search.index.embedders import Embedder, space_name

_CACHE_SECONDS = 30.0
"""How long a tenant's space is taken as known. Vectors of the one it left are kept for longer (see `reembed`)."""


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model that the deployment names. `url`: of an OpenAI-compatible endpoint; empty is Bedrock."""

    model: str
    dimensions: int
    url: str = ""

    @property
    def space(self) -> str:
        """The name of its space, as `embed.space` gives it."""
        return f"{self.model}@{self.dimensions}"


@dataclass(frozen=True, slots=True)
class PricedEmbedder:
    """An embedder, and what the price list calls its provider; empty: it is not listed, and nobody reckons its cost."""

    embedder: Embedder
    provider: str = ""


def parse_models(own: EmbeddingModel, further: str) -> list[EmbeddingModel]:
    """Return the deployment's own model and the further ones; `further` is the setting's JSON, else Misconfigured."""
    try:
        found = [
            EmbeddingModel(str(each["model"]), int(each["dimensions"]), str(each.get("url", "")))
            for each in json.loads(further or "[]")
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Misconfigured(
            'EMBEDDING_MODELS must be JSON: [{"model": "...", "dimensions": 768, "url": "https://..."}]'
        ) from None
    return [own, *{one.space: one for one in found if one.space != own.space}.values()]


class EmbeddingSpaces:
    """The embedders of a deployment; the first offered is the deployment's own."""

    def __init__(self, offers: Sequence[PricedEmbedder], clock: Callable[[], float] = time.monotonic) -> None:
        self._own = offers[0]
        self._offers: Mapping[str, PricedEmbedder] = {space_name(one.embedder): one for one in offers}
        self._clock = clock
        self._known: dict[UUID, tuple[float, str | None]] = {}

    @property
    def space_names(self) -> list[str]:
        """Every space, the deployment's own first."""
        return list(self._offers)

    def priced_embedder(self, name: str | None) -> PricedEmbedder:
        """Return the embedder of a space; None is the deployment's own. Misconfigured for an unknown space."""
        if name is None:
            return self._own
        try:
            return self._offers[name]
        except KeyError:
            raise Misconfigured(
                f"a tenant's rows were embedded with {name}; name that model in EMBEDDING_MODELS, or embed them again "
                "with another: parlour reembed"
            ) from None

    def find_space(self, model: str) -> str:
        """Return the space of a model's name, or of the space's own. NotFound lists the known ones."""
        found = [name for name in self._offers if model in (name, name.rpartition("@")[0])]
        if len(found) != 1:
            close = get_close_matches(model, [*self._offers, *(name.rpartition("@")[0] for name in self._offers)], n=1)
            hint = f"; did you mean {close[0]}?" if close and not found else f"; available: {', '.join(self._offers)}"
            raise NotFound(f"unknown model '{model}'{hint}")
        return found[0]

    def tenant_embedder(self, database: Database, tenant_id: UUID) -> Embedder:
        """Return the embedder of the tenant's questions, read from the database at most every 30 seconds."""
        known = self._known.get(tenant_id)
        if known is None or self._clock() - known[0] >= _CACHE_SECONDS:
            known = (self._clock(), database.run(system_principal(tenant_id), store.tenant_space))
            self._known[tenant_id] = known
        return self.priced_embedder(known[1]).embedder
