"""Locks of threads that tasks hold while they wait."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

AWAIT = "lock-held-across-await"
DEADLOCK = "deadlock"

CASES = [
    bad(AWAIT, "rust", """
        impl Rates {
            async fn get(&self, name: &str) -> Result<f64> {
                let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
                let rate = self.client.fetch(name).await?;
                known.insert(name.to_string(), rate);
                Ok(rate)
            }
        }
        """, 3),
    bad(AWAIT, "rust", """
        use parking_lot::Mutex;
        impl Rates {
            async fn get(&self, name: &str) -> Result<f64> {
                let mut known = self.known.lock();
                let rate = self.client.fetch(name).await?;
                known.insert(name.to_string(), rate);
                Ok(rate)
            }
        }
        """, 4),
    good(AWAIT, "rust", """
        impl Rates {
            async fn get(&self, name: &str) -> Result<f64> {
                let mut known = self.known.lock().await;
                let rate = self.client.fetch(name).await?;
                known.insert(name.to_string(), rate);
                Ok(rate)
            }
            async fn size(&self) -> usize {
                let size = self.known.lock().unwrap_or_else(|e| e.into_inner()).len();
                self.report(size).await;
                size
            }
        }
        """),
    bad(AWAIT, "python", """
        import threading
        class Tokens:
            def __init__(self):
                self._lock = threading.Lock()
            async def token(self):
                with self._lock:
                    self._token = await self._client.fetch()
        """, 6),
    good(AWAIT, "python", """
        import asyncio, threading
        class Tokens:
            def __init__(self):
                self._lock = asyncio.Lock()
                self._count_lock = threading.Lock()
            async def token(self):
                async with self._lock:
                    self._token = await self._client.fetch()
                with self._count_lock:
                    self._count += 1
        """),
    bad(AWAIT, "kotlin", """
        import java.util.concurrent.locks.ReentrantLock
        class Sessions(private val store: SessionStore) {
            private val lock = ReentrantLock()
            suspend fun open(user: String): Session {
                lock.lock()
                try {
                    return store.create(user)
                } finally {
                    lock.unlock()
                }
            }
        }
        """, 5),
    good(AWAIT, "kotlin", """
        import kotlinx.coroutines.sync.Mutex
        class Sessions(private val store: SessionStore) {
            private val lock = Mutex()
            suspend fun open(user: String): Session {
                lock.lock()
                try {
                    return store.create(user)
                } finally {
                    lock.unlock()
                }
            }
        }
        """),
    bad(DEADLOCK, "rust", """
        pub fn transfer(from: &Account, to: &Account, amount: i64) -> Result<(), String> {
            let mut source = from.balance.lock().map_err(|e| e.to_string())?;
            let mut target = to.balance.lock().map_err(|e| e.to_string())?;
            *source -= amount;
            *target += amount;
            Ok(())
        }
        """, 3),
]  # fmt: skip
