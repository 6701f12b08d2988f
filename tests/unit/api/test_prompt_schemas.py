"""The prompts' models name what prompts have."""

from typing import get_args

from parlour.prompts.assembly.segment import Layer, LayerName


def test_every_layer_has_its_name_in_the_api() -> None:
    assert list(get_args(LayerName.__value__)) == [layer.name.lower() for layer in Layer]
