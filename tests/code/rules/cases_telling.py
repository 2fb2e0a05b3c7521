"""Secrets in logs and errors through types, errors of clients and headers."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LOG = "secret-in-log"

CASES = [
    bad(
        _LOG,
        "python",
        """
        import logging
        from pydantic import BaseModel
        log = logging.getLogger(__name__)
        class SignUp(BaseModel):
            email: str
            password: str
        def create(body: SignUp):
            log.info('new %s', body)
        """,
        8,
    ),
    good(
        _LOG,
        "python",
        """
        import logging
        from pydantic import BaseModel, SecretStr
        log = logging.getLogger(__name__)
        class SignUp(BaseModel):
            email: str
            password: SecretStr
        def create(body: SignUp):
            log.info('new %s', body)
        """,
    ),
    bad(
        _LOG,
        "python",
        "def login(payload):\n    log.info('login %s', payload)\n    return check(payload['password'])",
        2,
    ),
    good(
        _LOG,
        "python",
        """
        def login(payload):
            log.info('login %s', payload['user'])
            return check(payload['password'])
        """,
    ),
    bad(
        _LOG,
        "python",
        "def connect(user, password):\n    raise ValueError(f'cannot connect as {user}/{password}')",
        2,
    ),
    good(_LOG, "python", "def connect(user, password):\n    raise ValueError(f'cannot connect as {user}')"),
    bad(
        _LOG,
        "typescript",
        """
        class RegisterDto { email!: string;
         password!: string; }
        function register(dto: RegisterDto) {
         logger.info(`register ${JSON.stringify(dto)}`);
        }
        """,
        4,
    ),
    good(
        _LOG,
        "typescript",
        """
        class RegisterDto { email!: string;
         password!: string; }
        function register(dto: RegisterDto) {
         logger.info(`register ${dto.email}`);
        }
        """,
    ),
    bad(
        _LOG,
        "typescript",
        """
        import axios from 'axios';
        function failed(err: any) {
         logger.error('failed', { request: err.config });
        }
        """,
        3,
    ),
    good(
        _LOG,
        "typescript",
        "function failed(err: any) {\n logger.error('failed', { request: err.config });\n}",
    ),
    bad(
        _LOG,
        "go",
        """
        package a
        import "log/slog"
        type Settings struct {
        	Addr string
        	JWTSecret string
        }
        func f() {
        	var s Settings
        	slog.Info("loaded", "settings", s)
        }
        """,
        9,
    ),
    good(
        _LOG,
        "go",
        """
        package a
        import "log/slog"
        type Settings struct {
        	Addr string
        	JWTSecret string
        }
        func (s Settings) LogValue() slog.Value { return slog.StringValue(s.Addr) }
        func f() {
        	var s Settings
        	slog.Info("loaded", "settings", s)
        }
        """,
    ),
    bad(
        _LOG,
        "csharp",
        """
        public record CreateUser(string Email, string Password);
        class A { void F(CreateUser command) {
         _log.LogInformation("creating {Command}", command); } }
        """,
        3,
    ),
    good(
        _LOG,
        "csharp",
        """
        public record CreateUser(string Email, string Password);
        class A { void F(CreateUser command) { _log.LogInformation("creating {Email}", command.Email); } }
        """,
    ),
    bad(
        _LOG,
        "kotlin",
        """
        class A(private val apiKey: String) { fun call(path: String) {
         log.info("calling $path with $apiKey") } }
        """,
        2,
    ),
    good(
        _LOG,
        "kotlin",
        'class A(private val apiKey: String) { fun call(path: String) { log.info("calling $path") } }',
    ),
    bad(
        _LOG,
        "rust",
        """
        use tracing::info;
        #[derive(Debug)]
        pub struct Login { user: String, password: String }
        fn f(login: &Login) {
         info!("got {:?}", login);
        }
        """,
        5,
    ),
    bad(
        _LOG,
        "rust",
        'use log::debug;\nfn f(client_secret: &str) {\n debug!("signing with {client_secret}");\n}',
        3,
    ),
    good(
        _LOG,
        "rust",
        """
        use tracing::info;
        #[derive(Clone)]
        pub struct Login { user: String, password: String }
        fn f(login: &Login) {
         info!("got {}", login.user);
        }
        """,
    ),
    bad(
        _LOG,
        "java",
        """
        class A { void f(String key) { HttpHeaders headers = new HttpHeaders();
         headers.setBearerAuth(key);
         LOG.info("with {}", headers); } }
        """,
        3,
    ),
    good(
        _LOG,
        "java",
        """
        class A { void f(String key) { HttpHeaders headers = new HttpHeaders();
         headers.setAccept(JSON);
         LOG.info("with {}", headers); } }
        """,
    ),
    bad(
        _LOG,
        "kotlin",
        """
        class A { fun f(refreshToken: String) { val form = mapOf("refresh_token" to refreshToken)
         log.info("with {}", form) } }
        """,
        2,
    ),
    bad(
        _LOG,
        "python",
        """
        import requests
        def f(key):
            return requests.get(f'https://x.example/v1?api_key={key}', timeout=3)
        """,
        3,
    ),
    good(_LOG, "python", "def link(token):\n    return f'https://x.example/verify?token={token}'"),
    good(_LOG, "javascript", "const url = `https://x.example/list?page_token=${pageToken}&token=${next}`;"),
    bad(
        _LOG,
        "python",
        """
        class P:
            def __init__(self, token):
                self.headers = {'Authorization': f'Bearer {token}'}
            def get(self, path):
                log.debug('GET %s %r', path, self.headers)
        """,
        5,
    ),
    good(
        _LOG,
        "python",
        """
        class P:
            def __init__(self):
                self.headers = {'Accept': 'application/json'}
            def get(self, path):
                log.debug('GET %s %r', path, self.headers)
        """,
    ),
    bad(
        "secret-in-log",
        "rust",
        """
        use tracing::info;
        #[derive(Debug, Deserialize)]
        pub struct Mail {
            host: String,
            password: String,
        }
        #[derive(Debug, Deserialize)]
        pub struct Settings {
            port: u16,
            mail: Mail,
        }
        impl Settings {
            fn load(path: &Path) -> Result<Self> {
                let settings: Self = read(path)?;
                info!(?settings, "loaded");
                Ok(settings)
            }
        }
        """,
        15,
    ),
    good(
        "secret-in-log",
        "rust",
        """
        use tracing::info;
        #[derive(Debug, Deserialize)]
        pub struct Settings {
            port: u16,
            host: String,
        }
        fn load(path: &Path) -> Result<Settings> {
            let settings: Settings = read(path)?;
            info!(?settings, %path, "loaded");
            Ok(settings)
        }
        """,
    ),
]
