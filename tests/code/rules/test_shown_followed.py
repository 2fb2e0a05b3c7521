"""What is proved through helpers, declared types and callers of the same file is shown."""

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

BY_SLUG = {rule.slug: rule for rule in RULES}
_BLOCKING, _DROPPED = "blocking-call-in-async-code", "task-results-dropped"

_CASES = [
    # An executor that only its type tells.
    bad(_DROPPED, "java", """
        import java.util.concurrent.*;
        class Mailing {
            private final ExecutorService senders = Executors.newFixedThreadPool(4);
            void send(List<Callable<Void>> letters) throws InterruptedException {
                senders.invokeAll(letters);
                store.markSent(letters);
            }
        }
    """, 5),
    good(_DROPPED, "java", """
        import java.util.concurrent.*;
        class Mailing {
            private final ExecutorService senders = Executors.newFixedThreadPool(4);
            void send(List<Callable<Void>> letters) throws Exception {
                for (Future<Void> each : senders.invokeAll(letters)) {
                    each.get();
                }
                store.markSent(letters);
            }
        }
    """),
    good(_DROPPED, "java", """
        class Mailing {
            private final HookRegistry hookPool;
            void send(List<Letter> letters) {
                hookPool.invokeAll(letters);
            }
        }
    """),
    # A helper reads the whole file, part by part.
    bad(_BLOCKING, "python", """
        from pathlib import Path
        import zlib
        def _sum(path: Path) -> int:
            value = 0
            with path.open("rb") as film:
                while part := film.read(65536):
                    value = zlib.crc32(part, value)
            return value
        async def publish(store, path: Path) -> None:
            await store.put(path.name, _sum(path))
    """, 10),
    good(_BLOCKING, "python", """
        import asyncio
        from pathlib import Path
        import zlib
        def _sum(path: Path) -> int:
            value = 0
            with path.open("rb") as film:
                while part := film.read(65536):
                    value = zlib.crc32(part, value)
            return value
        async def publish(store, path: Path) -> None:
            await store.put(path.name, await asyncio.to_thread(_sum, path))
    """),
    # The first bytes only.
    good(_BLOCKING, "python", """
        from pathlib import Path
        def _kind(path: Path) -> bytes:
            with path.open("rb") as film:
                return film.read(4)
        async def publish(store, path: Path) -> None:
            await store.put(path.name, _kind(path))
    """),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_what_the_file_proves_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
