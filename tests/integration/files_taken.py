"""The part of the working day in which people upload files."""

import pytest

from parlour.infra.errors import ObjectsUnavailable
from parlour.knowledge.files.file import LOOKED_AFTER
from tests import papers
from tests.desk import Desk
from tests.integration.knowledge.file_desk import FileDesk


def files_taken(desk: Desk) -> None:
    """A contract about a record, again in a new version; a team's procedures, which wait for the bucket; a file that is
    no file; one downloaded and deleted, and looked for once more an hour later."""
    room = FileDesk(desk.database, desk.admin, desk.clock)
    contract = room.upload("main-works.pdf", papers.contract(), "project/QUAY")
    room.work()
    room.upload_again(contract, papers.contract())
    room.work()
    assert room.read(contract).version == 2
    room.upload("lifting.md", b"# Lifting\n\nStop at 38 km/h.", team="site-operations")
    room.bucket.away = True
    with pytest.raises(ObjectsUnavailable):
        room.work()
    room.bucket.away = False
    room.upload("broken.pdf", b"%PDF- and no more")
    room.work()
    assert len(room.browse(team="site-operations")) == 1
    addendum = room.upload("addendum.pdf", papers.contract(), "project/QUAY")
    room.work()
    assert room.content(addendum).name == "addendum.pdf"
    room.delete(addendum)
    desk.clock.now += LOOKED_AFTER
    room.look_again(addendum.id)
