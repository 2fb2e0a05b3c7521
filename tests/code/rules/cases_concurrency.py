"""Goroutines, locks, transactions and queues."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_HEAD = 'package main\nimport ("context"; "errors"; "sync"; "time")\n'
"""Two lines."""
_LEAK, _TIMER, _GROUP = "goroutine-leak", "timer-made-in-every-round", "waitgroup-add-inside-goroutine"

_REQUEST, _DATES, _ACK = "request-in-transaction", "shared-date-format", "acknowledged-before-work"

_GRPC, _LOST = "grpc-call-without-deadline", "lost-update"


def _bad_go(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, _GO, _HEAD + code, *(line + 2 for line in lines))


def _good_go(rule: str, code: str) -> Case:
    return good(rule, _GO, _HEAD + code)


CASES = [
    # The receiver leaves first.
    _bad_go(
        _LEAK,
        "func f(ctx context.Context) (int, error) {\n ch := make(chan int)\n go func() {\n  ch <- work()\n }()\n select {\n case n := <-ch:\n  return n, nil\n case <-ctx.Done():\n  return 0, ctx.Err()\n }\n}",
        4,
    ),
    _bad_go(
        _LEAK,
        'func f() error {\n done := make(chan error)\n go func() { done <- work() }()\n select {\n case err := <-done:\n  return err\n case <-time.After(time.Second):\n  return errors.New("late")\n }\n}',
        3,
    ),
    _bad_go(
        _LEAK,
        "func f(u string) error {\n ch := make(chan error)\n go func() { ch <- work() }()\n if err := check(u); err != nil {\n  return err\n }\n return <-ch\n}",
        3,
    ),
    _bad_go(
        _LEAK,
        'func f(urls []string) (string, error) {\n ch := make(chan result)\n for _, u := range urls {\n  go func() { ch <- get(u) }()\n }\n for range urls {\n  r := <-ch\n  if r.err != nil { return "", r.err }\n }\n return "", nil\n}',
        4,
    ),
    _good_go(
        _LEAK,
        "func f(ctx context.Context) (int, error) {\n ch := make(chan int, 1)\n go func() { ch <- work() }()\n select {\n case n := <-ch:\n  return n, nil\n case <-ctx.Done():\n  return 0, ctx.Err()\n }\n}",
    ),
    _good_go(
        _LEAK,
        "func f(ctx context.Context) (int, error) {\n ch := make(chan int)\n go func() {\n  select {\n  case ch <- work():\n  case <-ctx.Done():\n  }\n }()\n select {\n case n := <-ch:\n  return n, nil\n case <-ctx.Done():\n  return 0, ctx.Err()\n }\n}",
    ),
    _good_go(_LEAK, "func f() int {\n ch := make(chan int)\n go func() { ch <- work() }()\n return <-ch\n}"),
    _good_go(
        _LEAK,
        "func f(urls []string) []result {\n ch := make(chan result)\n for _, u := range urls {\n  go func() { ch <- get(u) }()\n }\n var all []result\n for range urls {\n  all = append(all, <-ch)\n }\n return all\n}",
    ),
    _good_go(
        _LEAK,
        "func f(ctx context.Context) <-chan int {\n ch := make(chan int)\n go func() { ch <- work() }()\n return ch\n}",
    ),
    _good_go(
        _LEAK,
        "func f(ctx context.Context) {\n done := make(chan struct{})\n go func() { defer close(done); work() }()\n select {\n case <-done:\n case <-ctx.Done():\n }\n}",
    ),
    _good_go(
        _LEAK,
        "func main() {\n ch := make(chan error)\n go func() { ch <- work() }()\n select {\n case <-ch:\n case <-time.After(time.Second):\n }\n}",
    ),
    # Timers.
    _good_go(
        _TIMER,
        "func f(quit chan int) {\n for {\n  work()\n  select {\n  case <-quit:\n   return\n  case <-time.After(time.Minute):\n  }\n }\n}",
    ),
    _bad_go(
        _TIMER,
        "func f(in chan int) {\n for {\n  select {\n  case n := <-in:\n   use(n)\n  case <-time.After(time.Minute):\n   return\n  }\n }\n}",
        6,
    ),
    _good_go(
        _TIMER,
        "func f(in chan int) {\n select {\n case n := <-in:\n  use(n)\n case <-time.After(time.Minute):\n }\n}",
    ),
    _good_go(
        _TIMER,
        "func f(ctx context.Context) {\n for {\n  work()\n  select {\n  case <-ctx.Done():\n   return\n  case <-time.After(time.Minute):\n  }\n }\n}",
    ),
    _good_go(
        _TIMER,
        "func f(in chan int) {\n timer := time.NewTimer(time.Minute)\n for {\n  select {\n  case n := <-in:\n   use(n)\n  case <-timer.C:\n   return\n  }\n }\n}",
    ),
    # Groups.
    _bad_go(
        _GROUP,
        "func f(items []int) {\n var wg sync.WaitGroup\n for _, i := range items {\n  go func() {\n   wg.Add(1)\n   defer wg.Done()\n   use(i)\n  }()\n }\n wg.Wait()\n}",
        5,
    ),
    _good_go(
        _GROUP,
        "func f(items []int) {\n var wg sync.WaitGroup\n for _, i := range items {\n  wg.Add(1)\n  go func() {\n   defer wg.Done()\n   use(i)\n  }()\n }\n wg.Wait()\n}",
    ),
    _good_go(
        _GROUP,
        "func f(items []int) {\n var wg sync.WaitGroup\n wg.Add(1)\n go func() {\n  defer wg.Done()\n  for _, i := range items {\n   wg.Add(1)\n   go func() { defer wg.Done(); use(i) }()\n  }\n }()\n wg.Wait()\n}",
    ),
    _good_go(_GROUP, "func f(c *Counter) {\n go func() {\n  c.Add(1)\n }()\n}"),
    # Requests in transactions.
    bad(
        _REQUEST,
        _PY,
        "import requests\nfrom django.db import transaction\ndef pay(order):\n    with transaction.atomic():\n        order.save()\n        requests.post(URL, json=order.body, timeout=5)",
        6,
    ),
    bad(
        _REQUEST,
        _PY,
        "import requests\nfrom django.db import transaction\n@transaction.atomic\ndef pay(order):\n    order.save()\n    notify(order)\ndef notify(order):\n    requests.post(URL, json=order.body, timeout=5)",
        6,
    ),
    good(
        _REQUEST,
        _PY,
        "import requests\nfrom django.db import transaction\ndef pay(order):\n    with transaction.atomic():\n        order.save()\n        transaction.on_commit(lambda: requests.post(URL, json=order.body, timeout=5))\n    requests.post(URL, timeout=5)",
    ),
    bad(
        _REQUEST,
        _JAVA,
        "@Service\nclass Pay {\n  private final RestTemplate rest;\n  @Transactional\n  public void pay(Order o) {\n    repo.save(o);\n    rest.postForObject(url, o, Receipt.class);\n  }\n}",
        7,
    ),
    good(
        _REQUEST,
        _JAVA,
        "@Service\nclass Pay {\n  private final RestTemplate rest;\n  @Transactional\n  public void pay(Order o) { repo.save(o); }\n  public void send(Order o) { rest.postForObject(url, o, Receipt.class); }\n  @Transactional(propagation = Propagation.NOT_SUPPORTED)\n  public void other(Order o) { rest.postForObject(url, o, Receipt.class); }\n}",
    ),
    bad(
        _REQUEST,
        _TS,
        "async function pay(order: Order) {\n  await prisma.$transaction(async (tx) => {\n    await tx.order.create({ data: order });\n    await fetch(URL, { method: 'POST' });\n  });\n}",
        4,
    ),
    good(
        _REQUEST,
        _TS,
        "async function pay(order: Order) {\n  const answer = await fetch(URL, { method: 'POST' });\n  await prisma.$transaction(async (tx) => {\n    await tx.order.create({ data: order });\n  });\n}",
    ),
    bad(
        _REQUEST,
        _GO,
        'package a\nimport ("database/sql"; "net/http")\nfunc pay(db *sql.DB) error {\n tx, err := db.Begin()\n if err != nil { return err }\n defer tx.Rollback()\n resp, err := http.Get(u)\n if err != nil { return err }\n resp.Body.Close()\n return tx.Commit()\n}',
        7,
    ),
    good(
        _REQUEST,
        _GO,
        'package a\nimport ("database/sql"; "net/http")\nfunc pay(db *sql.DB) error {\n tx, err := db.Begin()\n if err != nil { return err }\n if err := tx.Commit(); err != nil { return err }\n resp, err := http.Get(u)\n if err != nil { return err }\n return resp.Body.Close()\n}',
    ),
    # Date formats.
    bad(
        _DATES,
        _JAVA,
        'class A {\n  private static final SimpleDateFormat DAY = new SimpleDateFormat("yyyy-MM-dd");\n  String f(Date d) { return DAY.format(d); }\n}',
        2,
    ),
    bad(
        _DATES,
        _JAVA,
        '@RestController\nclass A {\n  private final DateFormat day = new SimpleDateFormat("yyyy");\n  @GetMapping("/d")\n  String f() { return day.format(new Date()); }\n}',
        3,
    ),
    good(
        _DATES,
        _JAVA,
        'class A {\n  private static final DateTimeFormatter DAY = DateTimeFormatter.ISO_DATE;\n  private final SimpleDateFormat own = new SimpleDateFormat("yyyy");\n  String f(Date d) { return new SimpleDateFormat("yyyy").format(d) + own.format(d); }\n}',
    ),
    good(
        _DATES,
        _JAVA,
        'class A {\n  private static final SimpleDateFormat DAY = new SimpleDateFormat("yyyy-MM-dd");\n  static synchronized String f(Date d) { return DAY.format(d); }\n}',
    ),
    good(
        _DATES,
        _JAVA,
        'class A {\n  private static final ThreadLocal<SimpleDateFormat> DAY = ThreadLocal.withInitial(() -> new SimpleDateFormat("yyyy"));\n  String f(Date d) { return DAY.get().format(d); }\n}',
    ),
    # Acknowledgements.
    bad(
        _ACK,
        _PY,
        "import json\ndef on_message(channel, method, props, body):\n    channel.basic_ack(method.delivery_tag)\n    order = json.loads(body)\n    save_order(order)",
        3,
    ),
    bad(
        _ACK,
        _PY,
        "def main(channel):\n    channel.basic_consume(queue='orders', on_message_callback=work, auto_ack=True)",
        2,
    ),
    bad(
        _ACK,
        _JS,
        "channel.consume('orders', async (msg) => {\n  channel.ack(msg);\n  const order = JSON.parse(msg.content.toString());\n  await processOrder(order);\n});",
        2,
    ),
    bad(
        _ACK,
        _JS,
        "channel.consume('orders', async (msg) => { await processOrder(msg); }, { noAck: true });",
        1,
    ),
    bad(
        _ACK,
        _GO,
        "package a\nfunc run(msgs <-chan amqp.Delivery) {\n for d := range msgs {\n  d.Ack(false)\n  handleOrder(d.Body)\n }\n}",
        4,
    ),
    good(
        _ACK,
        _PY,
        "import json\ndef on_message(channel, method, props, body):\n    save_order(json.loads(body))\n    channel.basic_ack(method.delivery_tag)",
    ),
    good(
        _ACK,
        _PY,
        "import json\ndef on_message(channel, method, props, body):\n    try:\n        order = json.loads(body)\n    except ValueError:\n        channel.basic_ack(method.delivery_tag)\n        return\n    save_order(order)\n    channel.basic_ack(method.delivery_tag)",
    ),
    good(
        _ACK,
        _JS,
        "channel.consume('orders', async (msg) => {\n  if (!msg) return;\n  await processOrder(msg);\n  channel.ack(msg);\n});",
    ),
    good(_ACK, _PY, "async def command(ack, body):\n    await ack()\n    await process(body)"),
    # gRPC.
    bad(
        _GRPC,
        _PY,
        "import grpc\nimport shop_pb2_grpc\ndef load(id):\n    channel = grpc.insecure_channel(ADDRESS)\n    stub = shop_pb2_grpc.OrdersStub(channel)\n    return stub.Get(Id(id=id))",
        6,
    ),
    good(
        _GRPC,
        _PY,
        "import grpc\nimport shop_pb2_grpc\ndef load(id):\n    stub = shop_pb2_grpc.OrdersStub(grpc.insecure_channel(ADDRESS))\n    return stub.Get(Id(id=id), timeout=2)",
    ),
    bad(
        _GRPC,
        _GO,
        'package a\nimport ("context"; "google.golang.org/grpc"; pb "shop/pb")\nfunc load(conn *grpc.ClientConn) (*pb.Order, error) {\n client := pb.NewOrdersClient(conn)\n return client.Get(context.Background(), &pb.Id{})\n}',
        5,
    ),
    good(
        _GRPC,
        _GO,
        'package a\nimport ("context"; "time"; "google.golang.org/grpc"; pb "shop/pb")\nfunc load(ctx context.Context, conn *grpc.ClientConn) (*pb.Order, error) {\n client := pb.NewOrdersClient(conn)\n ctx, cancel := context.WithTimeout(ctx, time.Second)\n defer cancel()\n return client.Get(ctx, &pb.Id{})\n}',
    ),
    bad(
        _GRPC,
        _JAVA,
        "class A {\n  Order load(Channel channel, Id id) {\n    OrdersGrpc.OrdersBlockingStub stub = OrdersGrpc.newBlockingStub(channel);\n    return stub.get(id);\n  }\n}",
        4,
    ),
    good(
        _GRPC,
        _JAVA,
        "class A {\n  Order load(Channel channel, Id id) {\n    OrdersGrpc.OrdersBlockingStub stub = OrdersGrpc.newBlockingStub(channel);\n    return stub.withDeadlineAfter(2, TimeUnit.SECONDS).get(id);\n  }\n}",
    ),
    bad(
        _GRPC,
        _JS,
        "const grpc = require('@grpc/grpc-js');\nconst client = new shop.Orders(ADDRESS, grpc.credentials.createInsecure());\nfunction load(id, done) {\n  client.get({ id }, (err, order) => done(err, order));\n}",
        4,
    ),
    good(
        _GRPC,
        _JS,
        "const grpc = require('@grpc/grpc-js');\nconst client = new shop.Orders(ADDRESS, grpc.credentials.createInsecure());\nfunction load(id, done) {\n  const deadline = Date.now() + 2000;\n  client.get({ id }, { deadline }, (err, order) => done(err, order));\n}",
    ),
    # Lost updates.
    bad(
        _LOST,
        _PY,
        "def pay(request, id):\n    account = Account.objects.get(id=id)\n    account.balance -= amount\n    account.save()",
        3,
    ),
    bad(
        _LOST,
        _PY,
        "def view(id):\n    post = session.query(Post).filter_by(id=id).first()\n    post.views = post.views + 1\n    session.commit()",
        3,
    ),
    good(
        _LOST,
        _PY,
        "def pay(request, id):\n    account = Account.objects.select_for_update().get(id=id)\n    account.balance -= amount\n    account.save()",
    ),
    good(
        _LOST,
        _PY,
        "def pay(request, id):\n    account = Account.objects.get(id=id)\n    account.balance = F('balance') - amount\n    account.name = account.name + '!'\n    account.save()",
    ),
    good(_LOST, _PY, "def add(cart):\n    cart.count += 1\n    cart.save()"),
    bad(
        _LOST,
        _JS,
        "async function pay(id, sum) {\n  const account = await Account.findById(id);\n  account.balance -= sum;\n  await account.save();\n}",
        3,
    ),
    good(
        _LOST,
        _JS,
        "async function pay(id, sum) {\n  await Account.updateOne({ _id: id }, { $inc: { balance: -sum } });\n}",
    ),
    bad(
        _LOST,
        _JS,
        "async function hit(key) {\n  const n = Number(await redis.get(key));\n  await redis.set(key, n + 1);\n}",
        3,
    ),
    bad(_LOST, _PY, "def hit(key):\n    n = int(redis.get(key) or 0)\n    redis.set(key, n + 1)", 3),
    good(
        _LOST,
        _JS,
        "async function load(key) {\n  const hit = await redis.get(key);\n  if (hit) return JSON.parse(hit);\n  const value = await compute();\n  await redis.set(key, JSON.stringify(value), 'EX', 60 + jitter);\n  return value;\n}",
    ),
    good(_LOST, _PY, "def hit(key):\n    redis.incr(key)"),
    bad(_LOST, _JS, "let total = 0;\nasync function add(id) {\n  total += await price(id);\n}", 3),
    bad(
        _LOST,
        _TS,
        "class Wallet {\n  balance = 0;\n  async pay(sum: number) {\n    const current = this.balance;\n    await this.check(sum);\n    this.balance = current - sum;\n  }\n}",
        6,
    ),
    bad(
        _LOST,
        _PY,
        "class Wallet:\n    async def pay(self, amount):\n        current = self.balance\n        await self.check(amount)\n        self.balance = current - amount",
        5,
    ),
    good(
        _LOST,
        _JS,
        "let total = 0;\nasync function add(id) {\n  const n = await price(id);\n  total += n;\n}\nasync function sum(ids) {\n  let all = 0;\n  for (const id of ids) all += await price(id);\n  return all;\n}",
    ),
    good(
        _LOST,
        _PY,
        "class Wallet:\n    async def pay(self, amount):\n        async with self.lock:\n            current = self.balance\n            await self.check(amount)\n            self.balance = current - amount",
    ),
    good(
        _GRPC,
        _PY,
        "import grpc\nimport shop_pb2_grpc\ndef load(id):\n    stub = shop_pb2_grpc.OrdersStub(grpc.insecure_channel(ADDRESS))\n    return stub.Get(Id(id=id), 2)",
    ),
    bad(
        _LOST,
        _PY,
        "def next_number(conn):\n    row = conn.execute(\"SELECT value FROM counters WHERE name = 'invoice'\").fetchone()\n    value = row[0] + 1\n    conn.execute(\"UPDATE counters SET value = ? WHERE name = 'invoice'\", (value,))\n    return value",
        4,
    ),
    bad(
        _LOST,
        _JS,
        "async function take(id) {\n  const found = await pool.query('SELECT stock FROM items WHERE id = $1', [id]);\n  await pool.query('UPDATE items SET stock = $1 WHERE id = $2', [found.rows[0].stock - 1, id]);\n}",
        3,
    ),
    good(
        _LOST,
        _JS,
        "async function take(id) {\n  await pool.query('UPDATE items SET stock = stock - 1 WHERE id = $1', [id]);\n}\nasync function lock(id) {\n  const found = await pool.query('SELECT stock FROM items WHERE id = $1 FOR UPDATE', [id]);\n  await pool.query('UPDATE items SET stock = $1 WHERE id = $2', [found.rows[0].stock - 1, id]);\n}",
    ),
    good(
        _LOST,
        _PY,
        'def rename(conn, name):\n    row = conn.execute("SELECT total FROM carts WHERE id = 1").fetchone()\n    conn.execute("UPDATE carts SET total = ? WHERE id = 1", (name,))',
    ),
]
