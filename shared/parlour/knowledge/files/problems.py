"""Why a file cannot be read, or not yet: each reason has a name and a sentence for whoever uploaded it. Pure."""

from collections.abc import Mapping

from parlour.infra.errors import RetryError, UnreadableFile

LARGEST_BYTES = 50 * 1024 * 1024
"""Of one file. It is refused before the upload, by the upload itself, and once more by what arrived."""

MOST_TOKENS = 1_500_000
"""Of one file's text: some 3,000 pages, and about a quarter of an hour of embedding on a laptop."""

SENTENCES: Mapping[str, str] = {
    "broken": "it cannot be read: open it in its own program, save it anew and upload that",
    "encrypted": "it is protected by a password: save it without one and upload that",
    "empty": "it is empty: upload it again",
    "given_up": "reading it broke off several times: save it anew, or split it, and upload that",
    "gone": "its upload never arrived, or was taken away: upload it again",
    "bomb": "it unpacks to far more than a document does, so it was not opened: save it anew and upload that",
    "markup_bomb": "it defines entities of its own, which documents do not, so it was not opened: save it anew",
    "no_text": "there is no text in it; a scan has to go through text recognition first",
    "not_taken": "files of this kind are not taken; use PDF, DOCX, XLSX, PPTX, HTML, Markdown, text, e-mail or CSV",
    "old_office": "it is in a format from before 2007: save it as DOCX, XLSX or PPTX and upload that",
    "too_large": f"it is larger than {LARGEST_BYTES // 2**20} MB: split it or leave out its pictures",
    "too_long": f"its text is longer than {MOST_TOKENS:,} tokens: split it",
    "too_much_memory": "reading it takes more memory than there is: split it",
    "too_slow": "reading it takes too long: split it",
    "unavailable": "what reads it could not get at it for a whole day: upload it again, and tell whoever runs this",
    "wrong_kind": "its bytes are not what its name ends in: give it its own ending and upload that",
}

WAITING: Mapping[str, str] = {
    "objects_unavailable": "it waits: where files are kept does not answer; it is read when that is back",
    "access_refused": "it waits: we may not get at where files are kept; whoever runs this has been told",
    "database_unavailable": "it waits: the database went away while it was read; it is read again",
}
"""Why a file that nothing is wrong with is not read yet, by the error's code."""

_WAITING = "it waits: something that reading it takes does not answer; it is read when that is back"


def unreadable(reason: str) -> UnreadableFile:
    """The error for one of SENTENCES; any other reason is told as `broken`."""
    known = reason if reason in SENTENCES else "broken"
    return UnreadableFile(SENTENCES[known], reason=known)


def waiting(problem: RetryError) -> str:
    """The sentence for whoever uploaded it."""
    return WAITING.get(problem.code, _WAITING)
