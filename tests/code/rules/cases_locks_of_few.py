"""Locks that are held in other forms, and locks that are held for few."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_HELD = "lock-held-over-io"
_LOOSE = "unguarded-access"

CASES = [
    good(
        _HELD,
        "python",
        """
        import threading
        import time

        _gate = threading.Lock()

        def begin():
            with _gate:
                while not ready():
                    time.sleep(0.02)
        """,
    ),
    bad(
        _HELD,
        "python",
        """
        import threading
        import time

        _gate = threading.Lock()

        def drain():
            with _gate:
                time.sleep(2)
        """,
        8,
    ),
    good(
        _LOOSE,
        "csharp",
        """
        class Totals
        {
            private readonly object _gate = new();
            private readonly Dictionary<string, int> _sums = new Dictionary<string, int>();

            public void Put(string key, int sum)
            {
                lock (_gate)
                    _sums[key] = sum;
            }

            public void Drop(string key)
            {
                lock (_gate) { _sums.Remove(key); }
            }

            public bool TryPut(string key, int sum)
            {
                var taken = false;
                try
                {
                    Monitor.TryEnter(_gate, 50, ref taken);
                    if (!taken) return false;
                    _sums.Add(key, sum);
                    return true;
                }
                finally
                {
                    if (taken) Monitor.Exit(_gate);
                }
            }
        }
        """,
    ),
    bad(
        _LOOSE,
        "csharp",
        """
        class Totals
        {
            private readonly object _gate = new();
            private readonly Dictionary<string, int> _sums = new Dictionary<string, int>();

            public void Put(string key, int sum)
            {
                lock (_gate)
                    _sums[key] = sum;
            }

            public void Drop(string key)
            {
                _sums.Remove(key);
            }
        }
        """,
        14,
    ),
]
