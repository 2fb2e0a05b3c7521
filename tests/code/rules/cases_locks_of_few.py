"""Locks that are held in other forms, and things that are given back in other ways."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_HELD = "lock-held-over-io"
_LOOSE = "unguarded-access"
_RELEASED = "released-on-success-only"

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
    good(
        _RELEASED,
        "csharp",
        """
        class Frames
        {
            void Copy(Source source, int length)
            {
                var buffer = ArrayPool<byte>.Shared.Rent(length);
                source.Fill(buffer);
                ArrayPool<byte>.Shared.Return(buffer);
            }

            Reader Open(string name)
            {
                var file = new FileStream(name, FileMode.Open);
                var reader = Readers.For(file);
                if (reader == null)
                {
                    file.Dispose();
                    throw new FormatException(name);
                }
                _files[name] = file;
                return reader;
            }

            bool Known()
            {
                if (!_tracing.HasValue)
                {
                    if (Settings.Off()) { _tracing = false; return false; }
                    _tracing = true;
                    Settings.Save();
                    return true;
                }
                return _tracing.Value;
            }
        }
        """,
    ),
    good(
        _RELEASED,
        "go",
        """
        package files

        func size(name string) (int64, error) {
        	f, err := os.Open(name)
        	if err != nil && os.IsNotExist(err) {
        		made, err := os.Create(name)
        		if err != nil {
        			return 0, err
        		}
        		defer made.Close()
        		return 0, nil
        	}
        	if err != nil {
        		return 0, err
        	}
        	defer f.Close()
        	return sizeOf(f)
        }
        """,
    ),
    good(
        _RELEASED,
        "python",
        """
        import sqlite3

        async def shot(url, kind):
            async with playwright() as p:
                engine = getattr(p, kind)
                browser = await engine.launch()
                page = await browser.new_page()
                await page.goto(url)
                await browser.close()

        def joined(rows, sql):
            db = sqlite3.connect(":memory:")
            fill(db, rows)
            found = db.execute(sql).fetchall()
            db.close()
            return found
        """,
    ),
    good(
        _RELEASED,
        "typescript",
        """
        class Journal {
          async add(line: string) {
            if (this.locked) {
              this.waiting.push(line);
              return;
            }
            this.locked = true;
            await fs.appendFile(this.path, line).catch((error) => console.error(error));
            this.locked = false;
          }
        }

        async function turn(key: string, work: Work) {
          const slots = new SlotSemaphore(key, 4);
          const lease = await slots.acquire();
          if (!lease) {
            return;
          }
          await tryCatch(work.run());
          await slots.release(lease);
        }
        """,
    ),
    good(
        _RELEASED,
        "java",
        """
        class Tool {
            static void execute(String[] args) {
                Context context = Contexts.start(args);
                int code = new Command(context).execute(args);
                context.close();
                System.exit(code);
            }
        }
        """,
    ),
]
