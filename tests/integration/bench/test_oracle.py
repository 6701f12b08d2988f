"""The recorded conversations, played with the code as it is; `python -m bench.oracle` tells more of what differs."""

from collections.abc import Iterator

import pytest

from bench.oracle import product, recording
from bench.oracle.conversations import ALL
from bench.oracle.pack import OVERLAY
from bench.oracle.player import play
from local.database import Cluster


@pytest.fixture(scope="module")
def prepared() -> Iterator[Cluster]:
    """A cluster of its own, with the database that every conversation begins with."""
    with product.cluster() as running:
        product.prepare(running, OVERLAY)
        yield running


@pytest.mark.parametrize("name", ALL)
def test_a_recorded_conversation_has_the_prompts_it_had(prepared: Cluster, name: str) -> None:
    with product.world(prepared, name.replace(".", "_")) as world:
        now = recording.to_json({name: play(world, ALL[name])}, "")
    differences = recording.compare(recording.read(), now, product.LAYERS)
    left = recording.open_differences(differences, recording.read_accepted())
    assert [f"{parts}: {' '.join(places)}" for parts, _, places in recording.grouped(left)] == []


def test_every_recorded_conversation_is_played() -> None:
    assert recording.read()["conversations"].keys() == ALL.keys()
