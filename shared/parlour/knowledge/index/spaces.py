"""Which models the deployment embeds with, and which of them is a tenant's."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.errors import Misconfigured, NotFound
from parlour.infra.postgres import Database
from parlour.knowledge.index import store
from parlour.knowledge.index.embed import Embedder, space
from parlour.principal import system

_KEPT_SECONDS = 30.0
"""How long a tenant's space is taken as known. Vectors of the one it left are kept for longer (see `reembed`)."""


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model that the deployment names. `url`: of an OpenAI-compatible endpoint; empty is Bedrock."""

    model: str
    dimensions: int
    url: str = ""

    @property
    def space(self) -> str:
        """The name of its space, as `embed.space` gives it."""
        return f"{self.model}@{self.dimensions}"


@dataclass(frozen=True, slots=True)
class Offer:
    """An embedder, and what the price list calls its provider; empty: it is not listed, and nobody reckons its cost."""

    embedder: Embedder
    provider: str = ""


def named_models(own: NamedModel, further: str) -> list[NamedModel]:
    """The deployment's own model, and then the further ones; `further` is the setting's JSON, else Misconfigured."""
    try:
        found = [
            NamedModel(str(each["model"]), int(each["dimensions"]), str(each.get("url", "")))
            for each in json.loads(further or "[]")
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Misconfigured(
            'EMBEDDING_MODELS must be JSON: [{"model": "...", "dimensions": 768, "url": "https://..."}]'
        ) from None
    return [own, *{one.space: one for one in found if one.space != own.space}.values()]


class Spaces:
    """The embedders of a deployment; the first offered is the deployment's own."""

    def __init__(self, offers: Sequence[Offer], clock: Callable[[], float] = time.monotonic) -> None:
        self._own = offers[0]
        self._offers: Mapping[str, Offer] = {space(one.embedder): one for one in offers}
        self._clock = clock
        self._known: dict[UUID, tuple[float, str | None]] = {}

    @property
    def names(self) -> list[str]:
        """Every space, the deployment's own first."""
        return list(self._offers)

    def offer(self, name: str | None) -> Offer:
        """What embeds into a space; None is the deployment's own. Misconfigured for one that is not named here."""
        if name is None:
            return self._own
        try:
            return self._offers[name]
        except KeyError:
            raise Misconfigured(
                f"a tenant's rows were embedded with {name}; name that model in EMBEDDING_MODELS, or embed them again "
                "with another: parlour reembed"
            ) from None

    def find(self, model: str) -> str:
        """The space that somebody means by a model's name, or by the space's own. NotFound says what there is."""
        found = [name for name in self._offers if model in (name, name.rpartition("@")[0])]
        if len(found) != 1:
            raise NotFound(f"there is no one model {model}; the deployment names: {', '.join(self._offers)}")
        return found[0]

    def embedder(self, database: Database, tenant_id: UUID) -> Embedder:
        """What the tenant's questions are embedded with, read from the database at most every 30 seconds."""
        known = self._known.get(tenant_id)
        if known is None or self._clock() - known[0] >= _KEPT_SECONDS:
            known = (self._clock(), database.run(system(tenant_id), store.tenant_space))
            self._known[tenant_id] = known
        return self.offer(known[1]).embedder
