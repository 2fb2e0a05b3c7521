"""Replies that are waited for without a limit."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

CASES: list[Case] = [
    bad(
        "future-without-timeout",
        "python",
        """
        class Rpc:
            def call(self, method, params):
                done = threading.Event()
                self.pending[self.next_id] = done
                self.sock.sendall(encode(self.next_id, method, params))
                done.wait()
                return self.results.pop(self.next_id)
        """,
        6,
    ),
    bad(
        "future-without-timeout",
        "typescript",
        """
        export class Rpc {
          private pending = new Map<number, (v: unknown) => void>();
          call(method: string, params: unknown): Promise<unknown> {
            const id = ++this.seq;
            return new Promise((resolve) => {
              this.pending.set(id, resolve);
              this.socket.send(JSON.stringify({ id, method, params }));
            });
          }
          onMessage(raw: string) {
            const { id, result } = JSON.parse(raw);
            this.pending.get(id)?.(result);
            this.pending.delete(id);
          }
        }
        """,
        5,
    ),
    bad(
        "future-without-timeout",
        "rust",
        """
        impl Client {
            pub async fn call(&self, req: Request) -> Result<Response, Error> {
                let (tx, rx) = oneshot::channel();
                self.pending.lock().await.insert(req.id, tx);
                self.out.send(req).await.map_err(|_| Error::Closed)?;
                rx.await.map_err(|_| Error::Closed)
            }
        }
        """,
        6,
    ),
    bad(
        "future-without-timeout",
        "go",
        """
        package rpc
        func (c *Client) Call(req Request) (Response, error) {
            ch := make(chan Response, 1)
            c.mu.Lock()
            c.pending[req.ID] = ch
            c.mu.Unlock()
            if err := c.enc.Encode(req); err != nil {
                return Response{}, err
            }
            return <-ch, nil
        }
        """,
        10,
    ),
    bad(
        "future-without-timeout",
        "java",
        """
        package a;
        class RpcClient {
            private final Map<String, CompletableFuture<Reply>> pending = new ConcurrentHashMap<>();
            Reply call(Request r) throws Exception {
                CompletableFuture<Reply> f = new CompletableFuture<>();
                pending.put(r.id(), f);
                channel.send(r);
                try {
                    return f.get();
                } finally {
                    pending.remove(r.id());
                }
            }
        }
        """,
        9,
    ),
    bad(
        "future-without-timeout",
        "kotlin",
        """
        class RpcClient(private val session: WebSocketSession) {
            private val pending = ConcurrentHashMap<String, CompletableDeferred<Reply>>()
            suspend fun call(req: Request): Reply {
                val d = CompletableDeferred<Reply>()
                pending[req.id] = d
                session.send(Frame.Text(req.encode()))
                try {
                    return d.await()
                } finally {
                    pending.remove(req.id)
                }
            }
        }
        """,
        8,
    ),
    bad(
        "future-without-timeout",
        "csharp",
        """
        public class RpcClient
        {
            private readonly ConcurrentDictionary<Guid, TaskCompletionSource<Reply>> _pending = new();
            public async Task<Reply> CallAsync(Request r)
            {
                var tcs = new TaskCompletionSource<Reply>(TaskCreationOptions.RunContinuationsAsynchronously);
                _pending[r.Id] = tcs;
                await _bus.PublishAsync(r);
                try { return await tcs.Task; }
                finally { _pending.TryRemove(r.Id, out _); }
            }
        }
        """,
        9,
    ),
    good(
        "future-without-timeout",
        "kotlin",
        """
        class RpcClient(private val session: Session) {
            private val pending = ConcurrentHashMap<String, CompletableDeferred<Reply>>()
            suspend fun call(req: Request): Reply {
                val d = CompletableDeferred<Reply>()
                pending[req.id] = d
                session.send(req)
                return withTimeout(5000) { d.await() }
            }
        }
        """,
    ),
    good(
        "future-without-timeout",
        "go",
        """
        package rpc
        func (c *Client) Call(ctx context.Context, req Request) (Response, error) {
            ch := make(chan Response, 1)
            c.pending[req.ID] = ch
            select {
            case res := <-ch:
                return res, nil
            case <-ctx.Done():
                return Response{}, ctx.Err()
            }
        }
        """,
    ),
    good(
        "future-without-timeout",
        "python",
        """
        class Once:
            async def load(self, key):
                future = asyncio.get_running_loop().create_future()
                self.waiters.append(future)
                async with asyncio.timeout(5):
                    return await future
        """,
    ),
    good(
        "future-without-timeout",
        "typescript",
        """
        export function ask(id: number): Promise<unknown> {
          return new Promise((resolve) => {
            pending.set(id, resolve);
            setTimeout(() => resolve(undefined), 5000);
          });
        }
        """,
    ),
]
