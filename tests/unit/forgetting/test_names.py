"""Handles that say a name, in the records that stay."""

import json

from parlour.forgetting import names

TEXT = json.dumps({"also": [{"table": "handles", "id": "document/asha-12"}, {"id": "document/asha-123"}], "n": "asha"})


def test_a_handle_is_told_by_the_whole_of_it() -> None:
    assert names.are_in(TEXT, ["risk/R-1", "document/asha-12"])
    assert not names.are_in(TEXT, ["document/asha", "document/asha-1"])


def test_in_its_place_stands_one_that_leads_nowhere() -> None:
    assert json.loads(names.without(TEXT, ["document/asha-12"])) == {
        "also": [{"table": "handles", "id": "document/forgotten"}, {"id": "document/asha-123"}], "n": "asha"
    }  # fmt: skip
