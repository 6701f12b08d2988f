"""A record on the deployed functions: it is found by its meaning seconds after it was written."""

from local.stack_client import wait_until
from tests.end_to_end.operating import operate
from tests.end_to_end.world import World


def test_a_record_that_is_written_is_found_by_meaning_seconds_later_and_its_deletion_at_once(world: World) -> None:
    made = operate(
        world, "POST", "/v1/entities", json={"type": "finding", "name": "Otter holt below the north abutment"}
    ).json()
    handle = made["handle"]
    row = "SELECT count(*) FROM embeddings v JOIN context_rows r ON r.id = v.row_id WHERE r.entity_id = %s"
    wait_until(lambda: world.value(row, made["id"]), "the record's vector", 30)
    assert handle in operate(world, "GET", "/v1/search", params={"q": "otter holt"}).text
    operate(world, "DELETE", f"/v1/entities/{handle}")
    assert handle not in operate(world, "GET", "/v1/search", params={"q": "otter holt"}).text
