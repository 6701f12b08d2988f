"""Why a file cannot be read, or not yet: each reason has a name and a sentence for whoever uploaded it. Pure."""

from collections.abc import Mapping

from parlour.infra.errors import RetryError, UnreadableFile

MAX_FILE_BYTES = 50 * 1024 * 1024
"""Of one file. It is refused before the upload, by the upload itself, and once more by what arrived."""

MAX_FILE_TOKENS = 1_500_000
"""Of one file's text: some 3,000 pages, and about a quarter of an hour of embedding on a laptop."""

PROBLEM_TEXTS: Mapping[str, str] = {
    "broken": "the file cannot be read: open it, save it again and upload the new file",
    "encrypted": "the file is protected by a password: save it without one and upload it again",
    "empty": "the file is empty: upload it again",
    "given_up": "reading the file failed several times: save it again or split it, then upload it",
    "gone": "the content of the file is missing: upload it again",
    "bomb": "the file expands to an unusual size and was not opened: save it again and upload it",
    "markup_bomb": "the file defines XML entities and was not opened: save it again and upload it",
    "no_text": "the file has no text: run text recognition (OCR) on a scan first",
    "not_taken": "this file type is not supported; use PDF, DOCX, XLSX, PPTX, HTML, Markdown, text, e-mail or CSV",
    "old_office": "the file has an Office format from before 2007: save it as DOCX, XLSX or PPTX and upload that",
    "too_large": f"the file is larger than {MAX_FILE_BYTES // 2**20} MB: split it or remove images",
    "too_long": f"the text is longer than {MAX_FILE_TOKENS:,} tokens: split the file",
    "too_much_memory": "reading the file takes too much memory: split it",
    "too_slow": "reading the file takes too long: split it",
    "unavailable": "the file could not be fetched for a whole day: upload it again and tell the operator",
    "wrong_kind": "the content does not match the file extension: correct the extension and upload it again",
}

WAITING_TEXTS: Mapping[str, str] = {
    "objects_unavailable": "waiting: the file storage is unavailable; the file is read when it is back",
    "access_refused": "waiting: access to the file storage was refused; the operator was alerted",
    "database_unavailable": "waiting: the database was unavailable; the file will be read again",
}
"""Why a file that nothing is wrong with is not read yet, by the error's code."""

_WAITING = "waiting: a service is unavailable; the file is read when it is back"


def unreadable_file(reason: str) -> UnreadableFile:
    """Return the error for a reason in SENTENCES; any other reason is reported as `broken`."""
    known = reason if reason in PROBLEM_TEXTS else "broken"
    return UnreadableFile(PROBLEM_TEXTS[known], reason=known)


def waiting_text(problem: RetryError) -> str:
    """Return the sentence for the person who uploaded it."""
    return WAITING_TEXTS.get(problem.code, _WAITING)
