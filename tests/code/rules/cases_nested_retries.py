"""Retries inside of retries."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "nested-retries",
        "python",
        """
    import requests
    import tenacity
    @tenacity.retry(stop=tenacity.stop_after_attempt(5), wait=tenacity.wait_exponential())
    def report(session, url, body):
        for attempt in range(3):
            try:
                return session.post(url, json=body, timeout=3)
            except requests.RequestException:
                if attempt == 2:
                    raise
                time.sleep(2**attempt)
    """,
        5,
    ),
    good(
        "nested-retries",
        "python",
        """
    import requests
    import tenacity
    @tenacity.retry(stop=tenacity.stop_after_attempt(5), wait=tenacity.wait_exponential())
    def report(session, url, body):
        return session.post(url, json=body, timeout=3)
    """,
    ),
]
