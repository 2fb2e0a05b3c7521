"""Fields that a lock guards in one method and not in another."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "unguarded-access"

CASES = [
    bad(
        _RULE,
        "go",
        """
        package seats

        type Seats struct {
        	mu    sync.RWMutex
        	taken map[string]string
        	count int
        }

        func (s *Seats) Take(seat, name string) {
        	if _, ok := s.taken[seat]; ok {
        		return
        	}
        	s.mu.Lock()
        	defer s.mu.Unlock()
        	s.taken[seat] = name
        	s.count++
        }

        func (s *Seats) Free(seat string) {
        	delete(s.taken, seat)
        }

        func (s *Seats) Clear(seat string) {
        	s.mu.RLock()
        	s.taken[seat] = ""
        	s.mu.RUnlock()
        }

        func (s *Seats) Held(seat string) string {
        	s.mu.RLock()
        	defer s.mu.RUnlock()
        	return s.taken[seat]
        }
        """,
        10,
        20,
        25,
    ),
    good(
        _RULE,
        "go",
        """
        package seats

        type Seats struct {
        	mu    sync.Mutex
        	taken map[string]string
        }

        func NewSeats() *Seats {
        	s := &Seats{}
        	s.taken = map[string]string{}
        	return s
        }

        func (s *Seats) Take(seat, name string) {
        	s.mu.Lock()
        	defer s.mu.Unlock()
        	s.put(seat, name)
        	s.taken[seat] = name
        }

        func (s *Seats) put(seat, name string) {
        	s.taken[seat] = name
        }

        // Free must be called with the lock held.
        func (s *Seats) Free(seat string) {
        	delete(s.taken, seat)
        }

        func (s *Seats) freeLocked(seat string) {
        	delete(s.taken, seat)
        }

        type Plain struct {
        	mu   sync.Mutex
        	rows map[string]string
        	name string
        }

        func (p *Plain) Rename(name string) {
        	p.mu.Lock()
        	p.name = name
        	p.mu.Unlock()
        }

        func (p *Plain) Add(row string) {
        	p.rows[row] = row
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import threading

        class Seats:
            def __init__(self):
                self._lock = threading.Lock()
                self._taken = {}

            def take(self, seat, name):
                with self._lock:
                    self._taken[seat] = name

            def free(self, seat):
                self._taken.pop(seat, None)

            def names(self):
                return [name for name in self._taken.values()]

            def count(self):
                with self._lock:
                    return len(self._taken)
        """,
        13,
        16,
    ),
    bad(
        _RULE,
        "python",
        """
        import threading

        class Inbox:
            def __init__(self):
                self._ready = threading.Condition()
                self._taken = {}

            def take(self, seat, name):
                with self._ready:
                    self._taken[seat] = name

            def free(self, seat):
                self._taken.pop(seat, None)
        """,
        13,
    ),
    good(
        _RULE,
        "python",
        """
        # No lock: a client that is opened and closed.
        class Seats:
            def __init__(self, gateway):
                self._gateway = gateway
                self._taken = {}

            def take(self, seat, name):
                with self._gateway:
                    self._taken[seat] = name

            def free(self, seat):
                self._taken.pop(seat, None)
        """,
    ),
    good(
        _RULE,
        "python",
        """
        import asyncio
        import threading

        class Seats:
            def __init__(self):
                self._lock = threading.Lock()
                self._taken = {}

            def take(self, seat, name):
                with self._lock:
                    self._taken[seat] = name

            def holder(self, seat):
                return self._taken.get(seat)

            def _free(self, seat):
                del self._taken[seat]

            def free(self, seat):
                with self._lock:
                    self._free(seat)

        class Tasks:
            def __init__(self):
                self._lock = asyncio.Lock()
                self._taken = {}

            async def take(self, seat, name):
                async with self._lock:
                    self._taken[seat] = name

            def free(self, seat):
                del self._taken[seat]
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        class Seats {
            private final Map<String, String> taken = new HashMap<>();
            private final Object gate = new Object();
            private final List<String> log = new ArrayList<>();

            public synchronized void take(String seat, String name) { taken.put(seat, name); }

            public String holder(String seat) { return taken.get(seat); }

            public void note(String line) {
                synchronized (gate) { log.add(line); }
            }

            public void forget() { log.clear(); }
        }
        """,
        8,
        14,
    ),
    good(
        _RULE,
        "java",
        """
        class Seats {
            private final Map<String, String> taken = new HashMap<>();
            private final Map<String, String> free = new ConcurrentHashMap<>();

            Seats(String first) { taken.put(first, ""); }

            public synchronized void take(String seat, String name) {
                taken.put(seat, name);
                free.remove(seat);
            }

            public String holder(String seat) {
                synchronized (this) { return taken.get(seat); }
            }

            public boolean isFree(String seat) { return free.containsKey(seat); }
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        class Seats
        {
            private readonly object _gate = new();
            private readonly Dictionary<string, string> _taken = new();

            public void Take(string seat, string name)
            {
                lock (_gate) { _taken[seat] = name; }
            }

            public void Free(string seat) => _taken.Remove(seat);
        }
        """,
        11,
    ),
    good(
        _RULE,
        "csharp",
        """
        class Seats
        {
            private readonly object _gate = new();
            private readonly Dictionary<string, string> _taken = new();

            public void Take(string seat, string name)
            {
                lock (_gate) { _taken[seat] = name; }
            }

            public void Free(string seat)
            {
                lock (_gate)
                {
                    _taken.Remove(seat);
                }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        class Seats {
            private val mutex = Mutex()
            private val taken = mutableMapOf<String, String>()

            suspend fun take(seat: String, name: String) = mutex.withLock { taken[seat] = name }

            fun free(seat: String) {
                taken.remove(seat)
            }
        }
        """,
        8,
    ),
    good(
        _RULE,
        "kotlin",
        """
        class Seats {
            private val lock = Any()
            private val taken = mutableMapOf<String, String>()

            fun take(seat: String, name: String) = synchronized(lock) { taken[seat] = name }

            fun free(seat: String) {
                synchronized(lock) {
                    taken.remove(seat)
                }
            }
        }
        """,
    ),
]
