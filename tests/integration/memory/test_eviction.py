"""However much somebody tells of themselves, what is known of them stays little enough to be ranked in every turn."""

from parlour.memory.facts.fact import MAX_LIVE_FACTS
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.extraction_harness import ExtractionConversation


def told(web_conversation: ExtractionConversation, count: int, prefix: str = "k", **columns: str) -> None:
    """So many facts as one day would leave them, put there by hand."""
    names, values = "".join(f", {name}" for name in columns), "".join(f", {value}" for value in columns.values())
    web_conversation.desk.query(
        "INSERT INTO facts (tenant_id, id, scope, user_id, binding_id, key, value, confidence, origin, valid_from,"
        f" last_confirmed_at, created_at{names}) SELECT s.tenant_id, gen_random_uuid(), 'user', s.user_id,"
        " s.binding_id,"
        f" 'preference.{prefix}' || n, 'it is ' || n, 0.9, 'stated', s.created_at, s.created_at - interval '1 hour'"
        f" + n * interval '1 second', s.created_at{values} FROM sessions s, generate_series(1, {count}) n"
        f" WHERE s.id = '{web_conversation.session}' RETURNING 1"
    )


def crowded(web_conversation: ExtractionConversation) -> list[tuple[object, ...]]:
    return web_conversation.desk.query("SELECT key FROM facts WHERE end_reason = 'evicted' ORDER BY last_confirmed_at")


def test_who_tells_too_much_loses_what_was_of_the_least_use(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    told(talk, MAX_LIVE_FACTS - 3, recall_count="9", use_count="n % 3")
    told(talk, 2, "new")
    talk.say("My name is Meera.")
    assert crowded(talk) == []
    talk.say("I'm on the Gold plan. Remember that I like mangoes.")
    assert len(talk.facts()) == MAX_LIVE_FACTS
    assert crowded(talk) == [("preference.k3",), ("preference.k6",)]
    assert ("preference.k3", "evicted") in talk.decisions("stated")


def test_what_the_vocabulary_has_a_key_for_and_what_was_put_right_stays(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.say("My name is Meera. I'm on the Gold plan.")
    conversation.query(
        "UPDATE facts SET recall_count = 50, last_confirmed_at = last_confirmed_at - interval '1 year' RETURNING 1"
    )
    told(talk, 1, "right", recall_count="60")
    conversation.query("UPDATE facts SET origin = 'edited' WHERE key = 'preference.right1' RETURNING 1")
    told(talk, MAX_LIVE_FACTS - 3, recall_count="5")
    talk.say("Please reply in Hindi.")
    assert crowded(talk) == [("preference.k1",)]


def test_more_than_are_added_go_until_there_is_room(conversation: ConversationHarness) -> None:
    """Two users who turned out to be one may know twice as much."""
    talk = ExtractionConversation(conversation)
    told(talk, MAX_LIVE_FACTS + 10)
    talk.say("Please reply in Hindi.")
    assert len(talk.facts()) == MAX_LIVE_FACTS + 9
    talk.say("My name is Meera. I'm on the Gold plan. Contact me by email. Call me Mira. Remember that I like tea.")
    assert len(talk.facts()) <= MAX_LIVE_FACTS + 5


def test_everything_is_forgotten_however_much_it_is(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    told(talk, 200)
    talk.say("Please forget everything you know about me.")
    assert talk.facts() == {}


def test_what_was_known_last_is_read_key_by_key(conversation: ConversationHarness) -> None:
    """What was taken back is not brought back by what was said before, whatever else is known."""
    talk = ExtractionConversation(conversation)
    talk.say("I'm on the Gold plan.")
    talk.say("I've switched to the Silver plan.")
    talk.say("Please forget my plan.")
    talk.say("I'm on the Gold plan.")
    assert talk.facts() == {"plan": "Gold"}
    decisions = ("contradicts", "new", "new", "retracted")
    assert talk.decisions("stated") == [("plan", decision) for decision in decisions]
