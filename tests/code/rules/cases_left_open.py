"""Shutdowns that end only a part, tasks that outlive the first of them, and accept loops that wait."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_JS, _TS, _PY, _GO, _JAVA, _CS, _RUST, _KT = (
    "javascript", "typescript", "python", "go", "java", "csharp", "rust", "kotlin",
)  # fmt: skip
_CUT, _TASK, _ACCEPT = "work-cut-off-at-the-end", "task-left-running", "accept-loop-waits"

CASES = [
    bad(
        _CUT,
        _TS,
        """
        import { Worker } from 'bullmq';
        const connection = new IORedis(URL);
        const worker = new Worker('push', push, { connection });
        async function shutdown() {
          await connection.quit();
          process.exit(0);
        }
        process.on('SIGTERM', () => { shutdown().catch((err) => process.exit(1)); });
    """,
        5,
    ),
    good(
        _CUT,
        _TS,
        """
        import { Worker } from 'bullmq';
        const connection = new IORedis(URL);
        const worker = new Worker('push', push, { connection });
        const other = new Worker('pull', pull, { connection });
        async function shutdown() {
          for (const each of [worker, other]) await each.close();
          await connection.quit();
          process.exit(0);
        }
        process.on('SIGTERM', shutdown);
    """,
    ),
    bad(
        _CUT,
        _JS,
        """
        const express = require('express');
        const app = express();
        const server = app.listen(8080);
        process.on('SIGTERM', async () => {
          await pool.end();
          process.exit(0);
        });
    """,
        5,
    ),
    good(
        _CUT,
        _JS,
        """
        const express = require('express');
        const app = express();
        const server = app.listen(8080);
        process.on('SIGTERM', () => {
          server.close(async () => { await pool.end(); process.exit(0); });
        });
    """,
    ),
    bad(
        _CUT,
        _KT,
        """
        class Buffer(private val sink: Sink) : AutoCloseable {
            override fun close() { flush() }
            fun flush() { sink.write(queue) }
        }
        fun main() {
            val buffer = Buffer(sink)
            val server = embeddedServer(Netty, 8080) { routes(buffer) }
            Runtime.getRuntime().addShutdownHook(Thread {
                server.stop(1_000, 5_000)
            })
            server.start(wait = true)
        }
    """,
        9,
    ),
    good(
        _CUT,
        _KT,
        """
        class Buffer(private val sink: Sink) : AutoCloseable {
            override fun close() { flush() }
            fun flush() { sink.write(queue) }
        }
        fun main() {
            val buffer = Buffer(sink)
            val server = embeddedServer(Netty, 8080) { routes(buffer) }
            Runtime.getRuntime().addShutdownHook(Thread {
                server.stop(1_000, 5_000)
                buffer.close()
            })
            server.start(wait = true)
        }
    """,
    ),
    bad(
        _CUT,
        _GO,
        """
        package main
        type Batcher struct{}
        func NewBatcher() *Batcher { return &Batcher{} }
        func (b *Batcher) Close() { b.flush(); b.wg.Wait() }
        func main() {
            batcher := NewBatcher()
            srv := &http.Server{Handler: routes(batcher)}
            go srv.ListenAndServe()
            <-stop
            srv.Shutdown(ctx)
        }
    """,
        10,
    ),
    bad(
        _CUT,
        _PY,
        """
        from contextlib import asynccontextmanager
        class Outbox:
            async def close(self):
                await self.flush()
        @asynccontextmanager
        async def lifespan(app):
            outbox = Outbox()
            app.state.outbox = outbox
            yield
            await app.state.pool.close()
    """,
        10,
    ),
    good(
        _CUT,
        _PY,
        """
        from contextlib import asynccontextmanager
        class Outbox:
            async def close(self):
                await self.flush()
        @asynccontextmanager
        async def lifespan(app):
            outbox = Outbox()
            yield
            await outbox.close()
            await app.state.pool.close()
    """,
    ),
    bad(
        _CUT,
        _RUST,
        """
        async fn main() -> anyhow::Result<()> {
            tokio::select! {
                served = axum::serve(listener, app).into_future() => served?,
                _ = shutdown_signal() => {}
            }
            pool.close().await;
            Ok(())
        }
    """,
        2,
    ),
    good(
        _CUT,
        _RUST,
        """
        async fn main() -> anyhow::Result<()> {
            axum::serve(listener, app).with_graceful_shutdown(shutdown_signal()).await?;
            tokio::select! {
                _ = drained() => {}
                _ = shutdown_signal() => {}
            }
            Ok(())
        }
    """,
    ),
    # The first of several tasks.
    bad(
        _TASK,
        _PY,
        """
        import asyncio
        async def bridge(socket):
            tasks = {asyncio.create_task(read(socket)), asyncio.create_task(write(socket))}
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    """,
        4,
    ),
    good(
        _TASK,
        _PY,
        """
        import asyncio
        async def bridge(socket):
            tasks = {asyncio.create_task(read(socket)), asyncio.create_task(write(socket))}
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
        async def futures(self, fut):
            await asyncio.wait([fut, self.closed], timeout=3, return_when=asyncio.FIRST_COMPLETED)
        async def rounds(tasks):
            while tasks:
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    """,
    ),
    bad(
        _TASK,
        _RUST,
        """
        async fn bridge(socket: WebSocket) {
            let mut reading = tokio::spawn(read(socket.rx));
            let mut writing = tokio::spawn(write(socket.tx));
            tokio::select! {
                _ = &mut reading => {}
                _ = &mut writing => {}
            }
        }
    """,
        4,
    ),
    good(
        _TASK,
        _RUST,
        """
        async fn bridge(socket: WebSocket) {
            let mut reading = tokio::spawn(read(socket.rx));
            let mut writing = tokio::spawn(write(socket.tx));
            tokio::select! {
                _ = &mut reading => writing.abort(),
                _ = &mut writing => reading.abort(),
            }
        }
    """,
    ),
    bad(
        _TASK,
        _CS,
        """
        class Bridge {
            async Task Run(WebSocket socket) {
                var reading = Read(socket);
                var writing = Write(socket);
                await Task.WhenAny(reading, writing);
            }
            async Task Read(WebSocket socket) { while (true) { await socket.ReceiveAsync(_buffer, default); } }
            async Task Write(WebSocket socket) { while (true) { await socket.SendAsync(await _queue.Take()); } }
        }
    """,
        5,
    ),
    good(
        _TASK,
        _CS,
        """
        class Bridge {
            async Task Run(WebSocket socket) {
                using var cts = new CancellationTokenSource();
                var reading = Read(socket, cts.Token);
                var writing = Write(socket, cts.Token);
                await Task.WhenAny(reading, writing);
                cts.Cancel();
            }
            async Task Read(WebSocket socket, CancellationToken ct) { while (true) { await socket.ReceiveAsync(_buffer, ct); } }
            async Task Write(WebSocket socket, CancellationToken ct) { while (true) { await socket.SendAsync(await _queue.Take(ct)); } }
        }
    """,
    ),
    # Accept loops.
    bad(
        _ACCEPT,
        _RUST,
        """
        async fn run(&self, listener: TcpListener) {
            loop {
                let accepted = tokio::select! {
                    _ = self.stop.cancelled() => break,
                    accepted = listener.accept() => accepted,
                };
                let Ok((tcp, peer)) = accepted else { continue };
                let tls = match self.tls.accept(tcp).await { Ok(tls) => tls, Err(_) => continue };
                tokio::spawn(serve(tls));
            }
        }
    """,
        8,
    ),
    good(
        _ACCEPT,
        _RUST,
        """
        async fn run(&self, listener: TcpListener) {
            loop {
                let (tcp, peer) = listener.accept().await.unwrap();
                let acceptor = self.tls.clone();
                tokio::spawn(async move {
                    if let Ok(tls) = acceptor.accept(tcp).await { serve(tls).await; }
                });
            }
        }
        async fn limited(&self, listener: TcpListener) {
            loop {
                let (tcp, peer) = listener.accept().await.unwrap();
                if let Ok(Ok(tls)) = timeout(LIMIT, self.tls.accept(tcp)).await { tokio::spawn(serve(tls)); }
            }
        }
    """,
    ),
    bad(
        _ACCEPT,
        _GO,
        """
        package a
        func serve(ln net.Listener) {
            for {
                conn, err := ln.Accept()
                if err != nil {
                    return
                }
                tlsConn := tls.Server(conn, config)
                if err := tlsConn.Handshake(); err != nil {
                    continue
                }
                go handle(tlsConn)
            }
        }
    """,
        9,
    ),
    good(
        _ACCEPT,
        _GO,
        """
        package a
        func serve(ln net.Listener) {
            for {
                conn, err := ln.Accept()
                if err != nil {
                    return
                }
                go func() {
                    tlsConn := tls.Server(conn, config)
                    if err := tlsConn.Handshake(); err != nil {
                        return
                    }
                    handle(tlsConn)
                }()
            }
        }
    """,
    ),
    bad(
        _ACCEPT,
        _PY,
        """
        def serve(server):
            while True:
                sock, address = server.accept()
                tls = context.wrap_socket(sock, server_side=True)
                threading.Thread(target=handle, args=(tls,)).start()
    """,
        4,
    ),
    bad(
        _ACCEPT,
        _CS,
        """
        class Listener {
            async Task Run() {
                while (true) {
                    var client = await _listener.AcceptTcpClientAsync();
                    var ssl = new SslStream(client.GetStream());
                    await ssl.AuthenticateAsServerAsync(_certificate);
                    _ = Task.Run(() => Handle(ssl));
                }
            }
        }
    """,
        6,
    ),
    bad(
        _ACCEPT,
        _JAVA,
        """
        class Listener {
            void run() throws IOException {
                while (true) {
                    Socket socket = server.accept();
                    BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
                    String hello = in.readLine();
                    pool.execute(() -> handle(socket, hello));
                }
            }
        }
    """,
        6,
    ),
    good(
        _ACCEPT,
        _JAVA,
        """
        class Listener {
            void run() throws IOException {
                while (true) {
                    Socket socket = server.accept();
                    pool.execute(() -> { socket.getInputStream().read(); handle(socket); });
                }
            }
        }
    """,
    ),
    good(
        _ACCEPT,
        _PY,
        """
        def pump(channel):
            while True:
                item = channel.accept()
                data = item.read()
                handle(data)
    """,
    ),
    good(
        _TASK,
        _CS,
        """
        class Import {
            async Task Run(string path) {
                await Task.WhenAny(Copy(path), Count(path));
            }
            async Task Copy(string path) { var i = 0; while (i < 10) { await _store.PutAsync(i++); } }
            async Task Count(string path) { var i = 0; while (i < 10) { await _store.AddAsync(i++); } }
        }
    """,
    ),
]
