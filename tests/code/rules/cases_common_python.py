"""Defects as services in Python have them."""

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
