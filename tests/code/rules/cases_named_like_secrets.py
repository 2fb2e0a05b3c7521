"""Values that are named like a secret and are none, and results that say nothing; each beside its wrong twin."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS, _GO, _JAVA, _CS, _RUST = "python", "javascript", "typescript", "go", "java", "csharp", "rust"
_LOGGED, _OUTCOME, _DEFAULT = "secret-in-log", "outcome-ignored", "default-for-secret"

CASES = [
    # A flag, by its name or by its values.
    good(_LOGGED, _JS, "let shouldSendRefreshToken = ask();\nlogger.debug(`flag: ${shouldSendRefreshToken}`);"),
    good(_LOGGED, _JS, "function f(req) {\n  let accessToken = false;\n  if (req.ok) accessToken = true;\n  logger.debug(accessToken);\n}"),
    good(_LOGGED, _PY, "def f(password: bool):\n    logger.info('asks: %s', password)"),
    bad(_LOGGED, _PY, "def f(password: str):\n    logger.info('asks: %s', password)", 2),
    # The other branch of `if (token)`.
    good(_LOGGED, _JS, "function login(token) {\n  if (token) {\n    authorize(token);\n  } else {\n    logger.info(`no user for ${token}`);\n  }\n}"),
    # The name of a secret that is kept elsewhere, or of one of its parts.
    good(_LOGGED, _GO, "package m\nfunc f(c Client, a *Auth) error {\n s, ok := c.GetSecret(a.Secret)\n if !ok {\n  return fmt.Errorf(\"secret %s is missing\", a.Secret)\n }\n return use(s)\n}"),
    good(_LOGGED, _GO, "package m\nfunc f(tls string, tlsSecret string) error {\n parts := strings.Split(tlsSecret, \"/\")\n if len(parts) != 2 {\n  return fmt.Errorf(\"wrong form: %s\", tlsSecret)\n }\n return nil\n}"),
    good(_LOGGED, _GO, "package m\nfunc f(data map[string]string, secretKey string) error {\n if _, ok := data[secretKey]; !ok {\n  return fmt.Errorf(\"no %s\", secretKey)\n }\n return nil\n}"),
    bad(_LOGGED, _GO, "package m\nfunc f(secret string) error {\n return fmt.Errorf(\"refused: %s\", secret)\n}", 3),
    # The place of a key.
    good(_LOGGED, _PY, "def f(private_key):\n    logger.info('reading the key from %s', private_key)"),
    # `author` is not `auth`.
    good(_LOGGED, _JS, "class AuthorController { async update(req, res) { logger.error('no keys', req.body); res.status(400).end(); } }"),
    bad(_LOGGED, _JS, "class AuthController { async authorize(req, res) { logger.error('no keys', req.body); res.status(400).end(); } }", 1),
    # A template that is shown, and a format that leaves the secret out.
    good(_LOGGED, _JAVA, "class A { String s = \"https://example.org/me?api_key={{ secret('KEY') }}\"; }"),
    good(_LOGGED, _JS, "const morgan = require('morgan');\napp.get('/a/:token', show);\napp.use(morgan(\n  // Like \"combined\", without values.\n  ':method :path :status'));"),
    # A signal to a reader, an item, and writers that take records.
    good(_OUTCOME, _JAVA, "class A { BlockingQueue<E> q = new ArrayBlockingQueue<>(9); void stop() { q.offer(POISON_PILL); } }"),
    good(_OUTCOME, _CS, "class A { void F(AttributeReader<T> attributeReader) { attributeReader.Read(ref this, ref values); } }"),
    good(_OUTCOME, _CS, "class A { void F(RowReader rowReader, byte[] b) { rowReader.Read(b); } }"),
    bad(_OUTCOME, _CS, "class A { void F(NetworkStream stream, byte[] b) { stream.Read(b); } }", 1),
    good(_OUTCOME, _RUST, "use std::fs::File;\nfn f(file: File, rows: Batch) -> Result<()> {\n    let mut writer = ArrowWriter::try_new(file)?;\n    writer.write(&rows)?;\n    Ok(())\n}"),
    bad(_OUTCOME, _RUST, "use std::io::Write;\nfn f(rows: Vec<u8>) -> Result<()> {\n    let mut writer = TcpStream::connect(\"a:1\")?;\n    writer.write(&rows)?;\n    Ok(())\n}", 4),
    good(_OUTCOME, _PY, "import socket\ndef f():\n    s = socket.socket()\n    s.send(b'GET / HTTP/1.0')"),
    bad(_OUTCOME, _PY, "import socket\ndef f(data):\n    s = socket.socket()\n    s.send(data)", 4),
    # The second text is another setting, a mode, or refused at the start.
    good(_DEFAULT, _GO, "package m\nfunc f() {\n util.MustBindEnv(\"store.password\", \"APP_STORE_PASSWORD\")\n}"),
    good(_DEFAULT, _JS, "const mode = config('credentials', 'omit');"),
    good(_DEFAULT, _PY, "KEY = os.getenv('SECRET_KEY', 'change-me')\nif KEY == 'change-me':\n    raise SystemExit('set SECRET_KEY')"),
    bad(_DEFAULT, _PY, "KEY = os.getenv('SECRET_KEY', 'change-me')", 1),
    # A name that is given to a new object before it is changed.
    good("mutable-default-argument", _PY, "def f(opts={}):\n    opts = dict(opts)\n    opts['a'] = 1\n    return run(opts)"),
    bad("mutable-default-argument", _PY, "def f(opts={}):\n    opts['a'] = 1\n    return run(opts)", 1),
    # What is done in another function is not done with the answer.
    good("failure-taken-for-data", _JS, "function Dialog({ dialog }) {\n  const search = useSearch((term) => { return api.find(term).then((r) => r.rows).catch(() => []); });\n  const close = () => files.remove(dialog.id);\n  return show(search, close);\n}"),
    # A failure is the answer to whether a service is there.
    good("failure-looks-empty", _PY, "import requests\ndef service_enabled():\n    try:\n        requests.get('http://metadata.example.org')\n    except requests.exceptions.ConnectionError:\n        return False\n    return True"),
    # What an earlier function of the chain has put into the context.
    good("error-answered-as-success", _GO, "package m\nimport (\"log\"; \"net/http\")\nfunc (h H) ServeHTTP(w http.ResponseWriter, r *http.Request) {\n c, err := capture.FromContext(r.Context())\n if err != nil {\n  log.Printf(\"no capture: %v\", err)\n  return\n }\n h.next.ServeHTTP(c.Wrap(w), r)\n}"),
    bad("error-answered-as-success", _GO, "package m\nimport (\"log\"; \"net/http\")\nfunc (h H) ServeHTTP(w http.ResponseWriter, r *http.Request) {\n c, err := h.store.Load(r.Context())\n if err != nil {\n  log.Printf(\"no row: %v\", err)\n  return\n }\n h.next.ServeHTTP(c.Wrap(w), r)\n}", 5),
    # A promise is resolved, and no request is answered; an error that is logged on its way.
    good("failure-only-logged", _JS, "function send(rows) {\n  return new Promise((res) => {\n    try { store.save(rows); } catch (e) { console.error(e); }\n    res();\n  });\n}"),
    good("failure-only-logged", _RUST, "async fn f(&self) {\n    let _ = self.store.save(&self.row).await.map_err(|e| warn!(\"not saved: {e}\"));\n}"),
    # A file that is only shown in a log line.
    good("ignored-error", _GO, "package m\nimport (\"log\"; \"os\")\nfunc f(name string) {\n content, _ := os.ReadFile(name)\n log.Printf(\"read: %s\", content)\n}"),
    bad("ignored-error", _GO, "package m\nimport \"os\"\nfunc f(name string) T {\n content, _ := os.ReadFile(name)\n return parse(content)\n}", 4),
    # C#: a check by another name, and a value that the code says is there.
    good("missing-value-used", _CS, "class A { void F(string key) { var url = Urls.FirstOrDefault(u => u.Is(key)); if (!string.IsNullOrWhiteSpace(url)) Use(url.Split('|')); } }"),
    good("missing-value-used", _CS, "class A { void F(string key) { var cert = Certs.FirstOrDefault(u => u.Is(key)); Use(cert!.Expires); } }"),
]  # fmt: skip
