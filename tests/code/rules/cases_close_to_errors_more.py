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
    good(
        "ignored-error",
        "go",
        """
        package cmd

        import (
        	"strconv"
        	"time"
        )

        func hasID(c Context) error {
        	id, _ := strconv.Atoi(c.Param("id"))
        	if id < 1 {
        		return errInvalid
        	}
        	campaignID, _ := strconv.Atoi(c.QueryParam("campaign_id"))
        	date, _ := time.Parse(time.RFC3339, c.Param("at"))
        	if date.IsZero() {
        		date = time.Now()
        	}
        	return c.Show(id, campaignID, date)
        }
        """,
    ),
    good(
        "secret-in-log",
        "typescript",
        """
        export class Images {
          cover(id: number) {
            return `${this.baseUrl}image/cover?id=${id}&apiKey=${this.key}`;
          }
        }
        """,
    ),
    good(
        "secret-in-code",
        "csharp",
        """
        public static class FeatureFlags
        {
            public const string UpdateApisForInputPassword = "pm-270-update-apis-for-input-password";
            public const string ClientHashedPassword = "password_hash_b64";
        }
        """,
    ),
    good(
        "missing-value-used",
        "csharp",
        """
        public class Filter
        {
            public void Check(ActionExecutingContext context, string name, List<Info> infos, Info other)
            {
                var model = context.ActionArguments.FirstOrDefault(a => a.Key == name);
                Use(model.Key, model.Value);
                var info = infos.FirstOrDefault(i => i.Name == name, other);
                Use(info.Name, info.Series);
            }
        }
        """,
    ),
    good(
        "failure-only-logged",
        "csharp",
        """
        public class Devices
        {
            public async Task<bool> SendAsync(Device device)
            {
                try
                {
                    device.UpdateLastUsed();
                    await _unitOfWork.CommitAsync();
                }
                catch (Exception ex)
                {
                    _logger.LogError(ex, "not updated");
                }
                return await _mail.SendAsync(device);
            }
        }
        """,
    ),
    good(
        "failure-answered-as-not-found",
        "go",
        """
        package cmd

        import "github.com/labstack/echo/v4"

        func (a *App) RobotsTxt(c echo.Context) error {
        	b, err := a.fs.Read("/public/static/robots.txt")
        	if err != nil {
        		return echo.NewHTTPError(http.StatusNotFound, "robots.txt not found")
        	}
        	return c.Blob(http.StatusOK, "text/plain", b)
        }
        """,
    ),
]
