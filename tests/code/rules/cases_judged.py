"""Code of released projects that readers judged right, in short, each beside its wrong twin."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _GO, _JAVA = "python", "javascript", "go", "java"
_CS, _KT, _RS = "csharp", "kotlin", "rust"

CASES = [
    # A channel over which one value goes.
    good("unbounded-queue", _RS, """
        use std::sync::mpsc::channel;
        fn f(p: Proxy) -> Stream {
            // tx sends the stream, rx receives it
            let (tx, rx) = channel();
            thread::spawn(move || {
                if tx // the parent waits
                    .send(open(&p)).is_ok() { notify(); }
            });
            rx.recv().unwrap()
        }
    """),
    bad("unbounded-queue", _RS, """
        use std::sync::mpsc::channel;
        fn f(p: Feed) {
            let (tx, rx) = channel();
            thread::spawn(move || { for x in p.items() { tx.send(x).unwrap(); } });
            work(rx);
        }
        fn g(p: Feed) {
            let (tx, rx) = channel();
            let other = tx.clone();
            thread::spawn(move || { tx.send(1); });
            work(rx, other);
        }
    """, 3, 8),
    # Parameters of two functions have the same name.
    good("checked-then-inserted", _KT, """
        fun definition() {
          Function("info") { file: FsFile -> if (file.exists()) { file.path } else { null } }
          Function("path") { uri: Uri ->
            val file = fileOf(uri)
            if (file.exists()) { file.path } else { null }
          }
          Function("create") { file: FsFile, options: Options? -> file.create(options ?: Options()) }
        }
    """),
    bad("checked-then-inserted", _KT, """
        class Accounts(val users: UserRepository) {
          fun register(email: String) {
            if (users.existsByEmail(email)) throw Taken()
            users.save(User(email))
          }
        }
    """, 4),
    # No other thread has an object that is being finalized.
    good("unguarded-access", _CS, """
        class A {
          private readonly List<string> tasks = new List<string>();
          private readonly object sync = new object();
          ~A() { Debug.Assert(tasks.Count == 0); }
          public void Add(string t) { lock(sync) { tasks.Add(t); } }
          public void Remove(string t) { lock(sync) { tasks.Remove(t); } }
        }
    """),
    bad("unguarded-access", _CS, """
        class A {
          private readonly List<string> tasks = new List<string>();
          private readonly object sync = new object();
          public int Left() { return tasks.Count; }
          public void Add(string t) { lock(sync) { tasks.Add(t); } }
          public void Remove(string t) { lock(sync) { tasks.Remove(t); } }
        }
    """, 4),
    # Lines that are changed among their neighbours, and written back.
    good("whole-file-loaded", _CS, """
        static void Fix(string path) {
          string[] v = File.ReadAllLines(path, Encoding.UTF8);
          for (int i = 0; i < v.Length - 1; ++i) { if (v[i].Contains("data")) v[i + 1] = Convert(v[i + 1]); }
          File.WriteAllLines(path, v);
        }
    """),
    bad("whole-file-loaded", _CS, """
        static int Count(string path) {
          string[] v = File.ReadAllLines(path, Encoding.UTF8);
          int n = 0;
          foreach (var line in v) { if (line.Contains("data")) n++; }
          return n;
        }
    """, 2),
    # What follows is done because the acknowledgement failed, or says that it did not.
    good("acknowledged-before-work", _PY, """
        def basic_ack(ctx, tag):
            try:
                ctx.channel.basic_ack(tag)
            except Exception as e:
                ctx.reconnect(e)
            else:
                ctx.echo_ok()
    """),
    bad("acknowledged-before-work", _PY, """
        def on_message(ch, method, props, body):
            try:
                ch.basic_ack(method.delivery_tag)
                charge(body)
            except Exception as e:
                requeue(e)
    """, 3),
    # A shell is always there; what it cannot start is its exit status.
    good("unhandled-error-event", _JS, """
        const { spawn } = require('child_process');
        function run(args, done) {
          const child = spawn('docker', args, { stdio: 'inherit', shell: true });
          child.on('close', done);
        }
    """),
    bad("unhandled-error-event", _JS, """
        const { spawn } = require('child_process');
        function run(args, done) {
          const child = spawn('docker', args, { stdio: 'inherit', shell: false });
          child.on('close', done);
        }
    """, 3),
    # A key under which a secret is kept.
    good("secret-in-log", _GO, """
        package main
        import "fmt"
        func set(c *Client, secretKey string, secret []byte) error {
            if err := c.Put(secretKey, secret); err != nil {
                return fmt.Errorf("failed to set secret %q: %w", secretKey, err)
            }
            return nil
        }
    """),
    bad("secret-in-log", _GO, """
        package main
        import "fmt"
        func sign(c *Client, secretKey string, body []byte) error {
            if err := c.Put(secretKey, body); err != nil {
                return fmt.Errorf("failed with %q: %w", secretKey, err)
            }
            return nil
        }
    """, 5),
    # A limit for a probe, or while a socket closes.
    good("wrong-time-unit", _JAVA, """
        class C {
          boolean isHealthy() throws IOException {
            socket.setSoTimeout(3);
            return !source.exhausted();
          }
          boolean ready() throws IOException {
            int before = socket.getSoTimeout();
            try { socket.setSoTimeout(10); return in.exhausted(); } finally { socket.setSoTimeout(before); }
          }
        }
    """),
    bad("wrong-time-unit", _JAVA, """
        class C {
          void connect() throws IOException {
            socket.setSoTimeout(10);
          }
        }
    """, 3),
    # Said to run before others have the object.
    good("unguarded-access", _GO, """
        package main
        import "sync"
        type store struct { mu sync.Mutex; blocks map[int]string }
        // Should only be called on startup.
        func (s *store) expireOld() { for i := range s.blocks { delete(s.blocks, i) } }
        func (s *store) Add(i int, b string) { s.mu.Lock(); s.blocks[i] = b; s.mu.Unlock() }
        func (s *store) Drop(i int) { s.mu.Lock(); delete(s.blocks, i); s.mu.Unlock() }
    """),
    bad("unguarded-access", _GO, """
        package main
        import "sync"
        type store struct { mu sync.Mutex; blocks map[int]string }
        // Drops what is old.
        func (s *store) ExpireOld() { for i := range s.blocks { delete(s.blocks, i) } }
        func (s *store) Add(i int, b string) { s.mu.Lock(); s.blocks[i] = b; s.mu.Unlock() }
        func (s *store) Drop(i int) { s.mu.Lock(); delete(s.blocks, i); s.mu.Unlock() }
        func (s *store) Has(i int) bool { s.mu.Lock(); defer s.mu.Unlock(); return s.blocks[i] != "" }
    """, 5),
    # The caller gets the path by another name.
    good("temporary-file-left", _GO, """
        package main
        import "os"
        func dump(b []byte) (string, error) {
            f, err := os.CreateTemp("", "dump-")
            if err != nil { return "", err }
            defer f.Close()
            path := f.Name()
            if _, err := f.Write(b); err != nil { return "", err }
            return path, nil
        }
    """),
    bad("temporary-file-left", _GO, """
        package main
        import "os"
        func dump(b []byte) error {
            f, err := os.CreateTemp("", "dump-")
            if err != nil { return err }
            defer f.Close()
            path := f.Name()
            if _, err := f.Write(b); err != nil { return err }
            return send(path)
        }
    """, 4),
    # FK-R014 names the way on which the body stays open.
    good("released-on-success-only", _GO, """
        package main
        import ("fmt"; "io"; "net/http")
        func get(u string) ([]byte, error) {
            resp, err := http.Get(u)
            if err != nil { return nil, err }
            if resp.StatusCode != 200 { return nil, fmt.Errorf("status %d", resp.StatusCode) }
            defer resp.Body.Close()
            return io.ReadAll(resp.Body)
        }
    """),
    bad("response-not-closed", _GO, """
        package main
        import ("fmt"; "io"; "net/http")
        func get(u string) ([]byte, error) {
            resp, err := http.Get(u)
            if err != nil { return nil, err }
            if resp.StatusCode != 200 { return nil, fmt.Errorf("status %d", resp.StatusCode) }
            defer resp.Body.Close()
            return io.ReadAll(resp.Body)
        }
    """, 6),
    # The error is kept, and looked at in `finally`.
    good("return-in-finally", _JS, """
        async function pump(reader, writer) {
          let failure;
          try {
            await copy(reader, writer);
          } catch (e) {
            failure = e;
          } finally {
            if (failure) { writer.abort(failure); return; }
            writer.close();
          }
        }
    """),
    bad("return-in-finally", _JS, """
        async function pump(reader, writer) {
          try {
            await copy(reader, writer);
          } catch (e) {
            if (!e.known) throw e;
          } finally {
            if (writer.closed) return;
            writer.close();
          }
        }
    """, 7),
    # The password is given beside the address.
    good("secret-in-log", _JAVA, """
        import java.sql.DriverManager;
        class C {
          Connection open(Config mariadb) throws SQLException {
            String dbURL = mariadb.toURI().toString();
            Connection c = DriverManager.getConnection(dbURL, mariadb.user(), mariadb.password());
            logger.debug("opened {}", dbURL);
            return c;
          }
        }
    """),
    bad("secret-in-log", _JAVA, """
        class C {
          Pool open(Config postgres) {
            String dbURL = postgres.toURI().toString();
            logger.debug("opening {}", dbURL);
            return Pool.of(dbURL);
          }
        }
    """, 4),
    # The server has ended when what is deferred runs.
    good("work-cut-off-at-the-end", _GO, """
        package main
        import ("net/http"; "os"; "os/signal")
        func run(srv *http.Server) {
            go func() {
                defer func() { srv.Close() }()
                srv.ListenAndServe()
            }()
            c := make(chan os.Signal, 1)
            signal.Notify(c, os.Interrupt)
            <-c
        }
    """),
    bad("work-cut-off-at-the-end", _GO, """
        package main
        import ("net/http"; "os"; "os/signal")
        func run(srv *http.Server) {
            go srv.ListenAndServe()
            c := make(chan os.Signal, 1)
            signal.Notify(c, os.Interrupt)
            <-c
            srv.Close()
        }
    """, 8),
    # Made anew after what failed.
    good("failed-result-cached", _JAVA, """
        class C {
          Statement prepare(String query) {
            try {
              Statement statement = cache.get(query);
              if (statement != null) return statement.clone(this);
            } catch (CloneNotSupportedException e) {
              e.printStackTrace();
            }
            Statement statement = create(query);
            cache.put(query, statement);
            return statement;
          }
        }
    """),
    bad("failed-result-cached", _JAVA, """
        class C {
          Rate rate(String pair) {
            Rate rate = null;
            try {
              rate = client.fetch(pair);
            } catch (Exception e) {
              e.printStackTrace();
            }
            cache.put(pair, rate);
            return rate;
          }
        }
    """, 9),
    # `fetch` of Bookshelf gives one row.
    good("missing-limit", _JS, """
        class A {
          async getCreatedEvent(memberId) {
            return await this.models.CreatedEvent.where('member_id', memberId)
              .query((qb) => qb.orderBy('created_at', 'desc'))
              .fetch({ require: false });
          }
        }
    """),
    bad("missing-limit", _JS, """
        class A {
          async getCreatedEvents(memberId) {
            return await this.models.CreatedEvent.where('member_id', memberId)
              .query((qb) => qb.orderBy('created_at', 'desc'))
              .fetchAll({ require: false });
          }
        }
    """, 3),
    # The caller renames what is written.
    good("file-written-in-place", _JAVA, """
        class ProjectState {
          static void save(State state, File dir) throws IOException {
            File temp = new File(dir, "state.temp.json");
            saveToFile(state, temp);
            temp.renameTo(new File(dir, "state.json"));
          }
          static void saveToFile(State state, File file) throws IOException {
            try (Writer out = new OutputStreamWriter(new FileOutputStream(file))) {
              mapper.writeValue(out, state);
            }
          }
          static State load(File file) throws IOException {
            try (Reader in = new InputStreamReader(new FileInputStream(file))) {
              return mapper.readValue(in);
            }
          }
        }
    """),
    bad("file-written-in-place", _JAVA, """
        class ProjectState {
          static void save(State state, File dir) throws IOException {
            saveToFile(state, new File(dir, "state.json"));
          }
          static void saveToFile(State state, File file) throws IOException {
            try (Writer out = new OutputStreamWriter(new FileOutputStream(file))) {
              mapper.writeValue(out, state);
            }
          }
          static State load(File file) throws IOException {
            try (Reader in = new InputStreamReader(new FileInputStream(file))) {
              return mapper.readValue(in);
            }
          }
        }
    """, 6),
]  # fmt: skip
