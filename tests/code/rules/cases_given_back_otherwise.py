"""Things that are given back in other ways, and returns of where nothing was taken."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import good

_RELEASED = "released-on-success-only"

CASES = [
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
    good(
        "retry-without-backoff",
        "csharp",
        """
        class Sender
        {
            async Task Send(Func<Task> work)
            {
                var tries = 0;
                do
                {
                    tries++;
                    try
                    {
                        await work();
                        return;
                    }
                    catch (Exception error)
                    {
                        await RecoverAsync(error);
                    }
                } while (tries < _most);
            }

            async Task RecoverAsync(Exception error)
            {
                await Task.Delay(_pause);
            }
        }
        """,
    ),
    good(
        "retry-without-backoff",
        "python",
        """
        def take(store):
            while True:
                key = store.lease()
                try:
                    row = store.fetch(key)
                except NoSuchRowError:
                    continue
                return row
        """,
    ),
    good(
        "retry-without-limit",
        "python",
        """
        def ask(model, question):
            attempt = 0
            plain = False
            while attempt < MOST:
                attempt += 1
                try:
                    return model.ask(question)
                except BadOption:
                    if plain:
                        raise
                    plain = True
                    attempt -= 1
                except TimeoutError:
                    time.sleep(2**attempt)
        """,
    ),
    good(
        "busy-loop",
        "python",
        """
        def close_all(pool):
            while True:
                try:
                    item = pool.queue.pop()
                except IndexError:
                    break
                try:
                    item.close()
                except AttributeError:
                    pass
        """,
    ),
    good(
        "busy-loop",
        "typescript",
        """
        async function fresh() {
          let ticket;
          do {
            ticket = Ticket.create({ code: Random.text(8), status: "new" });
          } while (await Ticket.findOne({ where: { code: ticket.code } }));
          return ticket;
        }

        async function moveAll(backend: Backend) {
          let cursor = 0;
          do {
            cursor = await backend.moveFinished("failed", 100);
          } while (cursor);
        }

        function drain(list: Items) {
          while (list.items.length) {
            const item = list.items.shift();
            if (!item) continue;
            show(item);
          }
        }
        """,
    ),
    good(
        "busy-loop",
        "csharp",
        """
        class Pump
        {
            async Task Run(ChannelReader<int> source)
            {
                while (await source.WaitToReadAsync())
                {
                    while (source.TryRead(out var item)) Handle(item);
                }
            }

            void Once()
            {
                bool again = false;
                while (again)
                {
                    return;
                }
                while (again) ;
            }
        }
        """,
    ),
    good(
        "lock-not-released",
        "typescript",
        """
        async function turn(limiter: Semaphore, work: Work) {
          const got = await tryCatch(limiter.acquire());
          if (got.error) {
            throw got.error;
          }
          const done = await tryCatch(work.run());
          await limiter.release();
          return done;
        }

        function each(source: Source, entry: Entry) {
          source.pause();
          entry.done = source.resume.bind(source);
          if (entry.skip) {
            return;
          }
          write(entry);
          source.resume();
        }
        """,
    ),
    good(
        "ticker-not-stopped",
        "go",
        """
        package metrics

        var pusher *time.Ticker

        func Register(ctx context.Context) *Registry {
        	pusher = time.NewTicker(time.Second)
        	return made
        }
        """,
    ),
    good(
        "lock-guards-nothing",
        "rust",
        """
        struct Barrier(Arc<RwLock<()>>);

        impl Barrier {
            async fn wait(self) {
                let _ = self.0.read().await;
            }
        }
        """,
    ),
    good(
        "file-not-closed",
        "csharp",
        """
        class Index
        {
            private Stream m_file;

            public Index(string path)
            {
                m_file = File.OpenRead(path);
            }

            void Logs(string name, out Stream reads)
            {
                reads = File.Create(name);
            }

            (Stream, string) Both(string name, Stream given)
            {
                return (given ?? File.OpenRead(name), name);
            }
        }
        """,
    ),
    good(
        "temporary-file-left",
        "python",
        """
        def keep(config, key, text):
            with tempfile.NamedTemporaryFile("w", delete=False) as file:
                file.write(text)
            config[key] = file.name
        """,
    ),
    good(
        "temporary-file-left",
        "java",
        """
        class Outputs {
            void make(Path folder, String name) throws IOException {
                File made = File.createTempFile(name, null, folder.toFile());
                names.register(name);
            }
        }
        """,
    ),
    good(
        "listener-leak",
        "typescript",
        """
        export const stopped = new Promise((resolve) => {
          process.on("SIGTERM", () => resolve(""));
        });
        """,
    ),
    good(
        "loaded-by-every-caller",
        "python",
        """
        import asyncio

        class Store:
            async def _connection(self):
                if self._conn is None or self._conn.closed:
                    self._conn = await driver.connect(self.url)
                return self._conn

            async def run(self, sql):
                async with self._lock:
                    conn = await self._connection()
                    return await conn.run(sql)
        """,
    ),
    good(
        "nested-retries",
        "java",
        """
        interface Store {
            @Retryable(includes = {IOException.class})
            default URI put(URI to, InputStream data) throws IOException {
                return write(to, data);
            }

            @Retryable(includes = {IOException.class})
            default URI from(File file) throws IOException {
                return this.put(uriOf(file), open(file));
            }
        }
        """,
    ),
]
