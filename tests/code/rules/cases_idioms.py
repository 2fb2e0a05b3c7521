"""Idioms of libraries: gorm, SeaORM, Sequelize, undici, runCatching, logged options of C#."""

# ruff: noqa: E501  (snippets of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LOG, _ERROR, _STATUS = "secret-in-log", "ignored-error", "unchecked-response-status"
_DROPPED, _TRANSACTION, _REQUEUED = (
    "failed-message-dropped",
    "writes-without-transaction",
    "failing-message-requeued",
)
_OPTIONS = """
    class Options {{ public string Host {{ get; set; }} public string ApiKey {{ get; set; }} }}
    class Sender {{ private readonly Options _options; void Start() {{ _logger.LogInformation("with {}", {}); }} }}
    """
_SEND = 'package a\nimport "net/http"\nfunc (n *N) send(ctx context.Context) error {{\n\treq, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, nil)\n\tif err != nil {{\n\t\treturn err\n\t}}\n\tresp, err := n.client.Do(req)\n\tif err != nil {{\n\t\treturn err\n\t}}\n\tdefer resp.Body.Close()\n\t{}\n}}\ntype N struct {{\n\tclient *http.Client\n\turl string\n}}'

CASES = [
    bad(_LOG, "csharp", _OPTIONS.format("{@Options}", "_options"), 2),
    good(_LOG, "csharp", _OPTIONS.format("{Options}", "_options")),
    good(_LOG, "csharp", _OPTIONS.format("{@Options}", "_options.Host")),
    bad(
        _ERROR,
        "go",
        'package a\nimport "gorm.io/gorm"\ntype U struct{ db *gorm.DB }\nfunc (u *U) f(user *User) {\n\tu.db.Save(user)\n}',
        5,
    ),
    good(
        _ERROR,
        "go",
        'package a\nimport "gorm.io/gorm"\ntype U struct{ db *gorm.DB }\nfunc (u *U) f(user *User) error {\n\treturn u.db.Save(user).Error\n}',
    ),
    bad(_STATUS, "go", _SEND.format("return n.mark(ctx)"), 8),
    good(_STATUS, "go", _SEND.format("return check(resp)")),
    bad(
        _STATUS,
        "typescript",
        "import { request } from 'undici';\nasync function f(url: string) { const { body } = await request(url); return body.json(); }",
        2,
    ),
    good(
        _STATUS,
        "typescript",
        "import { request } from 'undici';\nasync function f(url: string) { const { body, statusCode } = await request(url); if (statusCode !== 200) throw new E(); return body.json(); }",
    ),
    bad(
        _DROPPED,
        "kotlin",
        'class L { @SqsListener("a") fun on(e: E) { runCatching { orders.add(e) }.onFailure { log.error("no", it) } } }',
        1,
    ),
    good(
        _DROPPED,
        "kotlin",
        'class L { @SqsListener("a") fun on(e: E) { runCatching { orders.add(e) }.onFailure { log.error("no", it) }.getOrThrow() } }',
    ),
    bad(
        _TRANSACTION,
        "javascript",
        "const { Order, Line } = require('./models');\nasync function place(a) { await Order.create({ a }); await Line.bulkCreate(a.lines); }",
        2,
    ),
    good(
        _TRANSACTION,
        "javascript",
        "const { Order, Line } = require('./models');\nasync function place(a, transaction) { await Order.create({ a }, { transaction }); await Line.bulkCreate(a.lines, { transaction }); }",
    ),
    bad(
        _TRANSACTION,
        "rust",
        "use sea_orm::ActiveModelTrait;\nimpl S { async fn f(&self, a: A, b: B) -> R { a.insert(&self.db).await?; b.insert(&self.db).await?; Ok(()) } }",
        2,
    ),
    good(
        _TRANSACTION,
        "rust",
        "use sea_orm::ActiveModelTrait;\nimpl S { async fn f(&self, a: A, b: B) -> R { a.insert(&txn).await?; b.insert(&txn).await?; txn.commit().await } }",
    ),
    good(
        _REQUEUED,
        "python",
        "from google.cloud import pubsub_v1\ndef on(message):\n    try:\n        work(message)\n    except Exception:\n        message.nack()",
    ),
]
