"""Objects that live as long as the process, by the names of their types and their annotations."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope

_LONG_LIVED = lazy_regex(
    r"(Service|Repository|Client|Cache|Store|Provider|Manager|Middleware|Controller|Handler|Gateway|Registry|Resolver"
    r"|Server|Limiter|Worker|Api|API|Router|Tracker|Monitor|Throttle|Guard|Filter|Interceptor|Lookup|Directory"
    r"|Catalog|Book|Index|Consumer|Processor|Listener|Subscriber|Dispatcher|Dedup\w*|Poller|Receiver|Notifier|Sink|Hub"
    r"|Bus|Broker|Engine|Scheduler|Recorder|Collector|Sessions|Stats|Metrics|Sender|Shipper|Publisher|Bridge|Reporter"
    r"|Logger|Log|Audit\w*|Telemetry\w*|Buffer|Counter|Detector|Relay|Forwarder|Ingest\w*|Recorder)(Impl)?$"
)
_ANNOTATED = lazy_regex(
    r"@(Injectable|Service|Component|RestController|Controller|Repository|Singleton|ApplicationScoped|Named)\b"
)
_HANDLES = lazy_regex(
    r"^_?(on|handle|consume|receive|dispatch|record|track|observe|report|ingest|publish|notify)(_|[A-Z]|$)"
    r"|^(On|Handle|Consume|Receive|Dispatch|Record|Track|Observe|Report|Ingest|Publish|Notify)([A-Z]|$)"
)


def is_long_lived(owner: str, facts: Facts) -> bool:
    """Return whether objects of a type live as long as the process, by its name or annotations."""
    if _LONG_LIVED.search(owner):
        return True
    text = facts.whole_text
    # To look for the declaration takes longer, and few texts have such an annotation.
    if not owner or owner not in text or _ANNOTATED.search(text) is None:
        return False
    declared = re.search(rf"\b(class|struct)\s+{re.escape(owner)}\b", text)
    if declared is None:
        return False
    begin = max(text.rfind(end, 0, declared.start()) for end in ";{}")
    return _ANNOTATED.search(text, begin + 1, declared.start()) is not None


def handles_events(scope: Scope) -> bool:
    """Return whether a function is called for each event, by its name, and is given one."""
    given = [each for each in scope.parameters if each.name not in ("self", "cls", "ctx")]
    return bool(given) and _HANDLES.search(scope.short_name) is not None
