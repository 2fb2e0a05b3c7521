"""Secrets are taken out of a text that is sent, and put back into the text that returns."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from faultkit.llm.redaction import Redaction


def hidden(text: str) -> str:
    return Redaction(text).hide(text)


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"

KEYS = [
    "sk-abcdefghijklmnop1234",
    "sk-proj-abcdefghijklmnop_1234-x",
    "sk-ant-api03-abcdefghijklmnop",
    "sk_live_abcdefghijklmnop1234",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrst",
    "glpat-abcdefghijklmnop1234",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefghijkl",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi-AgEIcHlwaS5vcmcabcdefghij",
    "ya29.a0AfH6SMBabcdefghijklmnop",
    "SG.abcdefghijklmnop1234.abcdefghijklmnop1234",
    JWT,
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("around", ["{}", "use({});", "# see {}.", "x='{}'", "{}\n{}", "[{},{}]"])
def test_a_key_of_a_known_shape_is_hidden_wherever_it_stands(key: str, around: str) -> None:
    assert key not in hidden(around.format(key, key))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('password = "hunter2"', 'password = "REDACTED_1_PASSWORD"'),
        ("db_password: str = 'hunter2'", "db_password: str = 'REDACTED_1_PASSWORD'"),
        ('{"api_key": "abc123"}', '{"api_key": "REDACTED_1_PASSWORD"}'),
        ("apiKey: 'abc123',", "apiKey: 'REDACTED_1_PASSWORD',"),
        ("const authToken = `abc123`;", "const authToken = `REDACTED_1_PASSWORD`;"),
        ('token := "abc123"', 'token := "REDACTED_1_PASSWORD"'),
        ("'secret' => 'abc123'", "'secret' => 'REDACTED_1_PASSWORD'"),
        ('headers["X-Api-Key"] = "abc123"', 'headers["X-Api-Key"] = "REDACTED_1_PASSWORD"'),
        ('os.getenv("SECRET_KEY", "abc123")', 'os.getenv("SECRET_KEY", "REDACTED_1_PASSWORD")'),
        ('if password == "hunter2":', 'if password == "REDACTED_1_PASSWORD":'),
        ('connect(pwd="hun\\"ter2")', 'connect(pwd="REDACTED_1_PASSWORD")'),
        ("export DB_PASSWORD=hunter2hunter2", "export DB_PASSWORD=REDACTED_1_PASSWORD"),
        ('"Server=db;Password=hunter2;"', '"Server=db;Password=REDACTED_1_PASSWORD;"'),
        ("https://x.org/?a=1&token=abc123&b=2", "https://x.org/?a=1&token=REDACTED_1_PASSWORD&b=2"),
        ('"postgres://me:hunter2@db/x"', '"postgres://REDACTED_1_LOGIN@db/x"'),
        ("https://abc123@github.com/x", "https://REDACTED_1_LOGIN@github.com/x"),
        ('f"postgres://{user}:hunter2@db"', 'f"postgres://{user}:REDACTED_1_LOGIN@db"'),
        ('"Authorization: Bearer abcdefghijklmnop"', '"Authorization: Bearer REDACTED_1_TOKEN"'),
        ('pw = "hunter2"', 'pw = "REDACTED_1_PASSWORD"'),
        ('SALT = "hunter2"', 'SALT = "REDACTED_1_PASSWORD"'),
        ("self.pepper = 'hunter2'", "self.pepper = 'REDACTED_1_PASSWORD'"),
        ('PIN = "1234"', 'PIN = "REDACTED_1_PASSWORD"'),
        ('session.auth = ("admin", "hunter2")', 'session.auth = ("admin", "REDACTED_1_PASSWORD")'),
        ("get(url, auth=(USER, 'hunter2'))", "get(url, auth=(USER, 'REDACTED_1_PASSWORD'))"),
        ('HTTPBasicAuth("admin", "hunter2")', 'HTTPBasicAuth("admin", "REDACTED_1_PASSWORD")'),
        ('server.login("admin", "hunter2")', 'server.login("admin", "REDACTED_1_PASSWORD")'),
        ("# password for staging is hunter2!", "# password for staging is REDACTED_1_PASSWORD"),
        ('f"host={host} password=hunter2"', 'f"host={host} password=REDACTED_1_PASSWORD"'),
        ('bot = "1234567890:AA' + "a1B-" * 8 + 'x"', 'bot = "1234567890:REDACTED_1_TOKEN"'),
        ('sid = "SK0123456789abcdef0123456789abcdef"', 'sid = "REDACTED_1_KEY"'),
        (
            "https://discord.com/api/webhooks/123456/" + "aB3_" * 17,
            "https://discord.com/api/webhooks/REDACTED_1_TOKEN",
        ),
        (
            "https://hooks.slack.com/services/T00000000/B00000000/abcdefgh",
            "https://hooks.slack.com/services/REDACTED_1_TOKEN",
        ),
    ],
)
def test_what_is_called_a_secret_is_hidden(text: str, left: str) -> None:
    assert hidden(text) == left


VALUE = "Tr0ub4dor-zqNN"


@pytest.mark.parametrize(
    "text",
    [
        # Go
        'const password string = "…"',
        'var (\n\tpw                          = "…"\n)',
        'var token []byte = []byte("…")',
        'passwords := []string{"abc", "…"}',
        'user, pass := "u", "…"',
        'req.SetBasicAuth("bob", "…")',
        # Rust
        'const PASSWORD: &str = "…";',
        'static API_KEY: &\'static str = "…";',
        'static API_KEY: Option<Cow<\'static, str>> = Some("…");',
        'let password = String::from("…");',
        'let password = r#"…"#;',
        'let p = env::var("DB_PASSWORD").unwrap_or("…".into());',
        'let p = env::var("DB_PASSWORD").unwrap_or_else(|_| "…".to_string());',
        # JavaScript, TypeScript
        '{ password: process.env.X || "…" }',
        "const x = process.env.DB_PASSWORD ?? '…'",
        'const [user, pass] = ["u", "…"];',
        'const password = dev\n  ? "abc"\n  : "…"',
        'const password = x ||\n  "…"',
        "const token = `${x}…`",
        # Python
        'password = os.environ.get("PW") or "…"',
        'x = os.environ.get("DB_PASSWORD") or "…"',
        'DB_PASSWORD = config("DB_PASSWORD", default="…")',
        'PASSWORD = os.environ.get(\n    "PW",\n    "…",\n)',
        'password = f"…{x}"',
        'password = f"{x}…"',
        'password = """…"""',
        "password = '''\n…\n'''",
        'password = (\n    "abc"\n    "…"\n)',
        'password = \\\n    "…"',
        'user, password = "u", "…"',
        'for user, password in [("u", "…")]:',
        'password = "abc" if DEBUG else "…"',
        'credentials = ["…"]',
        'PASSWORDS = [\n    "abc",\n    "…",\n]',
        'PASSWORDS = {"root": "…"}',
        'set_password("…")',
        'self.set_password(user, "…")',
        'password = base64.b64decode("…")',
        'if password in ("abc", "…"):',
        # C#, Java, Kotlin
        'string ApiKey { get; set; } = "…";',
        'string ApiKey => "…";',
        'user.setPassword("…");',
        'builder\n  .host("h")\n  .password("…")',
        'String password = Optional.ofNullable(x)\n    .orElse("…");',
        'String body = "{\\"user\\": \\"bob\\", \\"password\\": \\"…\\"}";',
        '@Value("${db.password:…}")',
        'val password = System.getenv("PW") ?: "…"',
        'val password = if (dev) { "a" } else { "…" }',
        'val (user, password) = Pair("u", "…")',
    ],
)
def test_a_quoted_value_in_the_statement_of_a_telling_name_is_hidden(text: str) -> None:
    text = text.replace("…", VALUE)
    redaction = Redaction(text)
    assert VALUE not in redaction.hide(text)
    assert redaction.restore(redaction.hide(text)) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            'password = os.getenv("DB_PW") or load("https://x.org/a")["name"] or "hunter2"\nname = "Jane"',
            'password = os.getenv("DB_PW") or load("https://x.org/a")["name"] or "REDACTED_1_PASSWORD"\n'
            'name = "Jane"',
        ),
        (
            'connect(user="jane", password=x or "hunter2", mode="fast")',
            'connect(user="jane", password=x or "REDACTED_1_PASSWORD", mode="fast")',
        ),
        ('password = f"{user}-hunter2-{n}"', 'password = f"{user}REDACTED_1_PASSWORD{n}"'),
        ('PASSWORDS = {"root": "hunter2"}', 'PASSWORDS = {"root": "REDACTED_1_PASSWORD"}'),
    ],
)
def test_names_keys_addresses_and_other_statements_stay(text: str, left: str) -> None:
    assert hidden(text) == left


@pytest.mark.parametrize(
    "line",
    [
        "the password = hunter or",
        "used for code without the secrets, except those in",
        "token: a",
        "a `token = b` c",
    ],
)
def test_a_name_in_a_docstring_does_not_reach_beyond_it(line: str) -> None:
    for text in (f'def f():\n    """It is {line}."""', f'def f():\n    """It is.\n\n    And {line}"""'):
        code = f'{text}\n    return load("a.txt")\n\n\ndef g():\n    """Do more."""\n'
        assert hidden(code) == code


@pytest.mark.parametrize(
    "piece",
    [
        *(
            'password = "',
            "password=(",
            "password: <",
            'password("x",',
            'token = """',
            "token=`",
            'token="\\',
        ),
        *("token = [", "token = {\n", '"password", ', '"password") or ', "a, password, ", 'token = #"'),
        *("${password:", '\\"token\\": \\"', "password {", "a:<b", "token = x\n", "'", "`", "\\", "for a, "),
    ],
)
def test_a_text_of_many_beginnings_is_searched_in_time_that_grows_with_its_length(piece: str) -> None:
    text = piece * 10_000
    assert hidden(text).count("\n") == text.count("\n")


def test_many_secrets_are_searched_for_at_once() -> None:
    text = "PASSWORDS = [\n" + "".join(f'    "hunter2-{n}-abc",\n' for n in range(20_000)) + "]"
    assert "hunter" not in hidden(text)


@pytest.mark.parametrize(
    "text",
    [
        "password = os.environ['PASSWORD']",
        "def login(user, password): return check(user, password)",
        'author = "Jane Doe"',
        'token_url = "https://example.org/oauth/token"',
        'secret_name = "prod/database"',
        'password = ""',
        'f"postgres://{user}:{password}@{host}"',
        "https://example.org/a@b",
        'keyword = "value"',
        'author = ("Jane", "Doe Doe")',
        'signature_version = "s3v4"',
        "# the password is checked below, and the token was refreshed",
        'headers = {"Authorization": self.header_of(user)}',
        "session = requests.Session()",
        "connect(\n    token=token1_of_mine,\n    password=password\n)",
        'raise ValueError("wrong password")',
        "class TokenBucket:\n    pass",
        'log.info("hello %s", name)',
        'log.info("token: %s", "plain")',
        'raise InvalidTokenError("this has expired")',
        'parser.add_argument("--token", help="how to call")',
        'validate(token, "read")',
        'def check_password(user, mode="strict"): pass',
        'session = db.query("SELECT name FROM users")',
        'if token:\n    log("hello")',
        'token = x\nname = "Jane"',
        "const session = useCallback(() => { log('hello') })",
        "task = risk-averse-and-long-enough",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ],
)
def test_plain_code_stays_as_it_is(text: str) -> None:
    assert hidden(text) == text


PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n  abcDEF+/123=\n-----END RSA PRIVATE KEY-----"


def test_a_private_key_keeps_its_lines_and_loses_its_content() -> None:
    assert hidden(f'key = """{PEM}"""') == (
        'key = """-----BEGIN RSA PRIVATE KEY-----\nREDACTED_1_KEY\n  REDACTED_2_KEY\n'
        '-----END RSA PRIVATE KEY-----"""'
    )


def test_a_private_key_in_one_line_is_hidden() -> None:
    text = '"-----BEGIN PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA\\nabc\\n-----END PRIVATE KEY-----\\n"'
    assert "MIIE" not in hidden(text)
    assert Redaction(text).hide(text).count("\\n") == text.count("\\n")


def test_a_private_key_that_is_cut_off_is_hidden() -> None:
    assert hidden("-----BEGIN PRIVATE KEY-----\nMIIEpAIB\nAAKC") == (
        "-----BEGIN PRIVATE KEY-----\nREDACTED_1_KEY\nREDACTED_2_KEY"
    )


def test_the_same_secret_has_the_same_name_in_every_text() -> None:
    redaction = Redaction()
    assert redaction.hide('password = "hunter2-x"; token = "other-123"') == (
        'password = "REDACTED_1_PASSWORD"; token = "REDACTED_2_PASSWORD"'
    )
    assert redaction.hide("log: hunter2-x failed") == "log: REDACTED_1_PASSWORD failed"


def test_a_password_that_is_a_word_stays_a_word_elsewhere() -> None:
    assert hidden('password = "postgres"; import postgres') == (
        'password = "REDACTED_1_PASSWORD"; import postgres'
    )


def test_a_name_that_the_text_has_already_is_not_used_for_another() -> None:
    text = 'a = "REDACTED_1_KEY"; password = "hunter2"'
    redaction = Redaction(text)
    assert redaction.hide(text) == 'a = "REDACTED_1_KEY"; password = "REDACTEDX_1_PASSWORD"'
    assert redaction.restore(redaction.hide(text)) == text


def test_what_is_hidden_already_stays_so() -> None:
    redaction = Redaction()
    once = redaction.hide('password = "hunter2"')
    assert redaction.hide(once) == once
    assert len(redaction) == 1


def test_names_that_stand_for_nothing_are_told() -> None:
    redaction = Redaction()
    redaction.hide('password = "hunter2"')
    assert redaction.invented("REDACTED_1_PASSWORD REDACTED_2_PASSWORD") == ["REDACTED_2_PASSWORD"]


def test_fields_of_code_alone_get_their_secrets_back() -> None:
    redaction = Redaction()
    name = redaction.hide("sk-abcdefghijklmnop1234")
    data = {"new": name, "why": name, "more": [{"new": f"<{name}>", "n": 1}]}
    assert redaction.restore_fields(data, ("new",)) == {
        "new": "sk-abcdefghijklmnop1234",
        "why": name,
        "more": [{"new": "<sk-abcdefghijklmnop1234>", "n": 1}],
    }


pieces = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *KEYS,
            PEM,
            'password = "hunter2"',
            "token: 'a1b2c3d4'",
            "https://me:pw1234@host/",
            "REDACTED",
            "REDACTED_1_KEY",
            "_1_KEY",
            "7",
            "\n",
            "\\n",
            '"',
            "secret=",
            "-----BEGIN PRIVATE KEY-----",
        ]
    ),
)
texts = st.lists(pieces, max_size=12).map("".join)


@given(texts)
@example('secret="' + "sk-abcdefghijklmnop1234" + '"' + "1_KEY")
def test_what_is_hidden_comes_back_whole(text: str) -> None:
    redaction = Redaction(text)
    assert redaction.restore(redaction.hide(text)) == text


@given(texts)
def test_hiding_keeps_the_lines(text: str) -> None:
    assert hidden(text).count("\n") == text.count("\n")


@given(texts)
def test_hiding_is_the_same_every_time(text: str) -> None:
    assert hidden(text) == hidden(text)


@given(texts, st.sampled_from(KEYS), texts)
def test_no_text_around_a_key_shows_it(before: str, key: str, after: str) -> None:
    text = f"{before} {key} {after}"
    # A key inside a longer word, such as "0hf_…", is not recognized.
    assume(re.search(rf"\w{re.escape(key)}", text) is None)
    assert key not in hidden(text)


values = st.text(string.ascii_letters + string.digits + "!#%&*+-./:;<=>?@^_|~", min_size=8, max_size=40)


@given(values.filter(lambda value: any(char in string.digits for char in value)), texts)
def test_no_value_of_a_password_is_shown_anywhere(value: str, after: str) -> None:
    text = f'password = "{value}"\n{after}\nprint("{value}")'
    assert value not in hidden(text).replace("REDACTED_1_PASSWORD", "")


@pytest.mark.parametrize(
    "text",
    [
        'x = "x7Kp2mQ9vT4wZr8bN3cF6hJ1"',
        'client.connect("dGhpcyBpcyBhIHNlY3JldCBrZXkgMTIz")',
        "seed = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934c'",
        'post("https://hooks.example/12345/aB3dE5fG7hI9jK1lM3nO5pQ7rS9")',
    ],
)
def test_a_text_that_looks_chosen_by_chance_is_hidden_under_any_name(text: str) -> None:
    assert "REDACTED_1_KEY" in hidden(text)


@pytest.mark.parametrize(
    "text",
    [
        'path = "src/faultkit/code/advice/improvement.py"',
        'name = "test_the_most_severe_finding_of_2024_comes_first"',
        'kind = "application/vnd.pypi.simple.v1+json"',
        'name = "HttpResponseRedirectToOtherPage2"',
        'letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"',
    ],
)
def test_names_paths_and_alphabets_are_sent_as_they_are(text: str) -> None:
    assert hidden(text) == text
