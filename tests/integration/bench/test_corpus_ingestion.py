"""Any corpus goes through the product's own ingestion and search: what the retrieval benchmark stands on."""

from collections.abc import Sequence

from bench.corpus_format import Question, Text
from bench.corpus_ingestion import Shelf, fill
from bench.retrieval import Measured, ask, measure
from parlour.infra.postgres import Database
from tests.integration.knowledge_tenant import WordEmbedder

LONG = "The pour of bay seven began at six in the morning and ended at noon. " * 4_000


def taken(database: Database, *texts: Text) -> dict[str, Shelf]:
    return fill(database, WordEmbedder(), texts, lambda _: None)


def ids(database: Database, shelf: Shelf, text: str, most: int = 5, previous: Sequence[str] = ()) -> list[str]:
    question = Question("s", text, tuple(previous), frozenset())
    return [shelf.line_of(row) for row in ask(database, WordEmbedder(), shelf, question, most)]


def message(key: str, text: str, **more: object) -> Text:
    return Text("s", key, is_message=True, text=text, **more)  # type: ignore[arg-type]


def test_messages_without_speaker_or_time_are_found_in_their_order(database: Database) -> None:
    shelf = taken(database, message("a", "Who ordered the crane?"), message("b", "Priya did."), message("c", "Lunch?"))[
        "s"
    ]
    assert ids(database, shelf, "who ordered the crane", 2) == ["a", "b"]


def test_what_is_odd_harms_nothing(database: Database) -> None:
    odd = [
        message("long", LONG),
        message("blank", " \n"),
        message("smile", "🙂🙂 नमस्ते, क्रेन कल आएगी"),
        message("quote", "it's \\ a 'quote' & | ! <-> :*"),
        message("same", "The crane comes at nine tomorrow."),
        message("again", "The crane comes at nine tomorrow."),
        Text("s", "empty", is_message=False, text=""),
        Text("s", "book", is_message=False, text=LONG, title="Pours"),
    ]
    shelf = taken(database, *odd)["s"]
    assert "smile" in ids(database, shelf, "क्रेन कल आएगी")
    assert "quote" in ids(database, shelf, "quote'; & \\ |")
    assert len({"same", "again"}.intersection(ids(database, shelf, "When does the crane come?"))) == 1
    assert {"book", "long"} <= set(ids(database, shelf, "pour of bay seven", 20))
    assert ids(database, shelf, "?!", 3, previous=["", "crane"]) != []


def test_scopes_do_not_see_each_other(database: Database) -> None:
    shelves = taken(
        database, message("a", "The crane comes."), Text("t", "a", is_message=False, text="The crane goes.")
    )
    (row,) = ask(database, WordEmbedder(), shelves["t"], Question("t", "crane", (), frozenset()), 5)
    assert row.content.endswith("The crane goes.")


def test_the_figures_have_the_names_that_are_promised(database: Database) -> None:
    measured = Measured()
    shelf = taken(database, message("a", "The crane comes."), message("b", "Concrete at noon."))["s"]
    measure(database, WordEmbedder(), shelf, Question("s", "crane", (), frozenset({"a", "gone"})), measured)
    figures = measured.figures()
    assert figures["recall_at"] == {"5": 50.0, "10": 50.0, "20": 50.0}
    assert figures["recall_within_tokens"] == {"500": 50.0, "1000": 50.0, "2000": 50.0, "4000": 50.0}
    assert figures.keys() == {"recall_at", "recall_within_tokens", "p50_ms", "p95_ms", "queries"}
    assert figures["queries"] == 1
