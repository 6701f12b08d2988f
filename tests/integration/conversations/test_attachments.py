"""What came with a message is in the prompt of the turn that answers it, and in history as it was then."""

import base64
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.channels.attachment_content import MAX_FILE_WAIT, MAX_IMAGE_BYTES, MAX_TEXT_CHARS
from parlour.channels.envelope import Envelope, Media
from parlour.conversations import attachment_uploads, inbound_messages, turn_views
from parlour.conversations.attachment_uploads import ABANDONED_AFTER, MAX_WAITING_UPLOADS, AttachmentReference
from parlour.conversations.rows import NewUpload
from parlour.infra.errors import (
    AccessRefused,
    Conflict,
    InvalidRequest,
    NotFound,
    ProviderRejected,
    ProviderUnavailable,
)
from parlour.infra.ids import uuid7
from parlour.infra.json_values import canonical_json
from parlour.principal import Principal
from parlour.prompts.ledger.explanation import explain_turn
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.conversation_harness import PHONE, ConversationHarness, text_answer
from tests.inbound_media import PNG_BYTES, InboundMedia, content_blocks, joined_texts
from tests.integration.files.upload_harness import UploadHarness


@pytest.fixture
def post(conversation: ConversationHarness) -> InboundMedia:
    return InboundMedia(conversation)


@pytest.fixture
def visitor(conversation: ConversationHarness) -> Principal:
    return conversation.create_visitor()


def last_turn(conversation: ConversationHarness) -> UUID:
    ((turn_id,),) = conversation.query("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
    return UUID(str(turn_id))


def on_its_way(conversation: ConversationHarness, caption: str = "") -> UUID:
    """A message with a picture that nobody has fetched yet."""
    conversation.send_whatsapp(caption, "photo", kind="media", media=Media("image", "https://filemanager.gupshup.io/1"))
    ((message_id,),) = conversation.query("SELECT id FROM messages WHERE provider_message_id = 'gupshup:photo'")
    return UUID(str(message_id))


def still_due(conversation: ConversationHarness) -> bool:
    """Whether the sweep will look at the session."""
    return conversation.query("SELECT count(*) FROM work_due WHERE kind = 'session'") != [(0,)]


def causes(conversation: ConversationHarness) -> object:
    """Why the briefing was rendered anew in the newest turn."""
    turn_id = last_turn(conversation)
    with conversation.database.transaction(conversation.admin) as tx:
        explained: dict[str, Any] = dict(explain_turn(conversation.admin, tx, turn_id))
    return explained["steps"][0]["refresh_causes"]


def test_a_picture_is_shown_to_the_model_and_stays_in_history(
    conversation: ConversationHarness, post: InboundMedia
) -> None:
    post.send_whatsapp_file(PNG_BYTES, "photo", "Is this wide?", "crack.png")
    conversation.model.script = [text_answer("Yes."), text_answer("0.35 mm.")]
    opening = content_blocks(post.run_turn()[-1])
    picture = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG_BYTES).decode()}
    assert opening[0]["source"] == picture
    assert opening[1]["text"] == "Is this wide?"

    conversation.send_whatsapp("How wide exactly?", "m2")
    later = post.run_turn()
    assert [{**one, "cache_control": None} for one in content_blocks(later[0])] == [
        {**one, "cache_control": None} for one in opening[:2]
    ]
    ((told,),) = conversation.query("SELECT cache_miss FROM llm_calls ORDER BY at DESC LIMIT 1")
    assert told is None


def test_a_records_prompt_names_the_picture_and_is_rebuilt_byte_for_byte(
    conversation: ConversationHarness, post: InboundMedia
) -> None:
    post.send_whatsapp_file(PNG_BYTES, "photo", "", "crack.png")
    conversation.model.script = [text_answer("A crack.")]
    post.run_turn()
    turn_id = last_turn(conversation)
    with conversation.database.transaction(conversation.admin) as tx:
        again = rebuild_turn_prompt(conversation.admin, tx, turn_id)
        explained: dict[str, Any] = dict(explain_turn(conversation.admin, tx, turn_id))
    assert again["is_identical"] is True
    assert '"name":"crack.png"' in str(again["text"])
    assert base64.b64encode(PNG_BYTES).decode() not in str(again["text"])
    (step,) = explained["steps"]
    (shown,) = [one for one in step["candidates"] if one["kind"] == "attachments"]
    assert (shown["title"], shown["is_included"], shown["tokens"]) == ("crack.png", True, 1_604)
    kept = canonical_json([str(words) for (words,) in conversation.query("SELECT text FROM ledger_texts")])
    assert base64.b64encode(PNG_BYTES).decode() not in kept


def test_a_text_is_told_whole_with_its_name(conversation: ConversationHarness, post: InboundMedia) -> None:
    post.send_whatsapp_file("Tag;Länge\r\n1;3 m".encode(), "list", "What is in it?", "list.csv", kind="document")
    conversation.model.script = [text_answer("A table.")]
    assert "<parlour:file>\nlist.csv\nTag;Länge\n1;3 m\n</parlour:file>" in joined_texts(post.run_turn())


def test_what_has_no_room_is_refused_by_name_then_and_ever_after(
    conversation: ConversationHarness, post: InboundMedia
) -> None:
    post.send_whatsapp_file(b"The crane stood still again. " * 3_000, "long", "Sum it up.", "log.txt", kind="document")
    conversation.model.script = [text_answer("I cannot read that."), text_answer("No.")]
    line = "[The user also sent 'log.txt', too large to read here.]"
    opening = content_blocks(post.run_turn()[-1])
    assert opening[0]["text"] == line
    assert conversation.query("SELECT is_omitted FROM attachments") == [(True,)]

    conversation.send_whatsapp("And now?", "m2")
    assert content_blocks(post.run_turn()[0])[0]["text"] == line


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"OggS" + bytes(40), "[The user also sent 'voice.ogg', which cannot be opened here.]"),
        (b"MZ\x00", "[The user also sent 'voice.ogg', which cannot be opened here.]"),
        (PNG_BYTES + bytes(MAX_IMAGE_BYTES), "[The user also sent 'voice.ogg', too large to read here.]"),
    ],
    ids=["sound", "program", "large picture"],
)
def test_what_a_model_cannot_be_given_is_named(
    conversation: ConversationHarness, post: InboundMedia, data: bytes, line: str
) -> None:
    post.send_whatsapp_file(data, "voice", "Listen.", "voice.ogg")
    conversation.model.script = [text_answer("I cannot."), text_answer("Still not.")]
    assert line in joined_texts(post.run_turn()[-1:])
    conversation.send_whatsapp("Sure?", "m2")
    assert line in joined_texts(post.run_turn()[:1])


def test_nothing_but_what_cannot_be_opened_is_answered_politely(
    conversation: ConversationHarness, post: InboundMedia
) -> None:
    post.send_whatsapp_file(b"OggS" + bytes(40), "voice")
    post.conversation.run_turn()
    assert conversation.model.requests == []
    ((body,),) = conversation.query("SELECT body FROM messages WHERE direction = 'outbound'")
    assert str(body).startswith("I cannot open attachments of this kind")


def test_a_message_wakes_its_session_when_its_file_was_seen_to(conversation: ConversationHarness) -> None:
    """Until then it comes again; and should it not, the sweep has it."""
    media = Media("image", "https://filemanager.gupshup.io/1")
    outcomes: list[Exception | None] = [ProviderUnavailable("away"), None]

    def keep(_principal: object, _message_id: UUID) -> None:
        assert conversation.list_wakes() == []
        if (problem := outcomes.pop(0)) is not None:
            raise problem

    def deliver() -> None:
        sent = Envelope(
            channel="whatsapp",
            provider="gupshup",
            to="gupshup:ParlourDemo",
            sender=PHONE,
            provider_message_id="photo",
            kind="media",
            text="",
            media=media,
            status="",
            sent_at=conversation.clock(),
            metadata={},
        )
        desk = conversation
        inbound_messages.receive_envelope(desk.database, desk.turn_queues, desk.wakeups, sent, desk.clock(), keep)

    with pytest.raises(ProviderUnavailable):
        deliver()
    assert (conversation.list_wakes(), conversation.query("SELECT count(*) FROM work_due WHERE kind = 'session'")) == (
        [],
        [(1,)],
    )
    deliver()
    assert len(conversation.list_wakes()) == 1


@pytest.mark.parametrize("caption", ["", "This one."])
def test_a_picture_that_is_still_being_fetched_is_answered_once_it_is_there(
    conversation: ConversationHarness, post: InboundMedia, caption: str
) -> None:
    conversation.send_whatsapp("What is this?", "m1")
    conversation.clock.now += timedelta(seconds=1)
    photo = on_its_way(conversation, caption)
    conversation.model.script = [text_answer("Which one?"), text_answer("A crack.")]
    assert "cannot be opened" not in joined_texts(post.run_turn())
    assert conversation.query("SELECT state FROM messages WHERE kind = 'media'") == [("unanswered",)]
    assert still_due(conversation), "should the receiver die now, the sweep has the picture answered"
    post.run_turn()
    assert len(conversation.model.requests) == 1, "a wake that comes before the file opens no turn"

    conversation.clock.now += timedelta(seconds=14)
    post.fetch_and_store(photo, PNG_BYTES)
    opening = content_blocks(post.run_turn()[-1])
    assert opening[0]["type"] == "image"
    assert conversation.query("SELECT DISTINCT state FROM messages WHERE direction = 'inbound'") == [("answered",)]
    assert not still_due(conversation)
    conversation.send_whatsapp("And how wide?", "m3")
    conversation.model.script = [text_answer("0.35 mm.")]
    post.run_turn()
    assert conversation.query("SELECT cache_miss FROM llm_calls ORDER BY at DESC LIMIT 1") == [(None,)]


def test_a_picture_that_is_there_before_the_turn_begins_is_in_it(
    conversation: ConversationHarness, post: InboundMedia
) -> None:
    conversation.send_whatsapp("What is this?", "m1")
    post.fetch_and_store(on_its_way(conversation), PNG_BYTES)
    conversation.model.script = [text_answer("A crack.")]
    assert {str(one["type"]) for one in content_blocks(post.run_turn()[-1])} == {"text", "image"}
    post.run_turn()
    assert len(conversation.model.requests) == 1


@pytest.mark.parametrize("why", ["it takes too long", "it waits for a key"])
def test_a_turn_waits_so_long_for_a_file_and_the_next_one_has_it(
    conversation: ConversationHarness, post: InboundMedia, why: str
) -> None:
    photo = on_its_way(conversation)
    conversation.send_whatsapp("What do you see?", "m2")
    if why == "it takes too long":
        conversation.clock.now += MAX_FILE_WAIT + timedelta(seconds=1)
    else:
        post.bucket.is_access_refused = True
        with pytest.raises(AccessRefused):
            post.fetch_and_store(photo, PNG_BYTES)
        post.bucket.is_access_refused = False
    conversation.model.script = [text_answer("Nothing yet."), text_answer("A crack.")]
    assert "cannot be opened here" in joined_texts(post.run_turn())
    post.fetch_and_store(photo, PNG_BYTES)
    conversation.send_whatsapp("And now?", "m3")
    assert content_blocks(post.run_turn()[0])[0]["type"] == "image"


@pytest.mark.parametrize(
    "standby",
    [(ProviderRejected("could not process image"),), (ProviderUnavailable("busy"), ProviderUnavailable("busy"))],
    ids=["refuses it too", "is busy"],
)
def test_a_prompt_that_is_refused_with_its_picture_is_answered_without_it(
    conversation: ConversationHarness, post: InboundMedia, standby: tuple[Exception, ...]
) -> None:
    post.send_whatsapp_file(PNG_BYTES, "photo", "Is this wide?")
    conversation.model.script = [ProviderRejected("could not process image"), *standby, text_answer("I cannot see it.")]
    assert "cannot be opened any more" in joined_texts(post.run_turn())
    assert conversation.query("SELECT body FROM messages WHERE direction = 'outbound'") == [("I cannot see it.",)]


def test_an_upload_goes_along_with_a_message_of_the_web(
    conversation: ConversationHarness, post: InboundMedia, visitor: Principal
) -> None:
    session = conversation.find_session(visitor)
    picture = post.upload_file(visitor, session, PNG_BYTES, "crack.png")
    note = post.upload_file(visitor, session, b"Wider than 0.3 mm.", "note.md")
    first = post.send_web(visitor, session, "", picture, note, client_id="one")
    assert post.send_web(visitor, session, "", picture, note, client_id="one") == first
    conversation.model.script = [text_answer("A crack.")]
    opening = content_blocks(post.run_turn()[-1])
    assert opening[0]["type"] == "image"
    assert "note.md\nWider than 0.3 mm." in str(opening[1]["text"])
    with conversation.database.transaction(visitor) as tx:
        told = turn_views.read_transcript(visitor, tx, session, 5)[0].attachments
    assert [(one["kind"], one["name"]) for one in told] == [("image", "crack.png"), ("text", "note.md")]


def test_what_cannot_go_along_is_said_before_anything_is_stored(
    conversation: ConversationHarness, post: InboundMedia, visitor: Principal
) -> None:
    session, other = conversation.find_session(visitor), conversation.create_visitor()
    elsewhere = post.upload_file(other, conversation.find_session(other), PNG_BYTES, "theirs.png")
    film = post.upload_file(visitor, session, b"\x00\x00\x00\x18ftypmp42", "film.mp4")
    large = post.upload_file(visitor, session, b"x" * (MAX_TEXT_CHARS + 1), "long.txt")
    with conversation.database.transaction(visitor) as tx:
        never = attachment_uploads.start_upload(
            visitor, tx, post.bucket, session, NewUpload(uuid7(conversation.clock()), "a.png", 10), conversation.clock()
        )
    used = post.upload_file(visitor, session, PNG_BYTES, "once.png")
    post.send_web(visitor, session, "Look", used)
    refused: list[tuple[AttachmentReference, type[Exception], str]] = [
        (elsewhere, NotFound, "not found in this session"),
        (AttachmentReference(upload_id=uuid7(conversation.clock())), NotFound, "not found in this session"),
        (AttachmentReference(file_id=uuid7(conversation.clock())), NotFound, "not found"),
        (film, InvalidRequest, "film.mp4 cannot be sent"),
        (large, InvalidRequest, "long.txt is too large"),
        (AttachmentReference(upload_id=never.id), Conflict, "a.png has not arrived"),
        (used, Conflict, "once.png was sent with another message"),
    ]
    for named, kind, line in refused:
        with pytest.raises(kind, match=line):
            post.send_web(visitor, session, "Hello", named)
    with pytest.raises(NotFound):
        post.send_web(other, session, "Hello")
    assert conversation.query("SELECT count(*) FROM messages") == [(1,)]


def test_so_many_uploads_wait_for_a_message_and_no_more(
    conversation: ConversationHarness, post: InboundMedia, visitor: Principal
) -> None:
    session = conversation.find_session(visitor)
    first, *_ = [post.upload_file(visitor, session, PNG_BYTES, "a.png") for _ in range(MAX_WAITING_UPLOADS)]
    with pytest.raises(Conflict, match="are not sent yet"):
        post.upload_file(visitor, session, PNG_BYTES, "a.png")
    post.send_web(visitor, session, "One of them", first)
    post.upload_file(visitor, session, PNG_BYTES, "a.png")


def test_uploads_that_nothing_came_of_are_taken_away_and_keep_nobody_from_sending(
    conversation: ConversationHarness, post: InboundMedia, visitor: Principal
) -> None:
    session, other = conversation.find_session(visitor), conversation.create_visitor()
    for _ in range(MAX_WAITING_UPLOADS):
        post.upload_file(visitor, session, PNG_BYTES, "a.png")
    conversation.clock.now += ABANDONED_AFTER
    post.bucket.is_unavailable = True
    sent = post.upload_file(visitor, session, PNG_BYTES, "b.png")
    assert len(post.bucket.objects) == MAX_WAITING_UPLOADS + 1, "the store is away; that keeps nobody from sending"
    post.bucket.is_unavailable = False
    post.send_web(visitor, session, "This one", sent)
    post.upload_file(other, conversation.find_session(other), PNG_BYTES, "c.png")
    assert conversation.query("SELECT name FROM attachments ORDER BY name") == [("b.png",), ("c.png",)]
    assert len(post.bucket.objects) == 2


def test_a_file_goes_along_by_its_words_as_they_are_then(
    conversation: ConversationHarness, post: InboundMedia, visitor: Principal
) -> None:
    files, session = (
        UploadHarness(conversation.database, conversation.admin, conversation.clock),
        conversation.find_session(visitor),
    )
    waiting = files.upload("log.md", b"# Crane\n\nStop at 38 km/h.")
    with pytest.raises(Conflict, match=r"log\.md is still being read"):
        post.send_web(visitor, session, "What is the limit?", AttachmentReference(file_id=waiting.id))
    files.run_ingestion()
    post.send_web(visitor, session, "What is the limit?", AttachmentReference(file_id=waiting.id))
    conversation.model.script = [text_answer("38 km/h."), text_answer("Still 38.")]
    opening = content_blocks(post.run_turn()[-1])
    assert "Stop at 38 km/h." in str(opening[0]["text"])
    files.upload_new_version(waiting, b"# Crane\n\nStop at 50 km/h.")
    files.run_ingestion()
    post.send_web(visitor, session, "And now?")
    assert content_blocks(post.run_turn()[0])[0]["text"] == opening[0]["text"]


@pytest.mark.parametrize("how", ["closed", "deleted"])
def test_a_file_that_its_reader_may_not_see_any_more_is_not_told_again(
    conversation: ConversationHarness, post: InboundMedia, visitor: Principal, how: str
) -> None:
    files, session = (
        UploadHarness(conversation.database, conversation.admin, conversation.clock),
        conversation.find_session(visitor),
    )
    file = files.upload("log.md", b"# Crane\n\nStop at 38 km/h.")
    files.run_ingestion()
    post.send_web(visitor, session, "What is the limit?", AttachmentReference(file_id=file.id))
    conversation.model.script = [text_answer("38 km/h."), text_answer("No."), text_answer("No.")]
    assert "38 km/h" in joined_texts(post.run_turn())
    if how == "closed":
        conversation.query(f"UPDATE files SET classification = 3 WHERE id = '{file.id}' RETURNING 1")
        with pytest.raises(NotFound):
            post.send_web(visitor, session, "Again", AttachmentReference(file_id=file.id))
    else:
        files.delete(file)
        assert conversation.query("SELECT body FROM attachments") == [(None,)]
    post.send_web(visitor, session, "And now?")
    later = joined_texts(post.run_turn())
    assert "38 km/h" not in later
    assert "log.md" not in later
    assert "not to be told of any more" in later
    ((miss,),) = conversation.query("SELECT cache_miss ->> 'cause' FROM llm_calls ORDER BY at DESC LIMIT 1")
    assert (miss, causes(conversation)) == ("classification", ["classification"])
    post.send_web(visitor, session, "Still?")
    post.run_turn()
    assert conversation.query("SELECT cache_miss FROM llm_calls ORDER BY at DESC LIMIT 1") == [(None,)]
    assert causes(conversation) == []
    with conversation.database.transaction(visitor) as tx:
        assert turn_views.read_transcript(visitor, tx, session, 10)[0].attachments == []
