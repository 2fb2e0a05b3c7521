"""Before a run: can the upstreams be had at all? Names are resolved and one TCP connect is tried for each.

All at once and each within the same short time, in threads that hold nothing up.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterable

from faultkit.base.address import Endpoint
from faultkit.base.errors import TargetError
from faultkit.base.reach import why_unreachable

LONGEST_S = 5.0


def check_upstreams(upstreams: Iterable[tuple[str, Endpoint]], timeout_s: float) -> None:
    """Raises TargetError about the first (in the order given) that cannot be reached."""
    wanted = tuple(upstreams)
    limit_s = min(timeout_s, LONGEST_S)
    answers: queue.SimpleQueue[tuple[int, str | None]] = queue.SimpleQueue()

    def ask(index: int, upstream: Endpoint) -> None:
        answers.put((index, why_unreachable(upstream, limit_s)))

    for index, (_, upstream) in enumerate(wanted):
        threading.Thread(target=ask, args=(index, upstream), name="fault-check", daemon=True).start()
    verdicts: dict[int, str | None] = {}
    deadline = time.monotonic() + limit_s
    with contextlib.suppress(queue.Empty):
        while len(verdicts) < len(wanted):
            index, why = answers.get(timeout=max(0.0, deadline - time.monotonic()))
            verdicts[index] = why
    for index, (name, upstream) in enumerate(wanted):
        why = verdicts.get(index, f"no answer within {limit_s:g} s")
        if why is not None:
            raise TargetError(f"{name}: cannot reach {upstream}: {why} (--no-check skips this test)")
