"""The part of the working day in which people send things along with their messages."""

import pytest

from parlour.infra.errors import AccessRefused
from parlour.turns.attaching import GIVEN_UP_AFTER, Named
from tests.desk import Desk, says
from tests.integration.knowledge.file_desk import FileDesk
from tests.post import PNG, Post


def sent_along(desk: Desk) -> None:
    """Two pictures over WhatsApp, one of which comes late; on the web another, a text that has no room, a file that is
    there already, and an upload that is never sent."""
    post, files = Post(desk), FileDesk(desk.database, desk.admin, desk.clock)
    post.bucket.refuses = True
    with pytest.raises(AccessRefused):
        post.whatsapp(PNG, "day-late", "", "late.png")
    post.bucket.refuses = False
    post.whatsapp(PNG, "day-picture", "Is this wide?", "crack.png")
    desk.model.script = [says("Wider than the others.")]
    post.run()
    visitor = desk.visit()
    session = desk.session_of(visitor)
    log = files.upload("crane-log.md", b"# Crane\n\nStop at 38 km/h.")
    files.work()
    post.upload(visitor, session, PNG, "other.png")
    desk.clock.now += GIVEN_UP_AFTER
    uploads = [
        post.upload(visitor, session, PNG, "crane.png"),
        post.upload(visitor, session, b"x y " * 20_000, "all.txt"),
    ]
    post.say(visitor, session, "", *uploads, Named(file=log.id))
    desk.model.script = [says("It stood still.")]
    post.run()
    assert desk.rows("SELECT name FROM attachments WHERE refused") == [("all.txt",)]
