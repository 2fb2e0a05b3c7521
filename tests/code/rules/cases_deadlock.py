"""Locks that are taken in two orders, or twice."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "deadlock"

CASES = [
    bad(
        _RULE,
        "go",
        """
        package bank

        func (b *Bank) Move(from, to *Account, amount int) {
        	from.mu.Lock()
        	defer from.mu.Unlock()
        	to.mu.Lock()
        	defer to.mu.Unlock()
        }

        func (b *Bank) Total() int {
        	b.mu.Lock()
        	defer b.mu.Unlock()
        	return b.sum() + b.Count()
        }

        func (b *Bank) Count() int {
        	b.mu.Lock()
        	defer b.mu.Unlock()
        	return len(b.accounts)
        }
        """,
        6,
        13,
    ),
    good(
        _RULE,
        "go",
        """
        package bank

        func (b *Bank) Move(from, to *Account, amount int) {
        	first, second := from, to
        	if from.id > to.id {
        		first, second = to, from
        	}
        	first.mu.Lock()
        	defer first.mu.Unlock()
        	second.mu.Lock()
        	defer second.mu.Unlock()
        }

        func (b *Bank) Total() int {
        	b.mu.Lock()
        	sum := b.sum()
        	b.mu.Unlock()
        	return sum + b.Count()
        }

        func (b *Bank) Later() {
        	b.mu.Lock()
        	defer b.mu.Unlock()
        	go b.Count()
        }

        func (b *Bank) Count() int {
        	b.mu.Lock()
        	defer b.mu.Unlock()
        	return len(b.accounts)
        }

        func (b *Bank) sum() int { return b.total }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import threading

        class Stock:
            def __init__(self):
                self.stock_lock = threading.Lock()
                self.price_lock = threading.Lock()

            def reprice(self):
                with self.price_lock:
                    with self.stock_lock:
                        self.apply()

            def restock(self):
                with self.stock_lock:
                    with self.price_lock:
                        self.apply()

            def all(self):
                with self.stock_lock:
                    self.restock()
        """,
        15,
        20,
    ),
    good(
        _RULE,
        "python",
        """
        import threading

        class Stock:
            def __init__(self):
                self.stock_lock = threading.RLock()
                self.price_lock = threading.Lock()

            def reprice(self):
                with self.stock_lock:
                    with self.price_lock:
                        self.apply()

            def restock(self):
                with self.stock_lock:
                    with self.price_lock:
                        self.apply()

            def all(self):
                with self.stock_lock:
                    self.restock()
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        class Bank {
            private final Object rows = new Object();
            private final Object log = new Object();

            void move(Account from, Account to) {
                synchronized (from) {
                    synchronized (to) {
                        from.debit();
                    }
                }
            }

            void write() {
                synchronized (rows) {
                    synchronized (log) { note(); }
                }
            }

            void read() {
                synchronized (log) {
                    synchronized (rows) { note(); }
                }
            }
        }
        """,
        7,
        21,
    ),
    good(
        _RULE,
        "java",
        """
        class Bank {
            private final Object rows = new Object();

            void write() {
                synchronized (rows) {
                    synchronized (this) { note(); }
                }
            }

            synchronized void again() {
                synchronized (this) { note(); }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "rust",
        """
        impl Bank {
            fn write(&self) {
                let rows = self.rows.lock().unwrap();
                let log = self.log.lock().unwrap();
            }

            fn read(&self) {
                let log = self.log.lock().unwrap();
                let rows = self.rows.lock().unwrap();
            }
        }
        """,
        9,
    ),
    good(
        _RULE,
        "rust",
        """
        impl Bank {
            fn write(&self) {
                let rows = self.rows.lock().unwrap();
                let log = self.log.lock().unwrap();
            }

            fn read(&self) {
                let log = self.log.lock().unwrap();
                drop(log);
                let rows = self.rows.lock().unwrap();
            }
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        class Bank
        {
            private readonly object _rows = new();
            private readonly object _log = new();

            void Write()
            {
                lock (_rows) { lock (_log) { Note(); } }
            }

            void Read()
            {
                lock (_log) { lock (_rows) { Note(); } }
            }
        }
        """,
        13,
    ),
]
