"""Values that are named like a secret: what they are decides whether a line of a log is reported."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY

RULE = next(rule for rule in RULES if rule.slug == "secret-in-log")

CLEAN = [
    # The second result of a function is not its first.
    ("go", 'package m\ntype Config struct {\n\tPrivateKey string\n}\nfunc load() (*Config, error) { return nil, nil }\nfunc f() {\n\tcfg, err := load()\n\tlog.Warnf("failed: %v", err)\n\tuse(cfg)\n}'),
    # A request that a line is given as its context.
    ("go", 'package m\nimport "net/http"\nfunc f(w http.ResponseWriter, r *http.Request) {\n\tlog.Error(r, "no such album", "auth", false)\n}'),
    # An entry of a table of errors or texts.
    ("typescript", "function f(ok: boolean) { if (!ok) throw new ApiError(meta.errors.oldPassword); }"),
    ("typescript", "function f(ok: boolean) { if (!ok) throw new ApiError(incorrectPassword); }"),
    ("python", "class A:\n    def f(self):\n        raise OrderError(self.error_messages['card_secret'])"),
    # The name of a setting.
    ("go", 'package m\nconst envPrivateKey = "APP_PRIVATE_KEY"\nfunc f() error {\n\treturn fmt.Errorf("set %s", envPrivateKey)\n}'),
    # All that an error is given is its message.
    ("typescript", "import { SET_THE_ENCRYPTION_KEY } from './errors';\nfunction f(key?: string) { if (!ok(key)) throw new Error(SET_THE_ENCRYPTION_KEY); }"),
    # The error of a method of a request.
    ("go", 'package m\nimport "net/http"\nfunc f(u string) {\n\tr, _ := http.NewRequest("GET", u, nil)\n\tr.Header.Set("Authorization", "x")\n\tif err := r.MultipartForm.RemoveAll(); err != nil {\n\t\tlog.Printf("no cleanup: %v", err)\n\t}\n}'),
    # A type whose text hides it.
    ("python", "def f(password: SecretStr):\n    logger.info('made %s', password)"),
]  # fmt: skip
COUNTED = [
    # A class of another file may show anything.
    ("kotlin", 'fun f(credentials: RequestCredentials?) { Log.d(TAG, "backup: $credentials") }'),
    ("go", 'package m\nfunc f(uri *stun.URI) {\n\tlog.Debugf("turn %s", uri)\n\tdial(uri.Password)\n}'),
    # A token that is an identifier.
    ("python", "def release(item, user):\n    authorize(user, access_token)\n    logger.info('releasing payment %s', item.token)"),
    # A token that was refused.
    ("java", 'class A { void validate(String token) { authorize(); log.warn("Invalid or expired token: {}", token); } }'),
    ("java", 'class A { void f(String authorization) { if (!matches(authorization, key)) { log.warn("no access with {}", authorization); } } }'),
    ("csharp", 'class A { void F(S s) { try { Post(s.ApiKey); } catch (HttpException e) { if (e.Status == HttpStatusCode.Unauthorized) { _logger.Error("sent with {0}", s.ApiKey); } } } }'),
    ("python", "def f(token):\n    try:\n        user = verify_token(token)\n    except LookupError:\n        logger.error('no user of login token %s', token)\n        return None\n    return user"),
    # A text for the user.
    ("python", "def f(card):\n    raise OrderError(_('Card {card} is used').format(card=card.secret))"),
]  # fmt: skip
SHOWN = [
    ("go", 'package m\ntype Config struct {\n\tPrivateKey string\n}\nfunc load() (*Config, error) { return nil, nil }\nfunc f() {\n\tcfg, err := load()\n\tlog.Warnf("loaded: %v", cfg)\n\tuse(err)\n}'),
    ("go", 'package m\nimport "net/http"\nfunc f(w http.ResponseWriter, r *http.Request) {\n\tlog.Println("request", r)\n\tuse(r.Header.Get("X"))\n}'),
    ("java", 'class A { void validate(String token) { authorize(); log.debug("Validating access token: {}", token); } }'),
    ("go", 'package m\nfunc f(c *Config) {\n\tkey, err := parse(c.PrivateKey)\n\tif err != nil {\n\t\tlog.Errorf("no key %s: %v", c.PrivateKey, err)\n\t}\n\tuse(key)\n}'),
    ("python", "def f(token):\n    try:\n        post(token)\n    except LookupError:\n        logger.error('not sent with access_token %s', token)"),
    ("python", "def f(password: str):\n    logger.info('made %s', password)"),
    ("python", "def f(card):\n    raise OrderError('Card {card} is used'.format(card=card.secret))"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "code"), CLEAN)
def test_what_is_no_secret_is_not_reported(language: str, code: str) -> None:
    assert not findings_of(code + "\n", language, rules=[RULE])


@pytest.mark.parametrize(("language", "code"), COUNTED)
def test_what_may_be_none_is_only_possible(language: str, code: str) -> None:
    found = findings_of(code + "\n", language, rules=[RULE])
    assert found
    assert all(each.confidence < LIKELY for each in found)


@pytest.mark.parametrize(("language", "code"), SHOWN)
def test_a_secret_is_shown(language: str, code: str) -> None:
    assert any(each.confidence >= LIKELY for each in findings_of(code + "\n", language, rules=[RULE]))
