"""Defects as services in Python, JavaScript and TypeScript have them."""

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "error-answered-as-success",
        "python",
        """
        from flask import Flask, request, jsonify
        from services import billing
        app = Flask(__name__)
        @app.post("/charge")
        def charge():
            payload = request.get_json()
            try:
                result = billing.charge(payload["customer"], payload["amount"])
            except billing.BillingError as exc:
                app.logger.warning("charge failed: %s", exc)
                return jsonify(ok=False, message=str(exc))
            return jsonify(ok=True, id=result.id)
    """,
        11,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
        from fastapi import APIRouter
        router = APIRouter(prefix="/users")
        @router.get("/{user_id}")
        async def get_user(user_id: int):
            try:
                user = await users.get(user_id)
            except Exception as e:
                return {"status": "error", "detail": str(e)}
            return user
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
        from aiohttp import web
        routes = web.RouteTableDef()
        @routes.get("/status")
        async def status(request):
            try:
                data = await backend.status()
            except BackendError as err:
                return web.json_response({"error": str(err)})
            return web.json_response(data)
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
        from django.http import JsonResponse
        from django.views import View
        class OrderView(View):
            def post(self, request):
                try:
                    order = create_order(request.POST)
                except InventoryError as e:
                    return JsonResponse({"success": False, "error": str(e)})
                return JsonResponse({"success": True, "id": order.pk})
    """,
        8,
    ),
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
        "typescript",
        """
        import { Request, Response } from "express";
        export async function getOrders(req: Request, res: Response): Promise<void> {
          try {
            const orders = await orderService.list();
            res.status(200).json({ orders });
          } catch (err) {
            console.error(err);
            res.status(200).json({ error: "could not load orders" });
          }
        }
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
        "python",
        """
        import logging
        logger = logging.getLogger(__name__)
        class Client:
            def __init__(self, base_url, api_key):
                self.base_url = base_url
                self.api_key = api_key
                logger.info("Client for %s with key %s", base_url, api_key)
    """,
        7,
    ),
    bad(
        "secret-in-log",
        "python",
        """
        import logging, os
        log = logging.getLogger("app")
        def connect():
            dsn = f"postgres://app:{os.environ['DB_PASSWORD']}@db/app"
            log.info("connecting to %s", dsn)
            return psycopg.connect(dsn)
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "python",
        """
        import logging
        from fastapi import FastAPI, Request
        logger = logging.getLogger(__name__)
        app = FastAPI()
        @app.middleware("http")
        async def log_requests(request: Request, call_next):
            logger.info("request %s headers=%s", request.url.path, dict(request.headers))
            return await call_next(request)
    """,
        7,
    ),
    bad(
        "secret-in-log",
        "python",
        """
        import structlog
        log = structlog.get_logger()
        def authenticate(username, password):
            log.info("authenticating", username=username, password=password)
            return check(username, password)
    """,
        4,
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
        "typescript",
        """
        @Injectable()
        export class AuthService {
          private readonly logger = new Logger(AuthService.name);
          async login(dto: LoginDto) {
            this.logger.log(`login attempt ${JSON.stringify(dto)} password=${dto.password}`);
            return this.users.verify(dto.email, dto.password);
          }
        }
    """,
        5,
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
        "python",
        r"""
        import re
        EMAIL = re.compile(r"^([a-zA-Z0-9_.+-]+)+@([a-zA-Z0-9-]+\.)+[a-z]{2,}$")
        def valid(email):
            return bool(EMAIL.match(email))
    """,
        2,
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
        "catastrophic-expression",
        "typescript",
        r"""
        export function isUrl(text: string): boolean {
          return /^(https?:\/\/)?([\w-]+\.?)+(\/[\w-]*)*$/.test(text);
        }
    """,
        2,
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
        "rejection-in-handler",
        "typescript",
        """
        import express from "express";
        import { prisma } from "./db";
        const app = express();
        app.get("/users/:id", async (req, res) => {
          const user = await prisma.user.findUnique({ where: { id: req.params.id } });
          if (!user) {
            res.sendStatus(404);
            return;
          }
          res.json(user);
        });
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
        "listener-leak",
        "typescript",
        """
        import { bus } from "./bus";
        export class JobRunner {
          run(job: Job): Promise<Result> {
            return new Promise((resolve) => {
              bus.on("done", (id, result) => {
                if (id === job.id) resolve(result);
              });
              bus.emit("start", job);
            });
          }
        }
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
        "file-not-closed",
        "python",
        """
        import csv
        def read_rows(path):
            handle = open(path, newline="")
            reader = csv.DictReader(handle)
            return [row for row in reader]
    """,
        3,
    ),
    bad(
        "file-not-closed",
        "python",
        """
        import json
        def load(path):
            f = open(path)
            config = json.load(f)
            return config
    """,
        3,
    ),
    bad(
        "request-in-transaction",
        "python",
        """
        import requests
        from django.db import transaction
        @transaction.atomic
        def place_order(cart):
            order = Order.objects.create(cart=cart)
            resp = requests.post("https://pay.example.com/charge", json={"id": order.id}, timeout=10)
            resp.raise_for_status()
            order.paid = True
            order.save()
    """,
        6,
    ),
    bad(
        "acknowledged-before-work",
        "python",
        """
        import pika, json
        def callback(ch, method, properties, body):
            ch.basic_ack(delivery_tag=method.delivery_tag)
            order = json.loads(body)
            charge_customer(order)
            send_receipt(order)
    """,
        3,
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
        "acknowledged-before-work",
        "python",
        """
        import boto3
        sqs = boto3.client("sqs")
        def poll():
            resp = sqs.receive_message(QueueUrl=URL, WaitTimeSeconds=20)
            for message in resp.get("Messages", []):
                sqs.delete_message(QueueUrl=URL, ReceiptHandle=message["ReceiptHandle"])
                process(message["Body"])
    """,
        6,
    ),
    bad(
        "grpc-call-without-deadline",
        "python",
        """
        import grpc
        from protos import user_pb2, user_pb2_grpc
        class UserClient:
            def __init__(self, target):
                self.channel = grpc.insecure_channel(target)
                self.stub = user_pb2_grpc.UserServiceStub(self.channel)
            def get(self, user_id):
                return self.stub.GetUser(user_pb2.GetUserRequest(id=user_id))
    """,
        8,
    ),
    bad(
        "lost-update",
        "python",
        """
        def withdraw(account_id, amount):
            account = Account.objects.get(pk=account_id)
            if account.balance >= amount:
                account.balance = account.balance - amount
                account.save()
    """,
        4,
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
        "lost-update",
        "python",
        """
        def increment(key):
            value = int(r.get(key) or 0)
            value += 1
            r.set(key, value)
            return value
        import redis
        r = redis.Redis()
    """,
        4,
    ),
    bad(
        "file-written-in-place",
        "python",
        """
        import json
        STATE_FILE = "/var/lib/app/state.json"
        def load_state():
            try:
                with open(STATE_FILE) as fh:
                    return json.load(fh)
            except FileNotFoundError:
                return {}
        def save_state(state):
            with open(STATE_FILE, "w") as fh:
                json.dump(state, fh)
    """,
        10,
    ),
    bad(
        "busy-loop",
        "python",
        """
        import asyncio
        async def consume(queue):
            while True:
                if queue.empty():
                    continue
                item = queue.get_nowait()
                handle(item)
    """,
        3,
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
    bad(
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
        3,
    ),
    bad(
        "unguarded-parse",
        "python",
        """
        import json
        def lambda_handler(event, context):
            for record in event["Records"]:
                body = json.loads(record["body"])
                process(body)
    """,
        4,
    ),
    bad(
        "retry-of-non-idempotent-call",
        "python",
        """
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry
        session = requests.Session()
        retry = Retry(total=5, backoff_factor=1, status_forcelist=[502, 503], allowed_methods=None)
        session.mount("https://", HTTPAdapter(max_retries=retry))
        def create_payment(order):
            return session.post("https://pay.example.com/v1/charges", json=order, timeout=5)
    """,
        5,
    ),
]
