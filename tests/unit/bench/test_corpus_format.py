"""What the retrieval benchmark takes as a corpus and as queries, and how it refuses the rest."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.corpus_format import BadLine, Question, Text, read_corpus, read_questions

MESSAGE = {"scope": "s", "id": "1", "kind": "message", "text": "We poured on Monday."}
QUERY = {"scope": "s", "text": "When did we pour?", "previous": [], "relevant": ["1"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lines.jsonl"


def write(file: Path, *lines: object) -> Path:
    file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return file


def test_a_line_needs_no_more_than_its_text_and_where_it_belongs(file: Path) -> None:
    chunk = {"scope": 7, "id": 1, "kind": "chunk", "text": "Cover is 40 mm.", "title": None, "speaker": None}
    texts = read_corpus(write(file, MESSAGE, "", chunk))
    assert texts == [
        Text("s", "1", is_message=True, text="We poured on Monday."),
        Text("7", "1", is_message=False, text="Cover is 40 mm."),
    ]


@pytest.mark.parametrize(
    "written", ["2023-05-08T13:56:00+00:00", "2023-05-08T13:56", "1:56 pm on 8 May, 2023", "2023/05/08 (Mon) 13:56"]
)
def test_times_are_read_as_the_public_sets_write_them(file: Path, written: str) -> None:
    (text,) = read_corpus(write(file, {**MESSAGE, "sent_at": written}))
    assert text.sent_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_what_no_database_keeps_is_taken_out_of_texts(file: Path) -> None:
    (text,) = read_corpus(write(file, '{"scope": "s", "id": "1", "kind": "chunk", "text": "a\\u0000b \\ud83d c"}'))
    assert text.text == "ab \ufffd c"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "is not valid JSON"),
        ([], "give one object a line"),
        ({**MESSAGE, "text": None}, '"text" is missing; give a string'),
        ({**MESSAGE, "text": 5}, '"text" is 5; give a string'),
        ({**MESSAGE, "id": ""}, "\"id\" is ''; give a string that is not empty"),
        ({**MESSAGE, "scope": None}, '"scope" is missing'),
        ({**MESSAGE, "kind": "mail"}, 'say "message" or "chunk"'),
        ({**MESSAGE, "sent_at": "last May"}, "give ISO 8601"),
        ({**MESSAGE, "sent_at": 3}, "give ISO 8601"),
        (MESSAGE, "the id '1' is that of line 1"),
    ],
)
def test_a_bad_line_of_a_corpus_is_named_with_what_to_do(file: Path, line: object, problem: str) -> None:
    write(file, MESSAGE, line)
    with pytest.raises(BadLine) as refused:
        read_corpus(file)
    assert f"{file}, line 2: " in str(refused.value)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({**QUERY, "text": " "}, '"text" is empty'),
        ({**QUERY, "scope": "t"}, "no line of the corpus has the scope 't'"),
        ({**QUERY, "relevant": "1"}, "\"relevant\" is '1'; give a list"),
        ({**QUERY, "previous": [{"text": "Hello"}]}, "give what was asked before, oldest first"),
    ],
)
def test_a_bad_query_is_named_with_what_to_do(file: Path, line: object, problem: str) -> None:
    corpus = read_corpus(write(file, MESSAGE))
    write(file, QUERY, line)
    with pytest.raises(BadLine) as refused:
        read_questions(file, corpus)
    assert f"{file}, line 2: " in str(refused.value)
    assert problem in str(refused.value)


def test_queries_without_anything_relevant_are_left_out(file: Path) -> None:
    corpus = read_corpus(write(file, MESSAGE))
    questions = read_questions(write(file, {**QUERY, "relevant": []}, QUERY), corpus)
    assert questions == [Question("s", "When did we pour?", (), frozenset({"1"}))]


def test_relevant_ids_that_no_line_has_are_said_and_stay(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = read_corpus(write(file, MESSAGE))
    (question,) = read_questions(write(file, {**QUERY, "relevant": ["1", 9]}), corpus)
    assert question.relevant == {"1", "9"}
    assert "1 relevant ids are in no line of the corpus" in capsys.readouterr().err


def test_nothing_to_measure_with_is_said(file: Path) -> None:
    with pytest.raises(BadLine, match="nothing in it"):
        read_corpus(write(file, ""))
    with pytest.raises(BadLine, match="cannot be read"):
        read_corpus(file.with_name("not-there"))
