"""What is taken and must be given back on every way out."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_RULE = "released-on-success-only"

CASES = [
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
]
