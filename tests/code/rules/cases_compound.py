"""Steps on shared state that look like one and are two."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "shared-mutable-state"

CASES = [
    bad(
        _RULE,
        "java",
        """
        class Seats implements Runnable {
            private static Seats instance;
            private final ConcurrentMap<String, String> taken = new ConcurrentHashMap<>();
            private final ConcurrentHashMap<String, Integer> counts = new ConcurrentHashMap<>();
            private volatile long calls;
            private boolean running = true;

            boolean take(String seat, String name) {
                calls++;
                if (taken.containsKey(seat)) return false;
                taken.put(seat, name);
                Integer old = counts.get(name);
                counts.put(name, old == null ? 1 : old + 1);
                return true;
            }

            static Seats get() {
                if (instance == null) {
                    synchronized (Seats.class) {
                        if (instance == null) instance = new Seats();
                    }
                }
                return instance;
            }

            void stop() { running = false; }

            public void run() {
                while (running) work();
            }
        }
        """,
        6,
        9,
        11,
        18,  # What is counted in line 13, loaded-by-every-caller finds.
    ),
    good(
        _RULE,
        "java",
        """
        class Seats implements Runnable {
            private static volatile Seats instance;
            private final ConcurrentMap<String, String> taken = new ConcurrentHashMap<>();
            private final ConcurrentHashMap<String, Integer> counts = new ConcurrentHashMap<>();
            private volatile long calls;
            private volatile boolean running = true;

            boolean take(String seat, String name) {
                synchronized (this) { calls++; }
                counts.merge(name, 1, Integer::sum);
                String old = taken.get(seat);
                taken.put(name, old);
                return taken.putIfAbsent(seat, name) == null;
            }

            static Seats get() {
                if (instance == null) {
                    synchronized (Seats.class) {
                        if (instance == null) instance = new Seats();
                    }
                }
                return instance;
            }

            void stop() { running = false; }

            public void run() {
                while (running) work();
            }
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        class Locks
        {
            private readonly ConcurrentDictionary<string, string> _owners = new();

            public bool Take(string key, string owner)
            {
                if (_owners.ContainsKey(key)) return false;
                _owners[key] = owner;
                return true;
            }
        }
        """,
        8,
    ),
    good(
        _RULE,
        "csharp",
        """
        class Locks
        {
            private readonly ConcurrentDictionary<string, string> _owners = new();

            public bool Take(string key, string owner) => _owners.TryAdd(key, owner);

            public void Set(string key, string other)
            {
                if (_owners.ContainsKey(other)) _owners[key] = other;
            }
        }
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        class Seats {
            private val taken = ConcurrentHashMap<String, String>()

            fun take(seat: String, name: String): Boolean {
                if (taken.containsKey(seat)) return false
                taken[seat] = name
                return true
            }
        }
        """,
        6,
    ),
    bad(
        "loaded-by-every-caller",
        "kotlin",
        """
        class Pools {
            private val pools = ConcurrentHashMap<String, Pool>()

            fun of(name: String): Pool {
                if (!pools.containsKey(name)) {
                    pools[name] = Pool.open(name)
                }
                return pools.getValue(name)
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "kotlin",
        """
        class Pools {
            private val pools = ConcurrentHashMap<String, Pool>()

            fun of(name: String): Pool = pools.computeIfAbsent(name) { Pool.open(it) }
        }
        """,
    ),
]
