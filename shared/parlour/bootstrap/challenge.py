"""The challenge that new visitors of a chat page solve, where a deployment asks for one."""

from collections.abc import Callable

import httpx2

from parlour.infra import log

_TIMEOUT_SECONDS = 5.0


def make_challenge_check(verify_url: str, secret: Callable[[], str]) -> Callable[[str, str], bool] | None:
    """Return a check of (answer, network address); None without a URL.

    The URL is asked as Turnstile, hCaptcha and reCAPTCHA are: a form with `secret`, `response` and `remoteip`, answered
    by JSON with `success`. A service that is away lets nobody new in; visitors who were here before are not asked.
    """
    if not verify_url:
        return None
    client = httpx2.Client(timeout=_TIMEOUT_SECONDS)

    def check(answer: str, address: str) -> bool:
        if not answer:
            return False
        try:
            form = {"secret": secret(), "response": answer, "remoteip": address}
            return client.post(verify_url, data=form).json().get("success") is True
        except (httpx2.HTTPError, ValueError, AttributeError) as problem:
            log.error("challenge_unavailable", problem)
            return False

    return check
