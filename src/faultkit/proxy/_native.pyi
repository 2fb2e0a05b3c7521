from typing import Any

from faultkit.proxy.direction_fields import PureFields
from faultkit.proxy.event_loop import Loop

class DirectionFields(PureFields): ...

def configure(
    *,
    copy: object,
    chain: object,
    shut: object,
    data: type,
    chunk: int,
    bulk: int,
    most_overdue: int,
    always_allowed: int,
    turns: int,
    big_reads: int,
) -> None: ...
def run_rounds(loop: Loop, epoll: int, handlers: dict[int, Any], timers: list[Any], soon: Any, /) -> None: ...
