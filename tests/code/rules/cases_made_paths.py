"""Files in place whose paths a helper makes, and files for other programs."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "file-written-in-place"

CASES = [
    bad(
        _RULE,
        "python",
        """
        import json, os
        from pathlib import Path
        class CheckpointStore:
            def __init__(self, directory: str) -> None:
                self._dir = Path(directory)
            def _path(self, stream: str) -> Path:
                return self._dir / f"{stream}.json"
            def load(self, stream: str):
                try:
                    raw = self._path(stream).read_text(encoding="utf-8")
                except FileNotFoundError:
                    return None
                return json.loads(raw)
            def save(self, cursor) -> None:
                path = self._path(cursor.stream)
                with open(path, "w", encoding="utf-8") as fh:
                    json.dump(cursor.__dict__, fh)
                    os.fsync(fh.fileno())
        """,
        16,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        package a
        import java.io.File
        class LeaseStore(private val dir: File) {
            private fun fileOf(shard: String) = File(dir, "$shard.lease")
            fun load(shard: String): Lease? {
                val file = fileOf(shard)
                if (!file.exists()) return null
                return Lease.parse(file.readText())
            }
            fun save(shard: String, lease: Lease) {
                fileOf(shard).writeText(lease.format())
            }
        }
        """,
        11,
    ),
    bad(
        _RULE,
        "csharp",
        """
        using System.Text.Json;
        public class SnapshotStore
        {
            private readonly string _dir;
            public SnapshotStore(string dir) { _dir = dir; }
            private string PathOf(string key) => Path.Combine(_dir, key + ".json");
            public async Task<Snapshot?> LoadAsync(string key, CancellationToken ct)
            {
                var path = PathOf(key);
                if (!File.Exists(path)) return null;
                return JsonSerializer.Deserialize<Snapshot>(await File.ReadAllTextAsync(path, ct));
            }
            public async Task SaveAsync(string key, Snapshot s, CancellationToken ct)
            {
                await File.WriteAllTextAsync(PathOf(key), JsonSerializer.Serialize(s), ct);
            }
        }
        """,
        15,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import ("encoding/json"; "os")
        type State struct{ path string }
        func (s *State) Load(v any) error {
            f, err := os.Open(s.path)
            if err != nil {
                return err
            }
            defer f.Close()
            return json.NewDecoder(f).Decode(v)
        }
        func (s *State) Save(v any) error {
            f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
            if err != nil {
                return err
            }
            defer f.Close()
            return json.NewEncoder(f).Encode(v)
        }
        """,
        13,
    ),
    bad(
        _RULE,
        "rust",
        """
        use std::fs::{File, OpenOptions};
        use std::io::{Read, Write};
        use std::path::PathBuf;
        pub struct OffsetFile { path: PathBuf }
        impl OffsetFile {
            pub fn load(&self) -> std::io::Result<u64> {
                let mut text = String::new();
                File::open(&self.path)?.read_to_string(&mut text)?;
                Ok(text.trim().parse().unwrap_or(0))
            }
            pub fn store(&self, offset: u64) -> std::io::Result<()> {
                let mut f = OpenOptions::new().write(true).create(true).truncate(true).open(&self.path)?;
                f.write_all(offset.to_string().as_bytes())?;
                f.sync_all()
            }
        }
        """,
        12,
    ),
    bad(
        _RULE,
        "csharp",
        """
        using System.Text.Json;
        public class TokenStore
        {
            private readonly string _file;
            public TokenStore(string file) { _file = file; }
            public Token? Load()
            {
                using var reader = new StreamReader(_file);
                return JsonSerializer.Deserialize<Token>(reader.ReadToEnd());
            }
            public void Save(Token token)
            {
                using var stream = new FileStream(_file, FileMode.Create, FileAccess.Write);
                JsonSerializer.Serialize(stream, token);
            }
        }
        """,
        13,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        package a
        import java.nio.file.Files
        import java.nio.file.Path
        class InvoiceDrop(private val dropDir: Path) {
            fun deliver(invoice: Invoice): Path {
                val target = dropDir.resolve("${invoice.number}.xml")
                Files.writeString(target, invoice.toXml())
                return target
            }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "kotlin",
        """
        package a
        import java.nio.file.Files
        import java.nio.file.Path
        class InvoiceDrop(private val dropDir: Path) {
            fun deliver(invoice: Invoice): Path {
                val target = dropDir.resolve("${invoice.number}.xml")
                val part = dropDir.resolve("${invoice.number}.part")
                Files.writeString(part, invoice.toXml())
                return Files.move(part, target)
            }
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        r"""
        from pathlib import Path
        class EdiOutbox:
            def __init__(self, outbox: Path) -> None:
                self._outbox = outbox
            def send(self, message) -> None:
                target = self._outbox / f"{message.number}.edi"
                with target.open("w", encoding="ascii") as fh:
                    for segment in message.segments:
                        fh.write(segment + "'\n")
        """,
        7,
    ),
]
