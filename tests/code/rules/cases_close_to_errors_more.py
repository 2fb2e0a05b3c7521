"""More code that is close to lost errors and logged secrets, and is right."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import good

CASES = [
    good(
        "secret-in-log",
        "python",
        """
        import logging
        log = logging.getLogger(__name__)

        def exchange(client, code):
            data = client.post("/oauth/token", json={"code": code}).json()
            access_token = data.get("access_token")
            if not access_token:
                raise ValueError(f"the answer has no token: {data}")
            return access_token

        def configured(api_key):
            if api_key is not None and not isinstance(api_key, str):
                raise TypeError(f"api_key must be a text, not {api_key}")
            return api_key
        """,
    ),
    good(
        "secret-in-log",
        "typescript",
        """
        router.put('/signup/tokens/:id', async (req, res) => {
          const { expiresAt, enabled } = req.body;
          if (!expiresAt && enabled === undefined) {
            logger.error(req.body);
            return res.status(400).send();
          }
          res.json(await tokens.update(req.params.id, { expiresAt, enabled }));
        });
        export function signIn(url: string, token: string, env: { isDevelopment: boolean }) {
          if (env.isDevelopment) {
            logger.debug(`sign in with ${url} and the password ${token}`, { accessToken: token });
          }
        }
        """,
    ),
    good(
        "secret-in-log",
        "go",
        """
        package validator

        import "example.com/oidc"

        func check(client Client) error {
        	return fmt.Errorf("client %s may not use the grant %s", client.ID, oidc.GrantTypeClientCredentials)
        }
        """,
    ),
    good(
        "ignored-error",
        "go",
        """
        package oidc

        type Session struct{ claims map[string]any }

        func NewSession(ctx Context, issuer string) (session *Session) {
        	session = newSession()
        	session.SetValues(ctx, issuer)
        	return session
        }

        func (s *Session) SetValues(ctx Context, issuer string) {
        	s.claims["iss"] = issuer
        }
        """,
    ),
    good(
        "failure-only-logged",
        "rust",
        """
        pub async fn save(context: &Context, form: &Form) -> Result<(), Failure> {
            // Ignore errors: an update without changes is one.
            Person::update(&mut context.pool(), form).await.ok();
            Ok(())
        }
        pub async fn take(conn: &DbConn, state: &str) -> Option<Entry> {
            let entry = Entry::find(state, conn).await?;
            if entry.is_expired() {
                entry.delete(conn).await.ok();
                return None;
            }
            Some(entry)
        }
        """,
    ),
    good(
        "unguarded-parse",
        "python",
        """
        import contextlib, json
        from fastapi import APIRouter
        router = APIRouter()

        @router.get("/settings")
        async def settings(request):
            with contextlib.suppress(json.JSONDecodeError):
                body = json.loads(request.body)
            raw = db_existing.ui_settings
            return json.loads(raw)

        def channel_of(channel):
            return channel

        def view(code):
            channel = find(code)
            return json.loads(channel.value)
        """,
    ),
    good(
        "dropped-future",
        "java",
        """
        package x;
        import java.util.concurrent.CompletableFuture;

        class Accounts {
            CompletableFuture<Account> byIdentifier(Identifier id) {
                return switch (id.kind()) {
                    case ACCOUNT -> byAccount(id.uuid());
                    case PHONE -> byPhone(id.uuid());
                };
            }
            private CompletableFuture<Account> byAccount(UUID id) { return store.load(id); }
            private CompletableFuture<Account> byPhone(UUID id) { return store.loadByPhone(id); }
        }
        """,
    ),
    good(
        "dropped-future",
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor
        executor = ThreadPoolExecutor(max_workers=4)

        def done(self, result):
            executor.submit(self.logging_obj.success_handler, result)
        """,
    ),
    good(
        "connection-not-restored",
        "typescript",
        """
        export class Messages {
          public listen = (callback: (message: unknown) => void) => {
            const ws = new WebSocket(this.url);
            ws.onmessage = (data) => callback(data);
            ws.onclose = () => {
              this.active = false;
              setTimeout(() => this.listen(callback), 30000);
            };
          };
        }
        """,
    ),
    good(
        "failure-looks-empty",
        "typescript",
        """
        export const listTags = async (url: string): Promise<Tag[]> => {
          const response = await fetch(url);
          if (!response.ok) {
            await showError(response);
            return [];
          }
          return response.json();
        };
        """,
    ),
]
