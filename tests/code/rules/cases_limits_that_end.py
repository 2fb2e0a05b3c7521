"""Time limits that end before the body of an answer has been read."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_JS, _TS, _GO, _RUST, _CS = "javascript", "typescript", "go", "rust", "csharp"
_RULE = "limit-ends-before-body"

CASES = [
    bad(
        _RULE,
        _JS,
        """
        async function load(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 5000);
          const res = await fetch(url, { signal: controller.signal });
          clearTimeout(timer);
          return res.json();
        }
    """,
        5,
    ),
    bad(
        _RULE,
        _JS,
        """
        const load = async (url) => {
          const ac = new AbortController();
          const t = setTimeout(() => { ac.abort(new Error('too slow')); }, 5000);
          try {
            const res = await fetch(url, { signal: ac.signal });
            return res.json();
          } finally {
            clearTimeout(t);
          }
        };
    """,
        8,
    ),
    bad(
        _RULE,
        _JS,
        """
        function load(url) {
          const controller = new AbortController();
          const { signal } = controller;
          const timer = setTimeout(() => controller.abort(), 5000);
          return fetch(url, { signal }).then((res) => {
            clearTimeout(timer);
            return res.json();
          });
        }
    """,
        6,
    ),
    bad(
        _RULE,
        _JS,
        """
        function load(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 5000);
          return fetch(url, { signal: controller.signal })
            .finally(() => clearTimeout(timer))
            .then((res) => res.json());
        }
    """,
        5,
    ),
    bad(
        _RULE,
        _TS,
        """
        export async function fetchWithTimeout(url: string, init: RequestInit = {}, ms = 5000) {
          const controller = new AbortController();
          const id = setTimeout(() => controller.abort(), ms);
          const response = await fetch(url, { ...init, signal: controller.signal });
          clearTimeout(id);
          return response;
        }
    """,
        5,
    ),
    bad(
        _RULE,
        _TS,
        """
        async function download(url: string, file: string) {
          const controller = new AbortController();
          const options = { method: 'GET', signal: controller.signal };
          const timer = setTimeout(controller.abort.bind(controller), 5000);
          let res;
          try {
            res = await fetch(url, options);
          } catch (err) {
            throw new Error('no answer');
          } finally {
            clearTimeout(timer);
          }
          for await (const chunk of res.body) {
            await append(file, chunk);
          }
        }
    """,
        11,
    ),
    bad(
        _RULE,
        _TS,
        """
        async function viaUndici(url: string) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 3000);
          const { statusCode, body } = await request(url, { signal: controller.signal }).catch((err) => {
            clearTimeout(timer);
            throw err;
          });
          clearTimeout(timer);
          return await body.json();
        }
    """,
        8,
    ),
    good(
        _RULE,
        _JS,
        """
        async function load(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 5000);
          try {
            const res = await fetch(url, { signal: controller.signal });
            if (!res.ok) throw new Error(res.statusText);
            return await res.json();
          } finally {
            clearTimeout(timer);
          }
        }
        async function text(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 5000);
          const res = await fetch(url, { signal: controller.signal });
          const body = await res.text();
          clearTimeout(timer);
          return body;
        }
        function chained(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 5000);
          return fetch(url, { signal: controller.signal })
            .then((res) => res.json())
            .finally(() => clearTimeout(timer));
        }
    """,
    ),
    # Nothing reads the body, or the client has read it.
    good(
        _RULE,
        _JS,
        """
        async function isUp(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 5000);
          try {
            const res = await fetch(url, { method: 'HEAD', signal: controller.signal });
            return res.ok;
          } finally {
            clearTimeout(timer);
          }
        }
        async function byAxios(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 5000);
          try {
            return await axios.get(url, { signal: controller.signal });
          } finally {
            clearTimeout(timer);
          }
        }
    """,
    ),
    # The body has a limit of its own, and a failure clears the timer early.
    good(
        _RULE,
        _JS,
        """
        async function load(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 5000);
          const res = await fetch(url, { signal: controller.signal });
          clearTimeout(timer);
          return Promise.race([res.json(), rejectAfter(5000)]);
        }
        async function early(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 5000);
          const res = await fetch(url, { signal: controller.signal });
          if (res.status === 404) {
            clearTimeout(timer);
            return null;
          }
          const body = await res.json();
          clearTimeout(timer);
          return body;
        }
        async function idle(url) {
          const controller = new AbortController();
          let timer = setTimeout(() => controller.abort(), 5000);
          const res = await fetch(url, { signal: controller.signal });
          for await (const chunk of res.body) {
            clearTimeout(timer);
            timer = setTimeout(() => controller.abort(), 5000);
            take(chunk);
          }
          clearTimeout(timer);
        }
    """,
    ),
    bad(
        _RULE,
        _RUST,
        """
        use tokio::time::timeout;
        async fn load(client: &reqwest::Client, url: &str) -> anyhow::Result<Doc> {
            let response = timeout(LIMIT, client.get(url).send()).await??;
            let doc = response.json::<Doc>().await?;
            Ok(doc)
        }
    """,
        4,
    ),
    good(
        _RULE,
        _RUST,
        """
        use tokio::time::timeout;
        async fn load(client: &reqwest::Client, url: &str) -> anyhow::Result<Doc> {
            let response = timeout(LIMIT, client.get(url).send()).await??;
            let doc = timeout(LIMIT, response.json::<Doc>()).await??;
            Ok(doc)
        }
        async fn whole(client: &reqwest::Client, url: &str) -> anyhow::Result<Doc> {
            let doc = timeout(LIMIT, async { client.get(url).send().await?.json::<Doc>().await }).await??;
            Ok(doc)
        }
    """,
    ),
    bad(
        _RULE,
        _CS,
        """
        class Client {
            async Task<string> Load(Uri uri) {
                using var cts = new CancellationTokenSource(TimeSpan.FromSeconds(5));
                using var response = await _http.GetAsync(uri, HttpCompletionOption.ResponseHeadersRead, cts.Token);
                response.EnsureSuccessStatusCode();
                return await response.Content.ReadAsStringAsync();
            }
        }
    """,
        6,
    ),
    good(
        _RULE,
        _CS,
        """
        class Client {
            async Task<string> Load(Uri uri) {
                using var cts = new CancellationTokenSource(TimeSpan.FromSeconds(5));
                using var response = await _http.GetAsync(uri, HttpCompletionOption.ResponseHeadersRead, cts.Token);
                return await response.Content.ReadAsStringAsync(cts.Token);
            }
            async Task<string> Buffered(Uri uri) {
                using var cts = new CancellationTokenSource(TimeSpan.FromSeconds(5));
                using var response = await _http.GetAsync(uri, cts.Token);
                return await response.Content.ReadAsStringAsync();
            }
        }
    """,
    ),
    bad(
        _RULE,
        _GO,
        """
        package a
        import ("context"; "net/http"; "time")
        func open(ctx context.Context, url string) (*http.Response, error) {
            ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
            defer cancel()
            req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
            if err != nil {
                return nil, err
            }
            resp, err := http.DefaultClient.Do(req)
            if err != nil {
                return nil, err
            }
            return resp, nil
        }
    """,
        14,
    ),
    good(
        _RULE,
        _GO,
        """
        package a
        import ("context"; "net/http"; "time")
        func size(ctx context.Context, url string) (int64, error) {
            ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
            defer cancel()
            req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
            if err != nil {
                return 0, err
            }
            resp, err := http.DefaultClient.Do(req)
            if err != nil {
                return 0, err
            }
            defer resp.Body.Close()
            return resp.ContentLength, nil
        }
    """,
    ),
    bad(
        _RULE,
        _GO,
        """
        package a
        import ("context"; "net/http"; "time")
        func open(ctx context.Context, req *http.Request) (*http.Response, error) {
            ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
            defer cancel()
            resp, err := http.DefaultClient.Do(req.WithContext(ctx))
            return resp, err
        }
        func again(ctx context.Context, req *http.Request) (*http.Response, error) {
            ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
            defer cancel()
            resp, err := http.DefaultClient.Do(req.WithContext(ctx))
            return resp, err
        }
    """,
        7,
        13,
    ),
    good(
        _RULE,
        _GO,
        """
        package a
        import ("context"; "time")
        func (s *Users) Load(ctx context.Context, id string) (*User, error) {
            ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
            defer cancel()
            user, err := s.store.Get(ctx, id)
            return user, err
        }
    """,
    ),
    bad(
        _RULE,
        _JS,
        """
        async function load(url) {
          const controller = new AbortController();
          const my_signal = controller.signal;
          const timer = setTimeout(() => controller.abort(), 5000);
          const res = await fetchWith(url, my_signal);
          clearTimeout(timer);
          return res.json();
        }
    """,
        6,
    ),
    bad(
        _RULE,
        _CS,
        """
        class Feeds {
            async Task<string> First(Uri uri) {
                using var cts = new CancellationTokenSource(5000);
                var res = await _http.GetAsync(uri, HttpCompletionOption.ResponseHeadersRead, cts.Token);
                return await res.Content.ReadAsStringAsync();
            }
            async Task<string> Second(Uri uri) {
                using var cts = new CancellationTokenSource(5000);
                var res = await _http.GetAsync(uri, HttpCompletionOption.ResponseHeadersRead, cts.Token);
                return await res.Content.ReadAsStringAsync();
            }
        }
    """,
        5,
        10,
    ),
]
