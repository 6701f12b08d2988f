"""Which models a deployment names, and which of them is meant."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from parlour.infra.errors import Misconfigured, NotFound
from parlour.search.index.embedding_spaces import EmbeddingModel, EmbeddingSpaces, PricedEmbedder, parse_models


@dataclass(frozen=True)
class Flat:
    model: str
    dimensions: int

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        return [[0.0] * self.dimensions for _ in texts]


OWN = EmbeddingModel("mini", 384, "http://here")


def test_the_deployments_own_model_comes_first_and_counts_once() -> None:
    further = '[{"model": "large", "dimensions": 1024}, {"model": "mini", "dimensions": 384, "url": "http://there"}]'
    assert parse_models(OWN, further) == [OWN, EmbeddingModel("large", 1024)]
    assert parse_models(OWN, "") == parse_models(OWN, "[]") == [OWN]


@pytest.mark.parametrize(
    "further", ["{", "[1]", '[{"model": "x"}]', '[{"model": "x", "dimensions": "many"}]', '{"a": 1}']
)
def test_further_models_that_nobody_can_read_are_told_with_an_example(further: str) -> None:
    with pytest.raises(Misconfigured, match="EMBEDDING_MODELS must be JSON"):
        parse_models(OWN, further)


def spaces() -> EmbeddingSpaces:
    return EmbeddingSpaces(
        [
            PricedEmbedder(Flat("mini", 384)),
            PricedEmbedder(Flat("large", 1024), "bedrock"),
            PricedEmbedder(Flat("large", 256)),
        ]
    )


def test_a_space_is_asked_for_by_its_name_and_none_is_the_deployments_own() -> None:
    assert spaces().priced_embedder(None).embedder.model == "mini"
    assert spaces().priced_embedder("large@256").embedder.dimensions == 256
    assert spaces().priced_embedder("large@1024").provider == "bedrock"
    with pytest.raises(Misconfigured, match="parlour reembed"):
        spaces().priced_embedder("gone@3")


def test_a_model_is_meant_by_its_name_unless_it_is_there_at_two_sizes() -> None:
    assert spaces().find_space("mini") == "mini@384"
    assert spaces().find_space("large@256") == "large@256"
    for unclear in ("large", "other"):
        with pytest.raises(NotFound, match="mini@384, large@1024, large@256"):
            spaces().find_space(unclear)
