"""Code that is close to lost errors, wrong answers and logged secrets, and is right."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import good

CASES = [
    *(
        good(
            rule,
            "rust",
            """
            async fn with_limit(pool: &DatabaseConnection, stmt: Statement) -> DbResult<ExecResult> {
                let tx = pool.begin().await?;
                let _ = tx.execute(Statement::from_string("SET LOCAL statement_timeout=0;")).await?;
                let res = tx.execute(stmt).await?;
                tx.commit().await?;
                Ok(res)
            }
            use redis::AsyncCommands;
            async fn migrate(conn: &mut redis::aio::MultiplexedConnection, keys: Vec<String>) -> redis::RedisResult<()> {
                let _: () = conn.rpush("jobs", keys).await?;
                Ok(())
            }
            """,
        )
        for rule in ("swallowed-error", "failure-only-logged")
    ),
    good(
        "failure-only-logged",
        "rust",
        """
        pub async fn daily(context: &Context) -> Result<(), Failure> {
            delete_old_rows(&mut context.pool()).await.inspect_err(|e| warn!("not deleted: {e}")).ok();
            update_counts(&mut context.pool()).await
                // An update without changes is an error here.
                .ok();
            Ok(())
        }
        pub async fn purge_expired(conn: &DbConn) {
            for send in Send::find_expired(conn).await {
                send.delete(conn).await.ok();
            }
        }
        pub async fn count(conn: &mut Conn) -> Result<(), Failure> {
            let statement = "DROP TABLE IF EXISTS counts_temporary";
            sql_query(statement).execute(conn).await.ok();
            Ok(())
        }
        """,
    ),
    *(
        good(
            rule,
            "csharp",
            """
            public class PaymentController : ControllerBase
            {
                [HttpPost("paid")]
                public async Task<IActionResult> PaidAsync(Payment payment)
                {
                    try
                    {
                        await _transactions.CreateAsync(payment.ToTransaction());
                    }
                    catch (SqlException e) when (e.Number == 547)
                    {
                    }
                    return new OkResult();
                }
            }
            """,
        )
        for rule in ("swallowed-error", "failure-only-logged")
    ),
    good(
        "failure-only-logged",
        "python",
        """
        class Spending:
            async def add(self, cost, user_id, team_id):
                try:
                    await self._update_user_db(cost=cost, user_id=user_id)
                except Exception:
                    log.exception("user not updated")
                try:
                    await self._update_team_db(cost=cost, user_id=user_id, team_id=team_id)
                except Exception:
                    log.exception("team not updated")
        """,
    ),
    good(
        "ignored-error",
        "go",
        """
        package handlers

        func Deny(ctx *Context, rw http.ResponseWriter, requester oauth.Requester) {
        	ctx.Providers.OpenID.WriteAuthorizeError(ctx, requester, ErrDenied)
        	ctx.Providers.OpenID.WriteToken(ctx, rw, requester)
        }
        """,
    ),
    good(
        "error-answered-as-success",
        "kotlin",
        """
        fun Application.module() {
            install(StatusPages) { exception<BadRequest> { call, _ -> call.respond(HttpStatusCode.BadRequest) } }
            routing {
                post("/pins") {
                    val pin = try {
                        call.receive<Pin>()
                    } catch (e: Exception) {
                        throw BadRequest("Invalid pin: ${e.message}")
                    }
                    store.pin(pin)
                    call.respond(HttpStatusCode.OK)
                }
            }
        }
        """,
    ),
    good(
        "error-answered-as-success",
        "python",
        """
        from fastapi import APIRouter
        router = APIRouter()

        @router.post("/rules/check")
        async def check_rules(text: str):
            try:
                rules = parse(text)
            except Exception as e:
                return {"valid": False, "error": f"Invalid rules: {e}"}
            return {"valid": True, "count": len(rules)}

        @router.get("/servers/{server_id}/credential/status")
        async def credential_status(server_id: str):
            cred = await load(server_id)
            expired = False
            try:
                expired = parse_time(cred) < now()
            except Exception:
                pass
            return Status(server_id=server_id, present=True, expired=expired)
        """,
    ),
    good(
        "secret-in-log",
        "go",
        """
        package handlers

        const ActionResetPassword = "ResetPassword"

        func Reset(ctx *Context, claims *Claims, pathPrivateKey string) error {
        	if claims.Action != ActionResetPassword {
        		ctx.Logger.Errorf("the action '%s' is not '%s'", claims.Action, ActionResetPassword)
        	}
        	switch session := ctx.GetSession().(type) {
        	case *Session:
        		ctx.user = !session.ClientCredentials
        	default:
        		ctx.Logger.Errorf("the request '%s' has a session of type '%T'", ctx.ID, session)
        	}
        	header := headerAuthorization
        	if err := ctx.Parse(header); err != nil {
        		return fmt.Errorf("failed to parse the %s header: %w", header, err)
        	}
        	return fmt.Errorf("could not read the file '%s'", pathPrivateKey)
        }
        """,
    ),
    good(
        "secret-in-log",
        "typescript",
        """
        export class TokenController {
          async remove(req: Request, res: Response): Promise<void> {
            const token = req.headers['authorization'];
            const permissionRequired = permissionFor(req.params.kind);
            if (!(await this.access.has(req.user, permissionRequired))) {
              throw new DeniedError(`You do not have the access [${permissionRequired}]`);
            }
            res.status(200).end();
          }
        }
        const permissionFor = (kind: string) => {
          switch (kind) {
            case 'client':
              return DELETE_CLIENT_API_TOKEN;
            default:
              return DELETE_ADMIN_API_TOKEN;
          }
        };
        """,
    ),
    good(
        "failed-message-dropped",
        "java",
        """
        package x;
        import javax.jms.*;

        public class Spans implements MessageListener {
            public void onMessage(Message message) {
                byte[] bytes;
                try {
                    BytesMessage given = (BytesMessage) message;
                    bytes = new byte[(int) given.getBodyLength()];
                    given.readBytes(bytes);
                } catch (Exception e) {
                    metrics.incrementMessagesDropped();
                    return;
                }
                collector.accept(bytes);
            }
        }
        """,
    ),
    good(
        "message-handed-off",
        "python",
        """
        from fastapi import APIRouter, BackgroundTasks
        router = APIRouter(prefix="/webhooks")

        @router.post("/webhooks/{item_id}/test")
        def test_one(item_id: str, bg_tasks: BackgroundTasks):
            bg_tasks.add_task(post_single_webhook, item_id, "Test")
        """,
    ),
    good(
        "failure-looks-empty",
        "java",
        """
        package x;
        import java.util.concurrent.CompletableFuture;

        public class Calls {
            CompletableFuture<Answer> send(Request request) {
                CompletableFuture<Answer> future = client.execute(request);
                return future.exceptionally(t -> {
                    if (t instanceof Unprocessed) {
                        throw new RejectedExecutionException(t);
                    } else {
                        Exceptions.throwUnsafely(t);
                    }
                    return null;
                });
            }
            CompletableFuture<Optional<Account>> inMemory(UUID id) {
                return cacheCluster.withCluster(c -> c.async().get(keyOf(id)))
                    .exceptionally(t -> Optional.empty());
            }
        }
        """,
    ),
    good(
        "failure-looks-empty",
        "typescript",
        """
        export const listTools = async (url: string): Promise<Tool[]> => {
          const response = await fetch(url);
          if (!response.ok) {
            const body = await response.json().catch(() => ({}));
            throw new Error(messageOf(body));
          }
          return response.json();
        };
        export const canRead = async (user: User, id: string) => {
          try {
            const document = await Document.findByPk(id);
            authorize(user, 'read', document);
            return true;
          } catch (_err) {
            return false;
          }
        };
        """,
    ),
    good(
        "missing-value-used",
        "go",
        """
        package suites

        type Registry struct {
        	suites map[string]Suite
        }

        func NewRegistry() *Registry {
        	return &Registry{make(map[string]Suite)}
        }

        func (r *Registry) Register(name string, suite Suite) {
        	r.suites[name] = suite
        }
        """,
    ),
    good(
        "outcome-ignored",
        "java",
        """
        package x;
        class SpanReader {
            void all(ReadBuffer buffer, Builder builder) {
                AnnotationReader.read(buffer, builder);
            }
            static class AnnotationReader {
                static void read(ReadBuffer buffer, Builder builder) { builder.add(buffer.readLong()); }
            }
        }
        """,
    ),
    good(
        "outcome-ignored",
        "csharp",
        """
        public class Scheduler
        {
            public Task[] Scheduled()
            {
                var taken = false;
                try
                {
                    Monitor.TryEnter(_tasks, ref taken);
                    return taken ? _tasks.ToArray() : throw new NotSupportedException();
                }
                finally { if (taken) Monitor.Exit(_tasks); }
            }
        }
        """,
    ),
    good(
        "failed-items-ignored",
        "java",
        """
        package x;
        class Store {
            private void write(Map<String, List<WriteRequest>> items, Timer timer, AtomicReference<BatchWriteItemResponse> outcome) {
                timer.record(() -> outcome.set(client.batchWriteItem(BatchWriteItemRequest.builder().requestItems(items).build())));
            }
        }
        """,
    ),
    good(
        "swallowed-error",
        "typescript",
        """
        export async function copyAll(links: string[], store: Store): Promise<void> {
          await Promise.all(links.map(async (link) => {
            try {
              new URL(link);
            } catch {
              return;
            }
            await store.copy(link);
          }));
        }
        export async function copyText(text: string): Promise<void> {
          try {
            await navigator.clipboard.writeText(text);
          } catch {
            return;
          }
          setCopied(true);
        }
        """,
    ),
    good(
        "swallowed-error",
        "go",
        """
        package meta

        func extract(scripts []string) (found []any) {
        	for _, script := range scripts {
        		var value any
        		if err := json.NewDecoder(strings.NewReader(script)).Decode(&value); err != nil {
        			continue
        		}
        		found = append(found, value)
        	}
        	return found
        }
        """,
    ),
    good(
        "fire-and-forget",
        "csharp",
        """
        public class UpdateCommand
        {
            public async Task RunAsync(Update update)
            {
                await _store.SaveAsync(update);
                ValidateSeatsAsync(update);
                var known = new HashSet<string>(await _users.SelectKnownAsync(update.Users.Select(u => u.Email)));
                var left = update.Users.Where(u => known.Add(u.Email)).ToList();
                await _store.AddAsync(left);
            }
            private void ValidateSeatsAsync(Update update)
            {
                if (update.Seats < 0) { throw new BadRequestException("seats"); }
            }
        }
        """,
    ),
    good(
        "fire-and-forget",
        "javascript",
        """
        async function build() {
          await compile();
          await copyFiles();
        }
        void build();
        """,
    ),
    good(
        "failed-result-cached",
        "python",
        """
        from functools import cache

        @cache
        def tracing():
            try:
                from tracing_kit import logger
            except Exception:
                return None
            return logger.span
        """,
    ),
    good(
        "failure-taken-for-data",
        "csharp",
        """
        public class Guard : DelegatingHandler
        {
            protected async Task<Answer> CheckAsync(Request request, CancellationToken token)
            {
                var found = await ResolveAsync(request.Host, token);
                if (found.Length == 0)
                {
                    throw new BlockedException(request.Host);
                }
                return await base.SendAsync(request, token);
            }
            private async Task<IPAddress[]> ResolveAsync(string host, CancellationToken token)
            {
                try
                {
                    return await Dns.GetHostAddressesAsync(host, token);
                }
                catch (SocketException)
                {
                    return [];
                }
            }
        }
        """,
    ),
    good(
        "promise-leaves-try",
        "typescript",
        """
        export const usage = async (url: string) => {
          try {
            const response = await fetch(url);
            if (!response.ok) { throw new Error(await response.json()); }
            return response.json();
          } catch (error) {
            console.error("no usage:", error);
            throw error;
          }
        };
        """,
    ),
]
