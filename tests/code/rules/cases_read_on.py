"""Loops that read on or ask for a state, things handed to a caller, and branches that exclude each other."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_AT_ONCE = "retry-without-backoff"
_ENDLESS = "retry-without-limit"
_LOCK = "lock-not-released"
_RELEASED = "released-on-success-only"

CASES = [
    # The next command of a text.
    good(
        _AT_ONCE,
        "rust",
        """
        impl Session {
            async fn feed(&mut self, data: &[u8]) -> State {
                let mut rest = data.iter();
                loop {
                    match self.decoder.parse(&mut rest) {
                        Ok(command) => match self.allow(command).await {
                            Ok(command) => return self.run(command).await,
                            Err(error) => self.refuse(error).await,
                        },
                        Err(Incomplete) => break,
                    }
                }
                State::Open
            }
        }
        """,
    ),
    bad(
        _AT_ONCE,
        "rust",
        """
        impl Rates {
            async fn load(&self) -> Rate {
                loop {
                    match self.client.fetch("EUR").await {
                        Ok(rate) => return rate,
                        Err(error) => warn!("rates: {error}"),
                    }
                }
            }
        }
        """,
        3,
    ),
    # A wait for more of a stream, with a limit.
    good(
        _AT_ONCE,
        "python",
        """
        import asyncio

        class Link:
            async def wait_for_credit(self, channel):
                for _ in range(50):
                    if self.state.credit(channel) > 0:
                        return self.state.credit(channel)
                    try:
                        chunk = await asyncio.wait_for(self.reader.read(4096), timeout=0.1)
                        if not chunk:
                            return -1
                        self.state.feed(chunk)
                    except asyncio.TimeoutError:
                        continue
                return -1
        """,
    ),
    bad(
        _AT_ONCE,
        "python",
        """
        import asyncio

        class Rates:
            async def load(self, client):
                for _ in range(50):
                    try:
                        return await asyncio.wait_for(client.fetch_rates(), timeout=2)
                    except asyncio.TimeoutError:
                        continue
                return None
        """,
        5,
    ),
    # One status that says "not yet".
    good(
        _AT_ONCE,
        "kotlin",
        """
        suspend fun confirm(card: CardLink): Reply {
            while (true) {
                try {
                    return card.transmit(ConfirmCommand())
                } catch (e: CardStatusException) {
                    if (e.status != 0x6A88) {
                        throw e
                    }
                    delay(100)
                }
            }
        }
        """,
    ),
    bad(
        _AT_ONCE,
        "kotlin",
        """
        suspend fun confirm(card: CardClient): Reply {
            while (true) {
                try {
                    return card.transmit(ConfirmCommand())
                } catch (e: CardStatusException) {
                    if (e.status != 503) {
                        throw e
                    }
                    delay(100)
                }
            }
        }
        """,
        2,
    ),
    # A policy that is made elsewhere.
    good(
        _AT_ONCE,
        "csharp",
        """
        class Hub
        {
            readonly IRetryPolicy _retryPolicy;

            public async Task Open(CancellationToken token)
            {
                await _retryPolicy.Retry(() => _link.Connect(token), token);
            }
        }
        """,
    ),
    bad(
        _AT_ONCE,
        "csharp",
        """
        class Hub
        {
            readonly AsyncPolicy _policy = Policy.Handle<HttpRequestException>().RetryAsync(3);
        }
        """,
        3,
    ),
    # Parts of an item.
    good(
        _AT_ONCE,
        "typescript",
        """
        function match(route: string, retries: Record<string, Entry>): string | undefined {
          for (const [id, entry] of Object.entries(retries)) {
            const build = entry.build;
            try {
              if (build(route) === "ok") {
                return id;
              }
            } catch {
              // Made for other routes.
            }
          }
          return undefined;
        }
        """,
    ),
    # A limit of time, and the same error twice.
    good(
        _ENDLESS,
        "go",
        """
        package socket

        func await(path string, limit time.Duration) error {
        	end := time.Now().Add(limit)
        	for {
        		_, err := os.Stat(path)
        		if err == nil {
        			return nil
        		}
        		if time.Now().After(end) {
        			return fmt.Errorf("no socket after %s", limit)
        		}
        		time.Sleep(time.Second)
        	}
        }
        """,
    ),
    good(
        _ENDLESS,
        "go",
        """
        package folder

        func list(folder Folder) []Entry {
        	var all []Entry
        	last := ""
        	for {
        		entries, err := folder.List(-1)
        		all = append(all, entries...)
        		if err == nil {
        			break
        		}
        		if last == err.Error() {
        			break
        		}
        		last = err.Error()
        	}
        	return all
        }
        """,
    ),
    bad(
        _ENDLESS,
        "go",
        """
        package socket

        func await(client *Client) error {
        	begin := time.Now()
        	for {
        		err := client.Ping()
        		if err == nil {
        			log.Println("ready after", time.Since(begin))
        			return nil
        		}
        		time.Sleep(time.Second)
        	}
        }
        """,
        5,
    ),
    # What the caller gives back.
    good(
        _LOCK,
        "go",
        """
        package lease

        func (l *Leases) Lock(ctx context.Context, name string) (func(), error) {
        	file, err := flock.Lock(ctx, name)
        	if err != nil {
        		return nil, err
        	}
        	if file == nil {
        		return func() {}, nil
        	}
        	return func() {
        		flock.Unlock(file)
        	}, nil
        }
        """,
    ),
    good(
        _LOCK,
        "go",
        """
        package gate

        func (g *Gate) enter(ctx context.Context) (func(), error) {
        	select {
        	case <-g.seats:
        	default:
        		return nil, errFull
        	}
        	select {
        	case <-g.ready:
        		return g.leave(), nil
        	case <-ctx.Done():
        		g.seats <- struct{}{}
        		return nil, ctx.Err()
        	}
        }

        func (g *Gate) leave() func() {
        	return func() { g.seats <- struct{}{} }
        }
        """,
    ),
    # Branches that exclude each other, and nothing to release.
    good(
        _RELEASED,
        "kotlin",
        """
        class Installs(private val installer: Installer) {
            fun receive(kind: String, id: Int) {
                if (kind == "install") {
                    val session = installer.openSession(id)
                    log.debug("opened")
                    session.commit(id)
                } else {
                    val session = installer.openSession(id)
                    session.abandon()
                }
            }
        }
        """,
    ),
    good(
        _RELEASED,
        "python",
        """
        class Pool:
            def on_signal(self, sig):
                if sig == MORE:
                    self.workers += 1
                    self.manage(self.loop.wait())
                    return
                if sig == FEWER:
                    if self.workers <= self.least:
                        return
                    self.workers -= 1
        """,
    ),
    good(
        _RELEASED,
        "python",
        """
        class Worker:
            def handle(self, environ, answer):
                parts = self.app(environ, answer.start)
                if self.is_answered(parts):
                    return
                try:
                    for part in parts:
                        answer.write(part)
                finally:
                    parts.close()
        """,
    ),
    good(
        _RELEASED,
        "python",
        """
        from io import BytesIO

        from pypdf import PdfWriter

        class Tickets:
            def render(self, orders):
                merged = PdfWriter()
                for order in orders:
                    merged.append(self.pages.draw(order))
                out = BytesIO()
                merged.write(out)
                merged.close()
                out.seek(0)
                return out
        """,
    ),
    good(
        _RELEASED,
        "go",
        """
        package images

        func (i *Image) Read(ctx context.Context) ([]byte, error) {
        	source, err := i.open()
        	if err != nil {
        		return nil, err
        	}
        	if source == nil {
        		return nil, errNone
        	}
        	defer source.Close()
        	return io.ReadAll(source)
        }
        """,
    ),
    good(
        _RELEASED,
        "go",
        """
        package merged

        func (m Merged) Open(name string) (fs.File, error) {
        	file, err := m.upper.Open(name)
        	if err != nil {
        		return nil, err
        	}
        	info, err := file.Stat()
        	if err != nil {
        		_ = file.Close()
        		return nil, err
        	}
        	if !info.IsDir() {
        		return file, nil
        	}
        	defer file.Close()
        	return m.merge(name)
        }
        """,
    ),
    good(
        "failed-result-cached",
        "csharp",
        """
        class Store
        {
            public async Task Set(string key, object data)
            {
                var made = new Lazy<Task<object>>(() => Task.FromResult(data), true);
                _running.TryAdd(key, made);
                await made.Value;
            }
        }
        """,
    ),
    good(
        "temporary-file-left",
        "java",
        """
        class Temps {
            File make(Path folder, String suffix) throws IOException {
                Path path;
                if (folder != null) {
                    path = Files.createTempFile(folder, "t", suffix);
                } else {
                    path = Files.createTempFile("t", suffix);
                }
                Files.deleteIfExists(path);
                return null;
            }
        }
        """,
    ),
]
