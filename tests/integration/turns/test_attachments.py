"""What came with a message is in the prompt of the turn that answers it, and in history as it was then."""

import base64
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.channels.envelope import Envelope, Media
from parlour.channels.included import AWAITED, LARGEST_IMAGE, LONGEST_TEXT
from parlour.infra.errors import (
    AccessRefused,
    Conflict,
    InvalidRequest,
    NotFound,
    ProviderRejected,
    ProviderUnavailable,
)
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import canonical
from parlour.principal import Principal
from parlour.turns import attaching, read, receive
from parlour.turns.attaching import GIVEN_UP_AFTER, MOST_WAITING, Named
from parlour.turns.prompts.explain import explain
from parlour.turns.prompts.rebuild import rebuild
from tests.desk import PHONE, Desk, says
from tests.integration.knowledge.file_desk import FileDesk
from tests.post import PNG, Post, blocks, texts


@pytest.fixture
def post(desk: Desk) -> Post:
    return Post(desk)


@pytest.fixture
def visitor(desk: Desk) -> Principal:
    return desk.visit()


def last_turn(desk: Desk) -> UUID:
    ((turn_id,),) = desk.rows("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
    return UUID(str(turn_id))


def on_its_way(desk: Desk, caption: str = "") -> UUID:
    """A message with a picture that nobody has fetched yet."""
    desk.write(caption, "photo", kind="media", media=Media("image", "https://filemanager.gupshup.io/1"))
    ((message_id,),) = desk.rows("SELECT id FROM messages WHERE provider_message_id = 'gupshup:photo'")
    return UUID(str(message_id))


def still_due(desk: Desk) -> bool:
    """Whether the sweep will look at the session."""
    return desk.rows("SELECT count(*) FROM work_due WHERE kind = 'session'") != [(0,)]


def causes(desk: Desk) -> object:
    """Why the briefing was rendered anew in the newest turn."""
    turn_id = last_turn(desk)
    with desk.database.transaction(desk.admin) as tx:
        explained: dict[str, Any] = dict(explain(desk.admin, tx, turn_id))
    return explained["steps"][0]["causes"]


def test_a_picture_is_shown_to_the_model_and_stays_in_history(desk: Desk, post: Post) -> None:
    post.whatsapp(PNG, "photo", "Is this wide?", "crack.png")
    desk.model.script = [says("Yes."), says("0.35 mm.")]
    opening = blocks(post.run()[-1])
    picture = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    assert opening[0]["source"] == picture
    assert opening[1]["text"] == "Is this wide?"

    desk.write("How wide exactly?", "m2")
    later = post.run()
    assert [{**one, "cache_control": None} for one in blocks(later[0])] == [
        {**one, "cache_control": None} for one in opening[:2]
    ]
    ((told,),) = desk.rows("SELECT miss FROM llm_calls ORDER BY at DESC LIMIT 1")
    assert told is None


def test_a_records_prompt_names_the_picture_and_is_rebuilt_byte_for_byte(desk: Desk, post: Post) -> None:
    post.whatsapp(PNG, "photo", "", "crack.png")
    desk.model.script = [says("A crack.")]
    post.run()
    turn_id = last_turn(desk)
    with desk.database.transaction(desk.admin) as tx:
        again = rebuild(desk.admin, tx, turn_id)
        explained: dict[str, Any] = dict(explain(desk.admin, tx, turn_id))
    assert again["matches"] is True
    assert '"name":"crack.png"' in str(again["text"])
    assert base64.b64encode(PNG).decode() not in str(again["text"])
    (step,) = explained["steps"]
    (shown,) = [one for one in step["candidates"] if one["lot"] == "attachments"]
    assert (shown["title"], shown["in"], shown["tokens"]) == ("crack.png", True, 1_604)
    kept = canonical([str(words) for (words,) in desk.rows("SELECT words FROM ledger_blobs")])
    assert base64.b64encode(PNG).decode() not in kept


def test_a_text_is_told_whole_with_its_name(desk: Desk, post: Post) -> None:
    post.whatsapp("Tag;Länge\r\n1;3 m".encode(), "list", "What is in it?", "list.csv", kind="document")
    desk.model.script = [says("A table.")]
    assert "<parlour:file>\nlist.csv\nTag;Länge\n1;3 m\n</parlour:file>" in texts(post.run())


def test_what_has_no_room_is_refused_by_name_then_and_ever_after(desk: Desk, post: Post) -> None:
    post.whatsapp(b"The crane stood still again. " * 3_000, "long", "Sum it up.", "log.txt", kind="document")
    desk.model.script = [says("I cannot read that."), says("No.")]
    line = "[The user also sent 'log.txt', too large to read here.]"
    opening = blocks(post.run()[-1])
    assert opening[0]["text"] == line
    assert desk.rows("SELECT refused FROM attachments") == [(True,)]

    desk.write("And now?", "m2")
    assert blocks(post.run()[0])[0]["text"] == line


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"OggS" + bytes(40), "[The user also sent 'voice.ogg', which cannot be opened here.]"),
        (b"MZ\x00", "[The user also sent 'voice.ogg', which cannot be opened here.]"),
        (PNG + bytes(LARGEST_IMAGE), "[The user also sent 'voice.ogg', too large to read here.]"),
    ],
    ids=["sound", "program", "large picture"],
)
def test_what_a_model_cannot_be_given_is_named(desk: Desk, post: Post, data: bytes, line: str) -> None:
    post.whatsapp(data, "voice", "Listen.", "voice.ogg")
    desk.model.script = [says("I cannot."), says("Still not.")]
    assert line in texts(post.run()[-1:])
    desk.write("Sure?", "m2")
    assert line in texts(post.run()[:1])


def test_nothing_but_what_cannot_be_opened_is_answered_politely(desk: Desk, post: Post) -> None:
    post.whatsapp(b"OggS" + bytes(40), "voice")
    post.desk.run()
    assert desk.model.requests == []
    ((body,),) = desk.rows("SELECT body FROM messages WHERE direction = 'outbound'")
    assert str(body).startswith("I cannot open attachments of this kind")


def test_a_message_wakes_its_session_when_its_file_was_seen_to(desk: Desk) -> None:
    """Until then it comes again; and should it not, the sweep has it."""
    media = Media("image", "https://filemanager.gupshup.io/1")
    outcomes: list[Exception | None] = [ProviderUnavailable("away"), None]

    def keep(_principal: object, _message_id: UUID) -> None:
        assert desk.wakes() == []
        if (problem := outcomes.pop(0)) is not None:
            raise problem

    def deliver() -> None:
        sent = {"channel": "whatsapp", "provider": "gupshup", "to": "gupshup:ParlourDemo", "sender": PHONE,
                "provider_message_id": "photo", "kind": "media", "text": "", "media": media, "status": "",
                "sent_at": desk.clock(), "metadata": {}}  # fmt: skip
        receive.receive(desk.database, desk.turns, Envelope(**sent), desk.clock(), uuid7, keep)  # type: ignore[arg-type]

    with pytest.raises(ProviderUnavailable):
        deliver()
    assert (desk.wakes(), desk.rows("SELECT count(*) FROM work_due WHERE kind = 'session'")) == ([], [(1,)])
    deliver()
    assert len(desk.wakes()) == 1


@pytest.mark.parametrize("caption", ["", "This one."])
def test_a_picture_that_is_still_being_fetched_is_answered_once_it_is_there(
    desk: Desk, post: Post, caption: str
) -> None:  # fmt: skip
    desk.write("What is this?", "m1")
    desk.clock.now += timedelta(seconds=1)
    photo = on_its_way(desk, caption)
    desk.model.script = [says("Which one?"), says("A crack.")]
    assert "cannot be opened" not in texts(post.run())
    assert desk.rows("SELECT state FROM messages WHERE kind = 'media'") == [("unanswered",)]
    assert still_due(desk), "should the receiver die now, the sweep has the picture answered"
    post.run()
    assert len(desk.model.requests) == 1, "a wake that comes before the file opens no turn"

    desk.clock.now += timedelta(seconds=14)
    post.keep(photo, PNG)
    opening = blocks(post.run()[-1])
    assert opening[0]["type"] == "image"
    assert desk.rows("SELECT DISTINCT state FROM messages WHERE direction = 'inbound'") == [("answered",)]
    assert not still_due(desk)
    desk.write("And how wide?", "m3")
    desk.model.script = [says("0.35 mm.")]
    post.run()
    assert desk.rows("SELECT miss FROM llm_calls ORDER BY at DESC LIMIT 1") == [(None,)]


def test_a_picture_that_is_there_before_the_turn_begins_is_in_it(desk: Desk, post: Post) -> None:
    desk.write("What is this?", "m1")
    post.keep(on_its_way(desk), PNG)
    desk.model.script = [says("A crack.")]
    assert {str(one["type"]) for one in blocks(post.run()[-1])} == {"text", "image"}
    post.run()
    assert len(desk.model.requests) == 1


@pytest.mark.parametrize("why", ["it takes too long", "it waits for a key"])
def test_a_turn_waits_so_long_for_a_file_and_the_next_one_has_it(desk: Desk, post: Post, why: str) -> None:
    photo = on_its_way(desk)
    desk.write("What do you see?", "m2")
    if why == "it takes too long":
        desk.clock.now += AWAITED + timedelta(seconds=1)
    else:
        post.bucket.refuses = True
        with pytest.raises(AccessRefused):
            post.keep(photo, PNG)
        post.bucket.refuses = False
    desk.model.script = [says("Nothing yet."), says("A crack.")]
    assert "cannot be opened here" in texts(post.run())
    post.keep(photo, PNG)
    desk.write("And now?", "m3")
    assert blocks(post.run()[0])[0]["type"] == "image"


@pytest.mark.parametrize(
    "standby",
    [(ProviderRejected("could not process image"),), (ProviderUnavailable("busy"), ProviderUnavailable("busy"))],
    ids=["refuses it too", "is busy"],
)
def test_a_prompt_that_is_refused_with_its_picture_is_answered_without_it(
    desk: Desk, post: Post, standby: tuple[Exception, ...]
) -> None:
    post.whatsapp(PNG, "photo", "Is this wide?")
    desk.model.script = [ProviderRejected("could not process image"), *standby, says("I cannot see it.")]
    assert "cannot be opened any more" in texts(post.run())
    assert desk.rows("SELECT body FROM messages WHERE direction = 'outbound'") == [("I cannot see it.",)]


def test_an_upload_goes_along_with_a_message_of_the_web(desk: Desk, post: Post, visitor: Principal) -> None:
    session = desk.session_of(visitor)
    picture = post.upload(visitor, session, PNG, "crack.png")
    note = post.upload(visitor, session, b"Wider than 0.3 mm.", "note.md")
    first = post.say(visitor, session, "", picture, note, client_id="one")
    assert post.say(visitor, session, "", picture, note, client_id="one") == first
    desk.model.script = [says("A crack.")]
    opening = blocks(post.run()[-1])
    assert opening[0]["type"] == "image"
    assert "note.md\nWider than 0.3 mm." in str(opening[1]["text"])
    with desk.database.transaction(visitor) as tx:
        told = read.transcript(visitor, tx, session, 5)[0].attachments
    assert [(one["kind"], one["name"]) for one in told] == [("image", "crack.png"), ("text", "note.md")]


def test_what_cannot_go_along_is_said_before_anything_is_stored(
    desk: Desk, post: Post, visitor: Principal
) -> None:  # fmt: skip
    session, other = desk.session_of(visitor), desk.visit()
    elsewhere = post.upload(other, desk.session_of(other), PNG, "theirs.png")
    film = post.upload(visitor, session, b"\x00\x00\x00\x18ftypmp42", "film.mp4")
    large = post.upload(visitor, session, b"x" * (LONGEST_TEXT + 1), "long.txt")
    with desk.database.transaction(visitor) as tx:
        never = attaching.start(visitor, tx, post.bucket, session, "a.png", 10, desk.clock(), uuid7(desk.clock()))
    used = post.upload(visitor, session, PNG, "once.png")
    post.say(visitor, session, "Look", used)
    refused: list[tuple[Named, type[Exception], str]] = [
        (elsewhere, NotFound, "nothing was uploaded"),
        (Named(upload=uuid7(desk.clock())), NotFound, "nothing was uploaded"),
        (Named(file=uuid7(desk.clock())), NotFound, "there is no file"),
        (film, InvalidRequest, "film.mp4 cannot be sent"),
        (large, InvalidRequest, "long.txt is too large"),
        (Named(upload=never.id), Conflict, "nothing of a.png has arrived"),
        (used, Conflict, "once.png was sent with another message"),
    ]
    for named, kind, line in refused:
        with pytest.raises(kind, match=line):
            post.say(visitor, session, "Hello", named)
    with pytest.raises(NotFound):
        post.say(other, session, "Hello")
    assert desk.rows("SELECT count(*) FROM messages") == [(1,)]


def test_so_many_uploads_wait_for_a_message_and_no_more(desk: Desk, post: Post, visitor: Principal) -> None:
    session = desk.session_of(visitor)
    first, *_ = [post.upload(visitor, session, PNG, "a.png") for _ in range(MOST_WAITING)]
    with pytest.raises(Conflict, match="wait for a message"):
        post.upload(visitor, session, PNG, "a.png")
    post.say(visitor, session, "One of them", first)
    post.upload(visitor, session, PNG, "a.png")


def test_uploads_that_nothing_came_of_are_taken_away_and_keep_nobody_from_sending(
    desk: Desk, post: Post, visitor: Principal
) -> None:
    session, other = desk.session_of(visitor), desk.visit()
    for _ in range(MOST_WAITING):
        post.upload(visitor, session, PNG, "a.png")
    desk.clock.now += GIVEN_UP_AFTER
    post.bucket.away = True
    sent = post.upload(visitor, session, PNG, "b.png")
    assert len(post.bucket.kept) == MOST_WAITING + 1, "the store is away; that keeps nobody from sending"
    post.bucket.away = False
    post.say(visitor, session, "This one", sent)
    post.upload(other, desk.session_of(other), PNG, "c.png")
    assert desk.rows("SELECT name FROM attachments ORDER BY name") == [("b.png",), ("c.png",)]
    assert len(post.bucket.kept) == 2


def test_a_file_goes_along_by_its_words_as_they_are_then(desk: Desk, post: Post, visitor: Principal) -> None:
    files, session = FileDesk(desk.database, desk.admin, desk.clock), desk.session_of(visitor)
    waiting = files.upload("log.md", b"# Crane\n\nStop at 38 km/h.")
    with pytest.raises(Conflict, match=r"log\.md is still being read"):
        post.say(visitor, session, "What is the limit?", Named(file=waiting.id))
    files.work()
    post.say(visitor, session, "What is the limit?", Named(file=waiting.id))
    desk.model.script = [says("38 km/h."), says("Still 38.")]
    opening = blocks(post.run()[-1])
    assert "Stop at 38 km/h." in str(opening[0]["text"])
    files.upload_again(waiting, b"# Crane\n\nStop at 50 km/h.")
    files.work()
    post.say(visitor, session, "And now?")
    assert blocks(post.run()[0])[0]["text"] == opening[0]["text"]


@pytest.mark.parametrize("how", ["closed", "deleted"])
def test_a_file_that_its_reader_may_not_see_any_more_is_not_told_again(
    desk: Desk, post: Post, visitor: Principal, how: str
) -> None:
    files, session = FileDesk(desk.database, desk.admin, desk.clock), desk.session_of(visitor)
    file = files.upload("log.md", b"# Crane\n\nStop at 38 km/h.")
    files.work()
    post.say(visitor, session, "What is the limit?", Named(file=file.id))
    desk.model.script = [says("38 km/h."), says("No."), says("No.")]
    assert "38 km/h" in texts(post.run())
    if how == "closed":
        desk.rows(f"UPDATE files SET classification = 3 WHERE id = '{file.id}' RETURNING 1")
        with pytest.raises(NotFound):
            post.say(visitor, session, "Again", Named(file=file.id))
    else:
        files.delete(file)
        assert desk.rows("SELECT body FROM attachments") == [(None,)]
    post.say(visitor, session, "And now?")
    later = texts(post.run())
    assert "38 km/h" not in later
    assert "log.md" not in later
    assert "not to be told of any more" in later
    ((miss,),) = desk.rows("SELECT miss ->> 'cause' FROM llm_calls ORDER BY at DESC LIMIT 1")
    assert (miss, causes(desk)) == ("classification", ["classification"])
    post.say(visitor, session, "Still?")
    post.run()
    assert desk.rows("SELECT miss FROM llm_calls ORDER BY at DESC LIMIT 1") == [(None,)]
    assert causes(desk) == []
    with desk.database.transaction(visitor) as tx:
        assert read.transcript(visitor, tx, session, 10)[0].attachments == []
