"""Pools that a call makes for its own work."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

CASES: list[Case] = [
    bad(
        "pool-not-shut-down",
        "java",
        """
        package a;
        class Reports {
            byte[] build(List<Section> sections) throws Exception {
                ExecutorService pool = Executors.newFixedThreadPool(4);
                List<Future<byte[]>> parts = new ArrayList<>();
                for (Section s : sections) parts.add(pool.submit(s::render));
                return join(parts);
            }
        }
        """,
        4,
    ),
    bad(
        "pool-not-shut-down",
        "kotlin",
        """
        suspend fun load(ids: List<Long>): List<Item> {
            val d = Executors.newFixedThreadPool(8).asCoroutineDispatcher()
            return coroutineScope { ids.map { async(d) { repo.find(it) } }.awaitAll() }
        }
        """,
        2,
    ),
    good(
        "pool-not-shut-down",
        "kotlin",
        """
        suspend fun load(ids: List<Long>): List<Item> {
            val workers = Executors.newFixedThreadPool(8).asCoroutineDispatcher()
            return workers.use { coroutineScope { ids.map { async(workers) { find(it) } }.awaitAll() } }
        }
        """,
    ),
    good(
        "pool-not-shut-down",
        "java",
        """
        package a;
        class Pools {
            ExecutorService create(int threads) {
                ExecutorService pool = Executors.newFixedThreadPool(threads);
                return pool;
            }
        }
        """,
    ),
    good(
        "pool-not-shut-down",
        "java",
        """
        package a;
        class Reports {
            byte[] build(List<Section> sections) throws Exception {
                ExecutorService pool = Executors.newFixedThreadPool(4);
                try {
                    return join(pool.invokeAll(tasks(sections)));
                } finally {
                    pool.shutdown();
                }
            }
        }
        """,
    ),
]
