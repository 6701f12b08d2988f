"""Keys that tokens are signed with. A secret holds one, or two while the newer one replaces the older. Pure."""

from parlour.infra.errors import Misconfigured

_MIN_KEY_CHARS = 32
"""Characters; HS256 wants a key of 256 bits at least."""


def parse_signing_keys(secret: str) -> list[str]:
    """Return a secret's keys, the newest first: the first one signs, and each of them is accepted.

    Misconfigured unless there are one or two of at least 32 characters, on lines of their own.
    """
    keys = secret.split()
    if not 1 <= len(keys) <= 2 or any(len(key) < _MIN_KEY_CHARS for key in keys):
        raise Misconfigured(
            f"the token secret needs one key, or two on lines of their own, of {_MIN_KEY_CHARS} characters at least"
        )
    return keys
