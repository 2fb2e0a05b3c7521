"""Requests, errors and arguments that are written to a log whole, with the secrets that they hold."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "secret-in-log"
_AXIOS = "import axios from 'axios';\nconst api = axios.create({ timeout: 9, headers: { Authorization: `Bearer ${key}` } });\n"
_MODEL = "import logging\nfrom pydantic import BaseModel, ValidationError\nlog = logging.getLogger(__name__)\nclass Card(BaseModel):\n    pan: str\n    cvv: str\n"
_KOTLIN = "data class Patient(val name: String, val ssn: String)\ndata class Claim(val id: String, val patient: Patient)\nclass Refused(val claim: Claim, val code: String) : RuntimeException(code)\n"
_RUST = "use tracing::{info, instrument};\n#[derive(Debug)]\npub struct Login { pub user: String, pub password: String }\n"

CASES = [
    # JavaScript: an error of axios holds the request with its headers.
    bad(
        _RULE,
        "typescript",
        f"{_AXIOS}async function f() {{\n  try {{ await api.get('/'); }} catch (err) {{ logger.error({{ err: err.toJSON() }}, 'failed'); }}\n}}",
        4,
    ),
    bad(
        _RULE,
        "typescript",
        f"{_AXIOS}async function f() {{\n  try {{ await api.get('/'); }} catch (err) {{ logger.error(JSON.stringify(err)); }}\n}}",
        4,
    ),
    bad(
        _RULE,
        "typescript",
        f"{_AXIOS}async function f() {{\n  try {{ await api.get('/'); }} catch (err) {{ logger.error('failed', {{ request: err.request }}); }}\n}}",
        4,
    ),
    bad(
        _RULE,
        "typescript",
        f"{_AXIOS}api.interceptors.request.use((config) => {{ logger.debug('out', config); return config; }});",
        3,
    ),
    good(
        _RULE,
        "typescript",
        f"{_AXIOS}async function f() {{\n  try {{ await api.get('/'); }} catch (err) {{ logger.error({{ code: err.code, status: err.response?.status }}, 'failed'); }}\n}}",
    ),
    # Addresses of requests with a secret.
    bad(
        _RULE,
        "javascript",
        """
        app.use((req, res, next) => {
          res.on('finish', () => log.info({ url: req.originalUrl, status: res.statusCode }, 'done'));
          next();
        });
        app.get('/sign/:id', async (req, res) => {
          const { token } = req.query;
          res.json(await open(req.params.id, token));
        });
    """,
        2,
    ),
    good(
        _RULE,
        "javascript",
        """
        app.use((req, res, next) => {
          const [path] = req.originalUrl.split('?', 1);
          res.on('finish', () => log.info({ path, status: res.statusCode }, 'done'));
          next();
        });
        app.get('/sign/:id', async (req, res) => {
          const { token } = req.query;
          res.json(await open(req.params.id, token));
        });
    """,
    ),
    good(
        _RULE,
        "javascript",
        "app.get('/items', (req, res) => {\n  log.info({ url: req.originalUrl }, 'list');\n  res.json(page(req.query.cursor));\n});",
    ),
    bad(
        _RULE,
        "javascript",
        "const morgan = require('morgan');\napp.use(morgan('combined'));\napp.get('/reset/:token', reset);",
        2,
    ),
    bad(
        _RULE,
        "python",
        "import logging\nlog = logging.getLogger()\n@app.get('/reset')\nasync def reset(request: Request, token: str):\n    log.info('reset %s', request.url)",
        5,
    ),
    bad(
        _RULE,
        "go",
        'package a\nfunc get(w http.ResponseWriter, r *http.Request) {\n\ttoken := r.URL.Query().Get("token")\n\tslog.Info("download", "url", r.URL.String())\n\tserve(w, token)\n}',
        4,
    ),
    bad(
        _RULE,
        "java",
        'class A {\n  void f(HttpServletRequest request, @RequestParam String token) {\n    log.info("{}?{}", request.getRequestURI(), request.getQueryString());\n  }\n}',
        3,
    ),
    bad(
        _RULE,
        "csharp",
        'class A {\n  IActionResult Reset([FromQuery] string token) {\n    logger.LogInformation("reset {Url}", Request.GetDisplayUrl());\n    return Ok();\n  }\n}',
        3,
    ),
    # Input that did not pass validation.
    bad(
        _RULE,
        "python",
        f"{_MODEL}def f(raw):\n    try:\n        return Card.model_validate_json(raw)\n    except ValidationError as exc:\n        log.warning('rejected: %s', exc)",
        11,
    ),
    bad(
        _RULE,
        "python",
        f"{_MODEL}def f(raw):\n    try:\n        return Card(**raw)\n    except ValidationError as exc:\n        log.warning('rejected: %s', exc.errors())",
        11,
    ),
    bad(
        _RULE,
        "python",
        f"{_MODEL}def f(raw):\n    try:\n        return Card.parse_obj(raw)\n    except ValidationError as exc:\n        log.exception('rejected')",
        11,
    ),
    good(
        _RULE,
        "python",
        f"{_MODEL}def f(raw):\n    try:\n        return Card.model_validate_json(raw)\n    except ValidationError as exc:\n        log.warning('rejected: %s', [e['loc'] for e in exc.errors()])",
    ),
    good(
        _RULE,
        "python",
        "import logging\nfrom pydantic import BaseModel, ValidationError\nlog = logging.getLogger(__name__)\nclass Order(BaseModel):\n    sku: str\ndef f(raw):\n    try:\n        return Order.model_validate_json(raw)\n    except ValidationError as exc:\n        log.warning('rejected: %s', exc)",
    ),
    bad(
        _RULE,
        "java",
        'class A {\n  record Card(String number, String cvv) {}\n  void f(MethodArgumentNotValidException ex) { log.warn("invalid: {}", ex.getMessage()); }\n}',
        3,
    ),
    # Parts of an object that are of a type which shows a secret.
    bad(
        _RULE,
        "kotlin",
        f'{_KOTLIN}fun f(e: Refused) {{ log.warn("refused {{}}: {{}}", e.code, e.claim) }}',
        4,
    ),
    bad(_RULE, "kotlin", f'{_KOTLIN}fun f(e: Refused) {{ log.warn("refused ${{e.claim.patient}}") }}', 4),
    good(
        _RULE,
        "kotlin",
        f'{_KOTLIN}fun f(e: Refused) {{ log.warn("claim {{}} refused: {{}}", e.claim.id, e.code) }}',
    ),
    bad(
        _RULE,
        "java",
        'class A {\n  record Card(String number, String cvv) {}\n  record Payment(String id, Card card) {}\n  void f(Declined e) { log.warn("declined {}", e.getPayment()); }\n  static class Declined { private Payment payment; }\n}',
        4,
    ),
    bad(
        _RULE,
        "csharp",
        'record Patient(string Name, string Ssn);\nrecord Claim(string Id, Patient Patient);\nclass A {\n  void F(Refused e) { logger.LogWarning("refused {Claim}", e.Claim); }\n}\nclass Refused { public Claim Claim { get; } }',
        4,
    ),
    bad(
        _RULE,
        "rust",
        f'{_RUST}pub struct Session {{ pub id: u64, pub login: Login }}\nfn f(s: &Session) {{ info!("x {{:?}}", s.login); }}',
        5,
    ),
    bad(
        _RULE,
        "rust",
        f'{_RUST}pub struct Session {{ pub id: u64, pub login: Login }}\nfn f(s: &Session) {{ info!(login = ?s.login, "x"); }}',
        5,
    ),
    good(
        _RULE,
        "rust",
        f'{_RUST}pub struct Session {{ pub id: u64, pub login: Login }}\nfn f(s: &Session) {{ info!("x {{}}", s.id); }}',
    ),
    # Arguments that are recorded.
    bad(
        _RULE,
        "rust",
        f"{_RUST}#[instrument(skip(self), err)]\npub async fn link(&self, id: u64, login: Login) -> Result<(), E> {{ Ok(()) }}",
        4,
    ),
    bad(
        _RULE,
        "rust",
        f"{_RUST}#[tracing::instrument]\nasync fn check(user: &str, password: &str) -> bool {{ true }}",
        4,
    ),
    good(
        _RULE,
        "rust",
        f"{_RUST}#[instrument(skip(self, login), err)]\npub async fn link(&self, id: u64, login: Login) -> Result<(), E> {{ Ok(()) }}",
    ),
    good(
        _RULE,
        "rust",
        f"{_RUST}#[instrument(skip_all, fields(user = %user))]\nasync fn check(user: &str, password: &str) -> bool {{ true }}",
    ),
    good(
        _RULE,
        "rust",
        f"{_RUST}#[instrument]\nasync fn check(user: &str, password: SecretString) -> bool {{ true }}",
    ),
    bad(
        _RULE,
        "python",
        "import logging\nlog = logging.getLogger()\ndef traced(fn):\n    def inner(*args, **kwargs):\n        log.info('%s %s', fn.__name__, kwargs)\n        return fn(*args, **kwargs)\n    return inner\n@traced\ndef login(user, password):\n    return True",
        5,
    ),
    good(
        _RULE,
        "python",
        "import logging\nlog = logging.getLogger()\ndef traced(fn):\n    def inner(*args, **kwargs):\n        log.info('%s %s', fn.__name__, kwargs)\n        return fn(*args, **kwargs)\n    return inner\n@traced\ndef total(order, password_hint_count):\n    return 1",
    ),
    # Requests as a whole, and what every request goes through.
    bad(
        _RULE,
        "csharp",
        'class A {\n  async Task F(string key) {\n    var request = new HttpRequestMessage(HttpMethod.Post, "/x");\n    request.Headers.Add("X-Api-Key", key);\n    logger.LogDebug("sending {Request}", request);\n    await http.SendAsync(request);\n  }\n}',
        5,
    ),
    bad(
        _RULE,
        "java",
        'class A {\n  void f(String key, Object body) {\n    HttpHeaders headers = new HttpHeaders();\n    headers.setBearerAuth(key);\n    HttpEntity<Object> entity = new HttpEntity<>(body, headers);\n    log.debug("sending {}", entity);\n  }\n}',
        6,
    ),
    bad(
        _RULE,
        "go",
        'package a\nimport "net/http"\nfunc f(w http.ResponseWriter, r *http.Request) { log.Printf("request %+v", r); login(r.FormValue("password")) }',
        3,
    ),
    bad(
        _RULE,
        "go",
        'package a\nfunc f(ctx context.Context) {\n\tmd, _ := metadata.FromIncomingContext(ctx)\n\tslog.Info("call", "metadata", md)\n}',
        4,
    ),
    bad(
        _RULE,
        "javascript",
        "app.use((req, res, next) => { logger.info({ body: req.body, path: req.path }, 'in'); next(); });\napp.post('/login', login);",
        1,
    ),
    good(
        _RULE,
        "javascript",
        "app.use((req, res, next) => { logger.info({ body: redact(req.body) }, 'in'); next(); });\napp.post('/login', login);",
    ),
    bad(
        _RULE,
        "python",
        "import logging\nlog = logging.getLogger()\n@app.middleware('http')\nasync def trace(request, call_next):\n    body = await request.body()\n    log.info('login or other %s', body)\n    return await call_next(request)",
        6,
    ),
    # Errors of clients that quote an address with a key.
    bad(
        _RULE,
        "python",
        "import logging, requests\nlog = logging.getLogger()\ndef f(q, key):\n    try:\n        return requests.get(U, params={'q': q, 'api_key': key}, timeout=3).json()\n    except requests.RequestException as exc:\n        log.warning('failed: %s', exc)",
        7,
    ),
    good(
        _RULE,
        "python",
        "import logging, requests\nlog = logging.getLogger()\ndef f(q, key):\n    try:\n        return requests.get(U, params={'q': q}, headers={'X-Api-Key': key}, timeout=3).json()\n    except requests.RequestException as exc:\n        log.warning('failed: %s', exc)",
    ),
    # Besides the text of a line.
    bad(
        _RULE,
        "java",
        'class A {\n  record Card(String number, String cvv) {}\n  void f(Card card) { MDC.put("card", card.toString()); }\n}',
        3,
    ),
    bad(
        _RULE,
        "python",
        "import logging\nlog = logging.getLogger()\ndef dump(password):\n    cmd = ['pg_dump', f'--password={password}', 'app']\n    log.info('running %s', ' '.join(cmd))",
        5,
    ),
    # Containers, copies and attributes.
    bad(
        _RULE,
        "typescript",
        "interface Signup { email: string; password: string }\nfunction f(all: Signup[]) { logger.info('signups', all); }",
        2,
    ),
    bad(
        _RULE,
        "typescript",
        "interface Signup { email: string; password: string }\nfunction f(dto: Signup) { logger.info('signup', { ...dto }); }",
        2,
    ),
    good(
        _RULE,
        "typescript",
        "interface Signup { email: string; password: string }\nfunction f(dto: Signup) { logger.info('signup', { ...dto, password: '***' }); }",
    ),
    bad(
        _RULE,
        "java",
        'class A {\n  record Login(String email, String password) {}\n  void f(List<Login> all) { log.info("logins {}", all); }\n}',
        3,
    ),
    bad(
        _RULE,
        "java",
        'class A {\n  record Login(String email, String password) {}\n  void f(Login l) { log.atInfo().addKeyValue("login", l).log("login"); }\n}',
        3,
    ),
    good(
        _RULE,
        "java",
        'class A {\n  record Login(String email, String password) {}\n  void f(List<Login> all) { log.info("logins {}", all.size()); }\n}',
    ),
    bad(
        _RULE,
        "kotlin",
        'data class Signup(val email: String, val password: String)\nfun f(all: List<Signup>) { logger.info { "signups $all" } }',
        2,
    ),
    bad(_RULE, "rust", f'{_RUST}fn f(all: &[Login]) {{ info!("logins {{:?}}", all); }}', 4),
    bad(
        _RULE,
        "rust",
        '#[derive(Debug)]\npub enum Command { Charge { card_number: String, cvv: String }, Ping }\nfn f(c: Command) { tracing::info!("command {:?}", c); }',
        3,
    ),
    bad(
        _RULE,
        "csharp",
        'class Card { public string Number { get; set; } public string Cvv { get; set; } }\nclass A {\n  void F(Card c) { Log.Information("card {Card}", JsonSerializer.Serialize(c)); }\n}',
        3,
    ),
    bad(
        _RULE,
        "csharp",
        'record Login(string Email, string Password);\nclass A {\n  void F(Login l) { using (_logger.BeginScope("login {Login}", l)) { } }\n}',
        3,
    ),
    bad(
        _RULE,
        "python",
        "import logging\nlog = logging.getLogger()\nclass User:\n    def __init__(self, password):\n        self.password = password\ndef f(user: User):\n    log.info('user %s', user.__dict__)",
        7,
    ),
    bad(
        _RULE,
        "python",
        "import logging\nlog = logging.getLogger()\ndef f(email, password):\n    log.debug('got %s', locals())",
        4,
    ),
    # A websocket whose peer is gone, and SSH (Go).
    bad(
        "socket-without-timeout",
        "go",
        'package a\nimport "github.com/gorilla/websocket"\nfunc read(ws *websocket.Conn) {\n\tfor {\n\t\t_, msg, err := ws.ReadMessage()\n\t\tif err != nil {\n\t\t\treturn\n\t\t}\n\t\thandle(msg)\n\t}\n}',
        5,
    ),
    good(
        "socket-without-timeout",
        "go",
        'package a\nimport "github.com/gorilla/websocket"\nfunc read(ws *websocket.Conn) {\n\tws.SetReadDeadline(time.Now().Add(wait))\n\tfor {\n\t\t_, msg, err := ws.ReadMessage()\n\t\tif err != nil {\n\t\t\treturn\n\t\t}\n\t\thandle(msg)\n\t}\n}',
    ),
    bad(
        "socket-without-timeout",
        "go",
        'package a\nimport "golang.org/x/crypto/ssh"\nfunc open(host string) (*ssh.Client, error) {\n\tcfg := &ssh.ClientConfig{User: "x", HostKeyCallback: check}\n\treturn ssh.Dial("tcp", host, cfg)\n}',
        4,
    ),
    good(
        "socket-without-timeout",
        "go",
        'package a\nimport "golang.org/x/crypto/ssh"\nfunc open(host string) (*ssh.Client, error) {\n\tcfg := &ssh.ClientConfig{User: "x", HostKeyCallback: check, Timeout: 5 * time.Second}\n\treturn ssh.Dial("tcp", host, cfg)\n}',
    ),
]
