"""What is taken and must be given back on every way out."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_RULE = "released-on-success-only"
_PLACE = "file-written-in-place"

CASES = [
    bad(
        _RULE,
        _PY,
        """
        from contextlib import contextmanager

        @contextmanager
        def connection(pool):
            conn = pool.getconn()
            yield conn
            conn.commit()
            pool.putconn(conn)
    """,
        5,
    ),
    good(
        _RULE,
        _PY,
        """
        from contextlib import contextmanager

        @contextmanager
        def connection(pool):
            conn = pool.getconn()
            try:
                yield conn
            finally:
                pool.putconn(conn)

        def connections(pool):
            while True:
                yield pool.getconn()
    """,
    ),
    bad(
        _RULE,
        _JS,
        """
        async function load(id) {
          const client = await pool.connect();
          const found = await client.query('SELECT 1 FROM t WHERE id = $1', [id]);
          client.release();
          return found.rows;
        }
    """,
        2,
    ),
    bad(
        _RULE,
        _TS,
        """
        async function pay(order: Order) {
          const conn = await this.pool.getConnection();
          await conn.beginTransaction();
          await conn.query('UPDATE t SET x = 1');
          await conn.commit();
          conn.release();
        }
    """,
        2,
    ),
    good(
        _RULE,
        _JS,
        """
        async function load(id) {
          const client = await pool.connect();
          try {
            return (await client.query('SELECT 1')).rows;
          } finally {
            client.release();
          }
        }
        async function other(id) {
          const client = await pool.connect();
          try {
            await client.query('SELECT 1');
            client.release();
          } catch (e) {
            client.release(e);
            throw e;
          }
        }
        async function third() {
          const client = await pool.connect();
          return client.query('SELECT 1').finally(() => client.release());
        }
        async function start() {
          const socket = await net.connect(80);
          await use(socket);
          socket.end();
        }
    """,
    ),
    bad(
        _RULE,
        _JAVA,
        """
        class A {
          int count(DataSource source) throws SQLException {
            Connection conn = source.getConnection();
            PreparedStatement st = conn.prepareStatement("SELECT 1");
            ResultSet rows = st.executeQuery();
            int n = rows.getInt(1);
            conn.close();
            return n;
          }
          void load(File f, Properties p) throws IOException {
            FileInputStream in = new FileInputStream(f);
            p.load(in);
            in.close();
          }
        }
    """,
        3,
        11,
    ),
    good(
        _RULE,
        _JAVA,
        """
        class A {
          int count(DataSource source) throws SQLException {
            try (Connection conn = source.getConnection(); PreparedStatement st = conn.prepareStatement("SELECT 1")) {
              return st.executeQuery().getInt(1);
            }
          }
          int old(DataSource source) throws SQLException {
            Connection conn = source.getConnection();
            try {
              return conn.prepareStatement("SELECT 1").executeQuery().getInt(1);
            } finally {
              conn.close();
            }
          }
          Connection open(DataSource source) throws SQLException {
            Connection conn = source.getConnection();
            try {
              conn.setAutoCommit(false);
            } catch (SQLException e) {
              conn.close();
              throw e;
            }
            return conn;
          }
          private Connection held;
          void hold(DataSource source) throws SQLException {
            held = source.getConnection();
            work();
            if (old) held.close();
          }
          void open(File f) throws IOException {
            FileInputStream in = new FileInputStream(f);
            in.close();
          }
        }
    """,
    ),
    bad(
        _RULE,
        _PY,
        """
        import psycopg2
        def load(dsn):
            conn = psycopg2.connect(dsn)
            cur = conn.cursor()
            cur.execute("SELECT 1")
            rows = cur.fetchall()
            conn.close()
            return rows
        def lend(pool):
            conn = pool.getconn()
            work(conn)
            pool.putconn(conn)
    """,
        3,
        10,
    ),
    good(
        _RULE,
        _PY,
        """
        import psycopg2
        def load(dsn):
            conn = psycopg2.connect(dsn)
            try:
                return query(conn)
            finally:
                conn.close()
        def lend(pool):
            conn = pool.getconn()
            try:
                work(conn)
            finally:
                pool.putconn(conn)
        def kept(dsn):
            conn = psycopg2.connect(dsn)
            return conn
    """,
    ),
    bad(
        _RULE,
        _GO,
        """
        package a
        import "os"
        func size(p string) (int, error) {
          f, err := os.Open(p)
          if err != nil {
            return 0, err
          }
          n, err := read(f)
          if err != nil {
            return 0, err
          }
          f.Close()
          return n, nil
        }
    """,
        4,
    ),
    good(
        _RULE,
        _GO,
        """
        package a
        import "os"
        func size(p string) (int, error) {
          f, err := os.Open(p)
          if err != nil {
            return 0, err
          }
          defer f.Close()
          return read(f)
        }
        func each(p string) (int, error) {
          f, err := os.Open(p)
          if err != nil {
            return 0, err
          }
          n, err := read(f)
          if err != nil {
            f.Close()
            return 0, err
          }
          f.Close()
          return n, nil
        }
        func once(p string) (int, error) {
          f, err := os.Open(p)
          if err != nil {
            return 0, err
          }
          n, err := read(f)
          f.Close()
          return n, err
        }
        func list(p string) []string {
          <-slots
          f, err := os.Open(p)
          slots <- struct{}{}
          if err != nil {
            return nil
          }
          names := read(f)
          f.Close()
          return names
        }
        func touch(p string) error {
          f, err := os.Create(p)
          if err != nil {
            return err
          }
          return f.Close()
        }
    """,
    ),
    # Transactions and locks.
    bad(
        _RULE,
        _GO,
        'package a\nimport "database/sql"\nfunc pay(db *sql.DB) error {\n tx, err := db.Begin()\n if err != nil { return err }\n if _, err := tx.Exec("UPDATE a SET x = 1"); err != nil {\n  return err\n }\n return tx.Commit()\n}',
        4,
    ),
    good(
        _RULE,
        _GO,
        'package a\nimport "database/sql"\nfunc pay(db *sql.DB) error {\n tx, err := db.Begin()\n if err != nil { return err }\n defer tx.Rollback()\n if _, err := tx.Exec("UPDATE a SET x = 1"); err != nil {\n  return err\n }\n return tx.Commit()\n}\nfunc two(db *sql.DB) error {\n tx, err := db.Begin()\n if err != nil { return err }\n if _, err := tx.Exec("UPDATE a SET x = 1"); err != nil {\n  tx.Rollback()\n  return err\n }\n return tx.Commit()\n}',
    ),
    bad(
        _RULE,
        _JS,
        "async function pay(order) {\n  const t = await sequelize.transaction();\n  await Order.create(order, { transaction: t });\n  await t.commit();\n}",
        2,
    ),
    good(
        _RULE,
        _JS,
        "async function pay(order) {\n  const t = await sequelize.transaction();\n  try {\n    await Order.create(order, { transaction: t });\n    await t.commit();\n  } catch (e) {\n    await t.rollback();\n    throw e;\n  }\n}\nasync function two(order) {\n  await sequelize.transaction(async (t) => { await Order.create(order, { transaction: t }); });\n}",
    ),
    bad(
        _RULE,
        _TS,
        "async function write(row: Row) {\n  const release = await this.mutex.acquire();\n  await this.store(row);\n  release();\n}",
        2,
    ),
    good(
        _RULE,
        _TS,
        "async function write(row: Row) {\n  const release = await this.mutex.acquire();\n  try { await this.store(row); } finally { release(); }\n}",
    ),
    # State that is read back.
    bad(
        _PLACE,
        _PY,
        "import json\nclass Store:\n    def load(self):\n        with open(self.state_path) as f:\n            return json.load(f)\n    def save(self, data):\n        with open(self.state_path, 'w') as f:\n            json.dump(data, f)",
        7,
    ),
    bad(
        _PLACE,
        _PY,
        "import json\nfrom pathlib import Path\nCONFIG = Path('config.json')\ndef load():\n    return json.loads(CONFIG.read_text())\ndef save(c):\n    CONFIG.write_text(json.dumps(c))",
        7,
    ),
    good(
        _PLACE,
        _PY,
        "import json, os\nclass Store:\n    def load(self):\n        with open(self.state_path) as f:\n            return json.load(f)\n    def save(self, data):\n        with open(self.state_path + '.tmp', 'w') as f:\n            json.dump(data, f)\n        os.replace(self.state_path + '.tmp', self.state_path)",
    ),
    good(
        _PLACE,
        _PY,
        "import json\ndef load(state_path):\n    with open(state_path) as f:\n        return json.load(f)\ndef save(state_path, data):\n    with open(state_path, 'w') as f:\n        json.dump(data, f)",
    ),
    good(_PLACE, _PY, "def report(rows):\n    with open('report.json', 'w') as f:\n        f.write(rows)"),
    good(
        _PLACE,
        _PY,
        "def log(row):\n    with open(STATE, 'a') as f:\n        f.write(row)\ndef load():\n    return open(STATE).read()",
    ),
    bad(
        _PLACE,
        _JS,
        "const fs = require('fs');\nfunction load() { return JSON.parse(fs.readFileSync(STATE_FILE, 'utf8')); }\nfunction save(state) { fs.writeFileSync(STATE_FILE, JSON.stringify(state)); }",
        3,
    ),
    good(
        _PLACE,
        _JS,
        "const fs = require('fs');\nfunction load() { return JSON.parse(fs.readFileSync(STATE_FILE, 'utf8')); }\nfunction save(state) { fs.writeFileSync(STATE_FILE + '.tmp', JSON.stringify(state)); fs.renameSync(STATE_FILE + '.tmp', STATE_FILE); }",
    ),
    bad(
        _PLACE,
        _GO,
        'package a\nimport "os"\nfunc (s *Store) load() ([]byte, error) { return os.ReadFile(s.statePath) }\nfunc (s *Store) save(b []byte) error { return os.WriteFile(s.statePath, b, 0o600) }',
        4,
    ),
    good(
        _PLACE,
        _GO,
        'package a\nimport "os"\nfunc (s *Store) load() ([]byte, error) { return os.ReadFile(s.statePath) }\nfunc (s *Store) save(b []byte) error {\n if err := os.WriteFile(s.tmp, b, 0o600); err != nil { return err }\n return os.Rename(s.tmp, s.statePath)\n}',
    ),
    bad(
        _PLACE,
        _JAVA,
        "class A {\n  String load() throws IOException { return Files.readString(stateFile); }\n  void save(String s) throws IOException { Files.writeString(stateFile, s); }\n}",
        3,
    ),
]
