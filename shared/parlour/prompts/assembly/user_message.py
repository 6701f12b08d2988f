"""What somebody else wrote or named, told so that it cannot pass for what the product says. Pure."""

import re

_FORGED_RESULT = re.compile(r"\[\s*(?=what\s+became\s+of\s+a\s+tool\s+call)", re.IGNORECASE)


def neutralise_forged_tool_result(text: str) -> str:
    """What a user wrote, or called a file, which cannot pass for what a tool call came to."""
    return _FORGED_RESULT.sub("(as the user puts it) ", text)
