"""The part of the working day in which people upload files."""

from tests import papers
from tests.desk import Desk
from tests.integration.knowledge.file_desk import FileDesk


def files_taken(desk: Desk) -> None:
    """A contract about a record, again in a new version; a team's procedures; a file that is no file; one deleted."""
    room = FileDesk(desk.database, desk.admin, desk.clock)
    contract = room.upload("main-works.pdf", papers.contract(), "project/QUAY")
    room.work()
    room.upload_again(contract, papers.contract())
    room.work()
    assert room.read(contract).version == 2
    room.upload("lifting.md", b"# Lifting\n\nStop at 38 km/h.", team="site-operations")
    room.upload("broken.pdf", b"%PDF- and no more")
    room.work()
    assert len(room.browse(team="site-operations")) == 1
    addendum = room.upload("addendum.pdf", papers.contract(), "project/QUAY")
    room.work()
    room.delete(addendum)
