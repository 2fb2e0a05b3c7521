"""Loops of Python, Rust and Kotlin whose round without work waits nowhere."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

BUSY = "busy-loop"

CASES: list[Case] = [
    bad(
        BUSY,
        "python",
        """
        import logging
        import redis

        log = logging.getLogger(__name__)

        class Leader:
            def __init__(self, client: redis.Redis, node: str) -> None:
                self.client = client
                self.node = node
                self.is_leader = False
                self.stopping = threading.Event()

            def run(self) -> None:
                while not self.stopping.is_set():
                    try:
                        won = self.client.set("leader", self.node, nx=True, ex=15)
                    except redis.RedisError:
                        log.exception("lease store failed")
                        won = False
                    self.is_leader = bool(won)
        """,
        14,
    ),
    bad(
        BUSY,
        "python",
        """
        import os
        from pathlib import Path

        def watch(spool: Path, stop):
            while not stop.is_set():
                for name in os.listdir(spool):
                    path = spool / name
                    if path.suffix == ".job":
                        process(path)
                        path.unlink()
        """,
        5,
    ),
    bad(
        BUSY,
        "rust",
        """
        use std::fs;
        pub async fn watch(dir: PathBuf, tx: mpsc::Sender<PathBuf>) -> anyhow::Result<()> {
            loop {
                let mut entries = tokio::fs::read_dir(&dir).await?;
                while let Some(entry) = entries.next_entry().await? {
                    tx.send(entry.path()).await?;
                }
            }
        }
        """,
        3,
    ),
    bad(
        BUSY,
        "rust",
        """
        use std::sync::atomic::{AtomicBool, Ordering};
        pub fn wait_ready(ready: &AtomicBool) {
            while !ready.load(Ordering::Acquire) {}
        }
        """,
        3,
    ),
    bad(
        BUSY,
        "python",
        """
        import boto3
        sqs = boto3.client("sqs")
        def main():
            while True:
                resp = sqs.receive_message(QueueUrl=URL, MaxNumberOfMessages=10)
                for message in resp.get("Messages", []):
                    handle(message)
                    sqs.delete_message(QueueUrl=URL, ReceiptHandle=message["ReceiptHandle"])
        """,
        4,
    ),
    bad(
        BUSY,
        "python",
        """
        async def wait_for_export(client, export_id):
            while True:
                resp = await client.get(f"/exports/{export_id}")
                resp.raise_for_status()
                body = resp.json()
                if body["status"] == "done":
                    return body["url"]
                if body["status"] == "failed":
                    raise ExportFailed(export_id)
        """,
        2,
    ),
    bad(
        BUSY,
        "python",
        """
        def follow(path):
            with open(path) as f:
                f.seek(0, 2)
                while True:
                    line = f.readline()
                    if not line:
                        continue
                    yield line
        """,
        5,
    ),
    bad(
        BUSY,
        "rust",
        """
        fn worker(queue: Arc<Mutex<VecDeque<Job>>>, stop: Arc<AtomicBool>) {
            while !stop.load(Ordering::Relaxed) {
                let job = queue.lock().unwrap().pop_front();
                if let Some(job) = job {
                    job.run();
                }
            }
        }
        """,
        2,
    ),
    bad(
        BUSY,
        "python",
        """
        def pump(sock, handler):
            sock.setblocking(False)
            while True:
                try:
                    data = sock.recv(4096)
                except BlockingIOError:
                    continue
                if not data:
                    break
                handler(data)
        """,
        3,
    ),
    bad(
        BUSY,
        "python",
        """
        def lock(path):
            while True:
                try:
                    fd = os.open(path, os.O_CREAT | os.O_EXCL)
                    return fd
                except FileExistsError:
                    continue
        """,
        2,
    ),
    good(
        BUSY,
        "python",
        """
        def drain(store):
            while True:
                rows = store.find_pending(100)
                if not rows:
                    break
                for row in rows:
                    handle(row)
        """,
    ),
    good(
        BUSY,
        "python",
        """
        def pages(client):
            url = "/items"
            while True:
                page = client.get(url).json()
                out.extend(page["items"])
                url = page["next"]
                if url is None:
                    return out
        """,
    ),
    good(
        BUSY,
        "rust",
        """
        fn parse(&mut self) {
            loop {
                let tok = self.tokens.pop();
                match tok {
                    Some(t) => self.handle(t),
                    None => break,
                }
            }
        }
        """,
    ),
    good(
        BUSY,
        "python",
        """
        async def wait_done(client, id):
            while True:
                resp = await client.get(f"/jobs/{id}")
                if resp.json()["status"] == "done":
                    return resp
                await asyncio.sleep(2)
        """,
    ),
    good(
        BUSY,
        "python",
        """
        def watch(dir, stop):
            while not stop.is_set():
                for f in os.listdir(dir):
                    handle(f)
                stop.wait(5)
        """,
    ),
    good(
        BUSY,
        "python",
        """
        def batches(conn):
            while True:
                n = conn.execute("DELETE FROM logs WHERE old LIMIT 1000").rowcount
                conn.commit()
                if n < 1000:
                    break
        """,
    ),
    good(
        BUSY,
        "python",
        """
        def reader(conn):
            while True:
                row = conn.fetchone()
                if row is None:
                    return
                yield row
        """,
    ),
    good(
        BUSY,
        "python",
        """
        def mkdir_unique(base):
            n = 0
            while True:
                path = f"{base}-{n}"
                try:
                    os.mkdir(path)
                    return path
                except FileExistsError:
                    n += 1
        """,
    ),
    bad(
        BUSY,
        "kotlin",
        """
        package com.acme.cluster

        class LeaseKeeper(private val client: EtcdLeases, private val node: String) {
            @Volatile private var running = true
            @Volatile private var owner = false

            fun loop() {
                while (running) {
                    owner = tryLease()
                    if (owner) {
                        doWork()
                    }
                }
            }

            private fun tryLease(): Boolean = try {
                client.tryAcquire("scheduler", node, 15)
            } catch (e: IOException) {
                log.warn("lease", e)
                false
            }

            private fun doWork() {
                scheduler.runOnce()
            }
        }
        """,
        8,
    ),
    bad(
        BUSY,
        "kotlin",
        """
        fun waitUntilHealthy(client: OkHttpClient, url: String) {
            var healthy = false
            while (!healthy) {
                healthy = try {
                    client.newCall(Request.Builder().url(url).build()).execute().use { it.isSuccessful }
                } catch (e: IOException) {
                    false
                }
            }
        }
        """,
        3,
    ),
    good(
        BUSY,
        "kotlin",
        """
        class Elector(private val store: LeaseStore) {
            suspend fun run() {
                while (true) {
                    val leader = store.tryAcquire("a", node, TTL)
                    state.set(leader)
                    delay(5000)
                }
            }
        }
        """,
    ),
]
