"""Gets each path of a base URL: get.py requests|httpx|httpx-h2 BASE PATH...

Prints a line for each: path, seconds, and what came."""

import sys
import time
from collections.abc import Callable


def getter(name: str) -> Callable[[str], tuple[int, str, bytes]]:
    if name == "requests":
        import requests

        def by_requests(url: str) -> tuple[int, str, bytes]:
            answer = requests.get(url, timeout=60)
            return answer.status_code, answer.headers.get("content-encoding", "-"), answer.content

        return by_requests
    import httpx

    client = httpx.Client(http2=name == "httpx-h2", timeout=60)
    version = "HTTP/2" if name == "httpx-h2" else "HTTP/1.1"

    def by_httpx(url: str) -> tuple[int, str, bytes]:
        answer = client.get(url)
        assert answer.http_version == version
        return answer.status_code, answer.headers.get("content-encoding", "-"), answer.content

    return by_httpx


def main() -> None:
    get = getter(sys.argv[1])
    for path in sys.argv[3:]:
        begin = time.monotonic()
        try:
            status, encoding, body = get(sys.argv[2] + path)
            seen = f"{status} {encoding} {body.hex()}"
        except OSError as error:  # Errors of requests are of this kind.
            seen = f"error {type(error).__name__}"
        except (
            Exception
        ) as error:  # httpx has a class for each trouble, none of them of the standard library.
            if not type(error).__module__.startswith("httpx"):
                raise
            seen = f"error {type(error).__name__}"
        sys.stdout.write(f"{path} {time.monotonic() - begin:.3f} {seen}\n")


main()
