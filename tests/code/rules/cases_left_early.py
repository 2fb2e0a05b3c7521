"""Locks and permits that a function keeps when it leaves early."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "lock-not-released"

CASES = [
    bad(
        _RULE,
        "python",
        """
        import asyncio
        class Renderer:
            def __init__(self, limit: int) -> None:
                self._slots = asyncio.Semaphore(limit)
            async def render(self, doc):
                await self._slots.acquire()
                if doc.is_empty():
                    return b""
                try:
                    return await doc.render()
                finally:
                    self._slots.release()
        """,
        6,
    ),
    good(
        _RULE,
        "python",
        """
        import asyncio
        class Renderer:
            def __init__(self, limit: int) -> None:
                self._slots = asyncio.Semaphore(limit)
            async def render(self, doc):
                if doc.is_empty():
                    return b""
                await self._slots.acquire()
                try:
                    return await doc.render()
                finally:
                    self._slots.release()
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        package a;
        import java.util.concurrent.Semaphore;
        public class Throttle {
            private final Semaphore permits = new Semaphore(8);
            public byte[] export(Report report) throws InterruptedException {
                permits.acquire();
                if (report.rows() == 0) {
                    return new byte[0];
                }
                try {
                    return report.toPdf();
                } finally {
                    permits.release();
                }
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "java",
        """
        package a;
        import java.util.concurrent.Semaphore;
        public class Throttle {
            private final Semaphore permits = new Semaphore(8);
            public byte[] export(Report report) throws InterruptedException {
                permits.acquire();
                try {
                    if (report.rows() == 0) {
                        return new byte[0];
                    }
                    return report.toPdf();
                } finally {
                    permits.release();
                }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        package a
        import kotlinx.coroutines.sync.Semaphore
        class Thumbs(private val store: Store) {
            private val slots = Semaphore(4)
            suspend fun make(id: String): ByteArray? {
                slots.acquire()
                val source = store.find(id) ?: return null
                try {
                    return source.resize()
                } finally {
                    slots.release()
                }
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "kotlin",
        """
        package a
        import kotlinx.coroutines.sync.Semaphore
        class Thumbs(private val store: Store) {
            private val slots = Semaphore(4)
            suspend fun make(id: String): ByteArray? {
                val source = store.find(id) ?: return null
                slots.acquire()
                try {
                    return source.resize()
                } finally {
                    slots.release()
                }
            }
        }
        """,
    ),
]
