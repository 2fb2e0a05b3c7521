"""Defects as services in JavaScript have them."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "error-answered-as-success",
        "javascript",
        """
        const express = require("express");
        const router = express.Router();
        router.post("/login", async (req, res) => {
          try {
            const user = await auth.login(req.body.email, req.body.password);
            return res.json({ user });
          } catch (e) {
            return res.json({ success: false, message: e.message });
          }
        });
        module.exports = router;
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "javascript",
        """
        fastify.get("/items", async (request, reply) => {
          try {
            return await db.items();
          } catch (err) {
            request.log.error(err);
            return { error: "failed" };
          }
        });
    """,
        6,
    ),
    bad(
        "secret-in-log",
        "javascript",
        """
        const logger = require("pino")();
        async function refresh(session) {
          const { access_token, refresh_token } = await oauth.refresh(session);
          logger.info({ access_token, refresh_token }, "tokens refreshed");
          return access_token;
        }
    """,
        4,
    ),
    bad(
        "secret-in-log",
        "javascript",
        """
        app.use((req, res, next) => {
          console.log(`${req.method} ${req.url} ${JSON.stringify(req.headers)}`);
          next();
        });
    """,
        2,
    ),
    bad(
        "secret-in-log",
        "javascript",
        """
        async function callApi(path) {
          const headers = { Authorization: `Bearer ${process.env.API_TOKEN}` };
          console.log("calling", path, headers);
          return fetch(BASE + path, { headers });
        }
    """,
        3,
    ),
    bad(
        "catastrophic-expression",
        "javascript",
        r"""
        const NAME = /^([a-z]+\s*)+$/i;
        app.get("/search", (req, res) => {
          if (!NAME.test(req.query.q)) return res.sendStatus(400);
          res.json(find(req.query.q));
        });
    """,
        1,
    ),
    bad(
        "rejection-in-handler",
        "javascript",
        """
        const express = require("express");
        const app = express();
        app.use(express.json());
        app.post("/orders", async (req, res) => {
          const order = await Order.create(req.body);
          res.status(201).json(order);
        });
        app.listen(3000);
    """,
        5,
    ),
    bad(
        "fire-and-forget",
        "javascript",
        """
        async function notifyAll(users) {
          users.forEach(async (user) => {
            await mailer.send(user.email, "hello");
          });
          console.log("all sent");
        }
    """,
        2,
    ),
    bad(
        "fire-and-forget",
        "javascript",
        """
        async function saveAudit(entry) {
          await db.collection("audit").insertOne(entry);
        }
        app.post("/orders", async (req, res, next) => {
          try {
            const order = await createOrder(req.body);
            saveAudit({ order: order.id });
            res.json(order);
          } catch (e) { next(e); }
        });
    """,
        7,
    ),
    bad(
        "listener-leak",
        "javascript",
        r"""
        const EventEmitter = require("events");
        const updates = new EventEmitter();
        app.get("/stream", (req, res) => {
          res.setHeader("Content-Type", "text/event-stream");
          updates.on("update", (data) => {
            res.write(`data: ${JSON.stringify(data)}\n\n`);
          });
        });
    """,
        5,
    ),
    bad(
        "interval-leak",
        "javascript",
        """
        wss.on("connection", (ws) => {
          setInterval(() => {
            ws.send(JSON.stringify({ type: "ping" }));
          }, 5000);
        });
    """,
        2,
    ),
    bad(
        "interval-leak",
        "javascript",
        """
        function watch(id, callback) {
          setInterval(async () => {
            const job = await getJob(id);
            if (job.done) callback(job);
          }, 1000);
        }
        app.post("/jobs/:id/watch", (req, res) => {
          watch(req.params.id, () => {});
          res.sendStatus(202);
        });
    """,
        2,
    ),
    bad(
        "pipe-without-error-handler",
        "javascript",
        """
        const fs = require("fs");
        const zlib = require("zlib");
        function compress(from, to) {
          fs.createReadStream(from).pipe(zlib.createGzip()).pipe(fs.createWriteStream(to));
        }
    """,
        4,
    ),
    bad(
        "pipe-without-error-handler",
        "javascript",
        """
        const { createReadStream } = require("node:fs");
        http.createServer((req, res) => {
          createReadStream("." + req.url).pipe(res);
        }).listen(8080);
    """,
        3,
    ),
    bad(
        "pipe-without-error-handler",
        "javascript",
        """
        const https = require("https");
        const fs = require("fs");
        function download(url, dest, cb) {
          const file = fs.createWriteStream(dest);
          https.get(url, (response) => {
            response.pipe(file);
            file.on("finish", () => file.close(cb));
          });
        }
    """,
        6,
    ),
    bad(
        "uncaught-exception-survived",
        "javascript",
        """
        process.on("uncaughtException", function (err) {
          console.error("Uncaught exception:", err.stack);
          // keep running
        });
    """,
        1,
    ),
    bad(
        "released-on-success-only",
        "javascript",
        """
        const { Pool } = require("pg");
        const pool = new Pool();
        async function transfer(from, to, amount) {
          const client = await pool.connect();
          await client.query("BEGIN");
          await client.query("UPDATE accounts SET balance = balance - $1 WHERE id = $2", [amount, from]);
          await client.query("UPDATE accounts SET balance = balance + $1 WHERE id = $2", [amount, to]);
          await client.query("COMMIT");
          client.release();
        }
    """,
        4,
    ),
    bad(
        "acknowledged-before-work",
        "javascript",
        """
        channel.consume(queue, async (msg) => {
          channel.ack(msg);
          const job = JSON.parse(msg.content.toString());
          await resizeImage(job.path);
          await db.markDone(job.id);
        });
    """,
        2,
    ),
    bad(
        "lost-update",
        "javascript",
        """
        app.post("/buy/:id", async (req, res, next) => {
          try {
            const product = await Product.findByPk(req.params.id);
            if (product.stock > 0) {
              product.stock = product.stock - 1;
              await product.save();
            }
            res.json(product);
          } catch (e) { next(e); }
        });
    """,
        5,
    ),
    bad(
        "busy-loop",
        "javascript",
        """
        function waitFor(flag) {
          while (!flag.ready) {
            // wait
          }
        }
    """,
        2,
    ),
    bad(
        "no-graceful-shutdown",
        "javascript",
        """
        const express = require("express");
        const app = express();
        app.get("/", (req, res) => res.send("ok"));
        app.listen(process.env.PORT || 3000, () => console.log("listening"));
    """,
        4,
    ),
    bad(
        "unguarded-parse",
        "javascript",
        """
        wss.on("connection", (ws) => {
          ws.on("message", (raw) => {
            const msg = JSON.parse(raw);
            dispatch(ws, msg);
          });
        });
    """,
        3,
    ),
    # kafkajs awaits this function and does not commit what failed: the message comes again.
    good(
        "unguarded-parse",
        "javascript",
        """
        await consumer.run({
          eachMessage: async ({ topic, message }) => {
            const event = JSON.parse(message.value.toString());
            await apply(event);
          },
        });
    """,
    ),
]
