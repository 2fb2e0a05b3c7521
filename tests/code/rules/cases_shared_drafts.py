"""Files that are written in place through a handle, read at the start, or by a draft that others share."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "file-written-in-place"

CASES = [
    bad(
        _RULE,
        "python",
        """
        import os

        class Store:
            def save(self, mark):
                scratch = self._folder / "checkpoint.tmp"
                scratch.write_text(str(mark.page))
                os.replace(scratch, self._folder / f"{mark.station}.json")
        """,
        5,
    ),
    good(
        _RULE,
        "python",
        """
        import os

        class Store:
            def save(self, mark):
                scratch = self._folder / f"{mark.station}.{os.getpid()}.tmp"
                scratch.write_text(str(mark.page))
                os.replace(scratch, self._folder / f"{mark.station}.json")

            def save_all(self, marks):
                scratch = self._folder / "all.tmp"
                scratch.write_text(str(marks))
                os.replace(scratch, self._folder / "all.json")
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        import ("os"; "path/filepath")

        func (s *Store) Save(id string, b []byte) error {
            tmp := filepath.Join(s.dir, "cursor.tmp")
            if err := os.WriteFile(tmp, b, 0o600); err != nil {
                return err
            }
            return os.Rename(tmp, filepath.Join(s.dir, id+".json"))
        }
        """,
        4,
    ),
    good(
        _RULE,
        "go",
        """
        import ("os"; "path/filepath")

        func (s *Store) Save(id string, b []byte) error {
            target := filepath.Join(s.dir, id+".json")
            tmp := target + ".tmp"
            if err := os.WriteFile(tmp, b, 0o600); err != nil {
                return err
            }
            return os.Rename(tmp, target)
        }
        """,
    ),
    bad(
        _RULE,
        "javascript",
        """
        const fs = require("node:fs/promises");

        class Checkpoint {
          async load() {
            return JSON.parse(await fs.readFile(this.file, "utf8"));
          }

          async put(state) {
            const handle = await fs.open(this.file, "w");
            await handle.writeFile(JSON.stringify(state));
          }
        }
        """,
        9,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        class PersistentLong(private val file: File) {
            private var current: Long = if (file.exists()) file.readText().toLong() else 0L

            fun advance(value: Long) {
                file.writeText(value.toString())
                current = value
            }
        }
        """,
        5,
    ),
    bad(
        _RULE,
        "csharp",
        """
        class Position
        {
            private readonly string _file;
            private long _at;

            public Position(string file)
            {
                _file = file;
                _at = long.Parse(File.ReadAllText(_file));
            }

            public void Advance(long to)
            {
                File.WriteAllText(_file, to.ToString());
            }
        }
        """,
        14,
    ),
    good(
        "lost-update",
        "python",
        """
        def backfill(store, station):
            mark = store.load(station)
            while mark.next_page <= 5000:
                fetch(mark.next_page)
                mark.next_page += 1
                store.save(mark)
        """,
    ),
]
