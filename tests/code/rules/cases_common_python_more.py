"""More defects as services in Python have them."""

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "error-answered-as-success",
        "python",
        """
        import tornado.web
        class ReportHandler(tornado.web.RequestHandler):
            async def get(self):
                try:
                    report = await build_report()
                except ReportError as e:
                    self.write({"error": str(e)})
                    return
                self.write(report)
    """,
        7,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
        from sanic import Sanic
        from sanic.response import json
        app = Sanic("svc")
        @app.get("/x")
        async def x(request):
            try:
                return json(await load())
            except LoadError as e:
                return json({"error": str(e)})
    """,
        9,
    ),
    bad(
        "secret-in-log",
        "python",
        """
        import logging
        import os
        log = logging.getLogger(__name__)
        def start():
            log.info("starting with environment %s", os.environ)
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "python",
        """
        import logging
        log = logging.getLogger(__name__)
        class Settings:
            db_password: str
        def boot(settings):
            log.debug(f"db={settings.db_host} user={settings.db_user} password={settings.db_password}")
    """,
        6,
    ),
    bad(
        "secret-in-log",
        "python",
        """
        def verify(request):
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            try:
                return jwt.decode(token, KEY, algorithms=["HS256"])
            except jwt.InvalidTokenError:
                logger.warning("invalid token: %s", token)
                raise
    """,
        6,
    ),
    bad(
        "catastrophic-expression",
        "python",
        """
        import re
        def is_valid_name(name: str) -> bool:
            return re.match(r"^([A-Za-z]+[ '-]?)+$", name) is not None
    """,
        3,
    ),
    bad(
        "fire-and-forget",
        "python",
        """
        import asyncio
        async def handler(event):
            asyncio.create_task(send_metrics(event))
            return await process(event)
    """,
        3,
    ),
    bad(
        "released-on-success-only",
        "python",
        """
        from psycopg2 import pool
        db = pool.ThreadedConnectionPool(1, 10, dsn)
        def fetch(sql):
            conn = db.getconn()
            with conn.cursor() as cur:
                cur.execute(sql)
                rows = cur.fetchall()
            db.putconn(conn)
            return rows
    """,
        4,
    ),
    bad(
        "request-in-transaction",
        "python",
        """
        import httpx
        from sqlalchemy.orm import Session
        def create(session: Session, payload):
            with session.begin():
                user = User(**payload)
                session.add(user)
                httpx.post("https://crm.example.com/users", json=payload, timeout=5).raise_for_status()
    """,
        7,
    ),
    bad(
        "acknowledged-before-work",
        "python",
        """
        from kafka import KafkaConsumer
        def run():
            consumer = KafkaConsumer("orders", enable_auto_commit=False)
            for message in consumer:
                consumer.commit()
                handle_order(message.value)
    """,
        5,
    ),
    bad(
        "lost-update",
        "python",
        """
        @app.post("/buy/{item_id}")
        def buy(item_id: int, db: Session = Depends(get_db)):
            item = db.query(Item).filter(Item.id == item_id).first()
            if item.stock <= 0:
                raise HTTPException(409)
            item.stock -= 1
            db.commit()
            return item
    """,
        6,
    ),
    bad(
        "file-written-in-place",
        "python",
        """
        import pickle
        class Cache:
            def __init__(self, path):
                self.path = path
                self.data = {}
            def load(self):
                with open(self.path, "rb") as f:
                    self.data = pickle.load(f)
            def save(self):
                with open(self.path, "wb") as f:
                    pickle.dump(self.data, f)
    """,
        10,
    ),
    bad(
        "busy-loop",
        "python",
        """
        import threading
        done = threading.Event()
        def wait():
            while not done.is_set():
                pass
    """,
        4,
    ),
    bad(
        "busy-loop",
        "python",
        """
        def consume(q):
            while True:
                try:
                    msg = q.get_nowait()
                    handle(msg)
                except Exception:
                    pass
    """,
        4,
    ),
    bad(
        "unguarded-parse",
        "python",
        """
        import json
        for message in pubsub.listen():
            event = json.loads(message["data"])
            handle(event)
    """,
        3,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
        from flask import Blueprint, jsonify
        bp = Blueprint("api", __name__)
        @bp.route("/sync", methods=["POST"])
        def sync():
            try:
                run_sync()
            except Exception as e:
                current_app.logger.exception("sync")
                return {"result": None, "error": repr(e)}
            return {"result": "ok"}
    """,
        9,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
        @app.exception_handler(Exception)
        async def on_error(request, exc):
            return JSONResponse(content={"error": str(exc)})
    """,
        3,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
        @csrf_exempt
        def webhook(request):
            data = json.loads(request.body)
            try:
                apply(data)
            except Exception as e:
                return HttpResponse(json.dumps({"error": str(e)}), content_type="application/json")
            return HttpResponse("ok")
        from django.http import HttpResponse
    """,
        7,
    ),
    bad(
        "secret-in-log",
        "python",
        """
        import logging
        class PaymentGateway:
            def charge(self, card_number, cvv, amount):
                logging.info("charging card %s cvv %s amount %s", card_number, cvv, amount)
    """,
        4,
    ),
    bad(
        "secret-in-log",
        "python",
        """
        import requests, logging
        logger = logging.getLogger(__name__)
        def call(url, api_token):
            headers = {"Authorization": f"Bearer {api_token}"}
            logger.debug("GET %s headers=%r", url, headers)
            return requests.get(url, headers=headers, timeout=5)
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "python",
        """
        import logging
        log = logging.getLogger(__name__)
        def create_user(form):
            log.info("creating user: %s / %s", form["email"], form["password"])
    """,
        4,
    ),
    bad(
        "catastrophic-expression",
        "python",
        r"""
        import re
        PATTERN = re.compile(r"(?:\s*,?\s*\w+)*;$")
    """,
        2,
    ),
    bad(
        "catastrophic-expression",
        "python",
        r"""
        import re
        def parse(header):
            return re.findall(r"(\w+)=((?:[^;\\]|\\.|\s)*);", header)
    """,
        3,
    ),
    bad(
        "request-in-transaction",
        "python",
        """
        from django.db import transaction
        from django.core.mail import send_mail
        def signup(form):
            with transaction.atomic():
                user = form.save()
                send_mail("Welcome", "hi", "a@example.com", [user.email])
    """,
        6,
    ),
    bad(
        "lost-update",
        "python",
        """
        def redeem(user_id, coupon):
            user = User.query.get(user_id)
            user.credits = user.credits + coupon.value
            db.session.commit()
    """,
        3,
    ),
    bad(
        "file-written-in-place",
        "python",
        """
        import json, os
        class TokenStore:
            def __init__(self, directory):
                self._file = os.path.join(directory, "tokens.json")
            def get(self):
                with open(self._file, "r", encoding="utf-8") as f:
                    return json.load(f)
            def put(self, tokens):
                with open(self._file, "w", encoding="utf-8") as f:
                    json.dump(tokens, f)
    """,
        9,
    ),
    bad(
        "shared-mutable-state",
        "python",
        """
        from flask import Flask
        app = Flask(__name__)
        counter = 0
        @app.route("/hit")
        def hit():
            global counter
            counter += 1
            return str(counter)
    """,
        7,
    ),
    bad(
        "retry-of-non-idempotent-call",
        "python",
        """
        import httpx
        from tenacity import retry, stop_after_attempt, wait_exponential
        @retry(stop=stop_after_attempt(3), wait=wait_exponential())
        def create_order(client: httpx.Client, order):
            response = client.post("/orders", json=order)
            response.raise_for_status()
            return response.json()
    """,
        5,
    ),
]
