"""Files that are piped to a client which may go away."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "pipe-without-error-handler",
        "javascript",
        """
        const fs = require('node:fs');
        app.get('/files/:id', (req, res, next) => {
          const stream = fs.createReadStream(pathOf(req.params.id));
          stream.on('error', next);
          stream.pipe(zlib.createGzip()).pipe(res);
        });
        """,
        5,
    ),
    good(
        "pipe-without-error-handler",
        "javascript",
        """
        const fs = require('node:fs');
        app.get('/files/:id', (req, res, next) => {
          const stream = fs.createReadStream(pathOf(req.params.id));
          stream.on('error', next);
          res.on('close', () => stream.destroy());
          stream.pipe(zlib.createGzip()).pipe(res);
        });
        """,
    ),
    bad(
        "lost-update",
        "java",
        """
        class Cards {
            static final String READ = "SELECT balance FROM card WHERE id = ?";
            static final String WRITE = "UPDATE card SET balance = ? WHERE id = ?";
            long balance(long id) { return jdbc.queryForObject(READ, Long.class, id); }
            void redeem(long id, long amount) {
                long balance = balance(id);
                if (balance < amount) throw new Insufficient(id);
                jdbc.update(WRITE, balance - amount, id);
            }
        }
        """,
        8,
    ),
    good(
        "lost-update",
        "java",
        """
        class Cards {
            static final String READ = "SELECT balance FROM card WHERE id = ? FOR UPDATE";
            static final String WRITE = "UPDATE card SET balance = ? WHERE id = ?";
            long balance(long id) { return jdbc.queryForObject(READ, Long.class, id); }
            void redeem(long id, long amount) {
                long balance = balance(id);
                if (balance < amount) throw new Insufficient(id);
                jdbc.update(WRITE, balance - amount, id);
            }
        }
        """,
    ),
    good(
        "whole-file-loaded",
        "java",
        """
        import java.nio.file.Files;
        class Offsets {
            List<String> load() throws IOException { return parse(Files.readAllLines(file)); }
            void store(byte[] text) throws IOException {
                Files.write(tmp, text);
                Files.move(tmp, file, ATOMIC_MOVE);
            }
        }
        """,
    ),
]
