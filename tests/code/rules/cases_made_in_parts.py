"""Clients that are made and closed for one request; waits for replies; programs; expressions in parts."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_CATASTROPHIC_EXPRESSION = "catastrophic-expression"
_CONNECTION_PER_CALL = "connection-per-call"
_FUTURE_WITHOUT_TIMEOUT = "future-without-timeout"
_SUBPROCESS_WITHOUT_TIMEOUT = "subprocess-without-timeout"

CASES: list[Case] = [
    bad(
        _CONNECTION_PER_CALL,
        "java",
        """
        import org.eclipse.paho.client.mqttv3.MqttClient;
        import org.eclipse.paho.client.mqttv3.MqttException;
        import org.eclipse.paho.client.mqttv3.MqttMessage;
        import org.springframework.web.bind.annotation.PathVariable;
        import org.springframework.web.bind.annotation.PostMapping;
        import org.springframework.web.bind.annotation.RequestBody;
        import org.springframework.web.bind.annotation.RestController;
        @RestController
        public class CommandController {
            private final BrokerProperties broker;
            public CommandController(BrokerProperties broker) {
                this.broker = broker;
            }
            @PostMapping("/devices/{id}/commands")
            public void send(@PathVariable String id, @RequestBody byte[] command) throws MqttException {
                MqttClient client = new MqttClient(broker.url(), "bridge-" + id);
                client.connect(broker.options());
                try {
                    client.publish("devices/" + id + "/commands", new MqttMessage(command));
                } finally {
                    client.disconnect();
                    client.close();
                }
            }
        }
        """,
        16,
    ),
    bad(
        _CONNECTION_PER_CALL,
        "python",
        """
        import json
        import aio_pika
        from fastapi import APIRouter, Request
        router = APIRouter()
        @router.post("/orders")
        async def create(request: Request) -> dict:
            order = await request.json()
            connection = await aio_pika.connect_robust(request.app.state.amqp_url, timeout=5)
            async with connection:
                channel = await connection.channel()
                await channel.default_exchange.publish(
                    aio_pika.Message(json.dumps(order).encode(), delivery_mode=aio_pika.DeliveryMode.PERSISTENT),
                    routing_key="orders",
                )
            return {"id": order["id"]}
        """,
        8,
    ),
    bad(
        _CONNECTION_PER_CALL,
        "python",
        """
        from fastapi import FastAPI
        from neo4j import AsyncGraphDatabase
        app = FastAPI()
        @app.get("/friends/{user}")
        async def friends(user: str) -> list[str]:
            async with AsyncGraphDatabase.driver(app.state.uri, auth=app.state.auth) as driver:
                records, _, _ = await driver.execute_query(
                    "MATCH (:User {id: $id})-[:KNOWS]->(f) RETURN f.id AS id", id=user
                )
            return [record["id"] for record in records]
        """,
        6,
    ),
    bad(
        _CONNECTION_PER_CALL,
        "typescript",
        """
        import { Kafka } from 'kafkajs';
        import { Injectable } from '@nestjs/common';
        @Injectable()
        export class OrderEvents {
          constructor(private readonly brokers: string[]) {}
          async published(order: Order): Promise<void> {
            const producer = new Kafka({ clientId: 'orders', brokers: this.brokers }).producer();
            await producer.connect();
            try {
              await producer.send({ topic: 'orders', messages: [{ key: order.id, value: JSON.stringify(order) }] });
            } finally {
              await producer.disconnect();
            }
          }
        }
        """,
        7,
    ),
    bad(
        _CONNECTION_PER_CALL,
        "go",
        """
        package a
        import (
        	"encoding/json"
        	"net/http"
        	"github.com/nats-io/nats.go"
        )
        type Handler struct {
        	natsURL string
        }
        func (h *Handler) CreateOrder(w http.ResponseWriter, r *http.Request) {
        	var order Order
        	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&order); err != nil {
        		http.Error(w, "bad order", http.StatusBadRequest)
        		return
        	}
        	nc, err := nats.Connect(h.natsURL)
        	if err != nil {
        		http.Error(w, "unavailable", http.StatusServiceUnavailable)
        		return
        	}
        	defer nc.Close()
        	payload, err := json.Marshal(order)
        	if err != nil {
        		http.Error(w, "bad order", http.StatusBadRequest)
        		return
        	}
        	if err := nc.Publish("orders.created", payload); err != nil {
        		http.Error(w, "unavailable", http.StatusServiceUnavailable)
        		return
        	}
        	if err := nc.FlushTimeout(flushLimit); err != nil {
        		http.Error(w, "unavailable", http.StatusServiceUnavailable)
        		return
        	}
        	w.WriteHeader(http.StatusAccepted)
        }
        """,
        16,
    ),
    bad(
        _CONNECTION_PER_CALL,
        "kotlin",
        """
        import com.mongodb.kotlin.client.coroutine.MongoClient
        import io.ktor.server.response.respond
        import io.ktor.server.routing.Route
        import io.ktor.server.routing.get
        import kotlinx.coroutines.flow.firstOrNull
        import org.bson.Document
        fun Route.catalog(uri: String) {
            get("/products/{id}") {
                val product = MongoClient.create(uri).use { client ->
                    client.getDatabase("shop").getCollection<Document>("products")
                        .find(Document("_id", call.parameters["id"])).firstOrNull()
                }
                call.respond(product ?: return@get call.respond(io.ktor.http.HttpStatusCode.NotFound))
            }
        }
        """,
        9,
    ),
    bad(
        _FUTURE_WITHOUT_TIMEOUT,
        "python",
        """
        from flask import Blueprint, jsonify
        from .tasks import render_statement
        bp = Blueprint("statements", __name__)
        @bp.get("/statements/<int:account>")
        def statement(account: int):
            result = render_statement.delay(account)
            url = result.get()
            return jsonify(url=url)
        """,
        7,
    ),
    bad(
        _FUTURE_WITHOUT_TIMEOUT,
        "javascript",
        """
        import { Worker } from 'node:worker_threads';
        export class Renderer {
          constructor(file) {
            this.worker = new Worker(file);
          }
          render(template, data) {
            return new Promise((resolve, reject) => {
              this.worker.once('message', resolve);
              this.worker.once('error', reject);
              this.worker.postMessage({ template, data });
            });
          }
        }
        """,
        7,
    ),
    bad(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "javascript",
        """
        import { execFile } from 'node:child_process';
        import { promisify } from 'node:util';
        const run = promisify(execFile);
        export async function probe(path) {
          const { stdout } = await run('ffprobe', ['-v', 'error', '-of', 'json', path]);
          return JSON.parse(stdout);
        }
        """,
        5,
    ),
    bad(
        _FUTURE_WITHOUT_TIMEOUT,
        "java",
        """
        import jakarta.jms.ConnectionFactory;
        import jakarta.jms.JMSConsumer;
        import jakarta.jms.JMSContext;
        import jakarta.jms.Message;
        import jakarta.jms.Queue;
        import jakarta.jms.TemporaryQueue;
        import jakarta.jms.TextMessage;
        public class BalanceQuery {
            private final ConnectionFactory factory;
            private final Queue requests;
            public BalanceQuery(ConnectionFactory factory, Queue requests) {
                this.factory = factory;
                this.requests = requests;
            }
            public String balance(String account) {
                try (JMSContext context = factory.createContext()) {
                    TemporaryQueue replies = context.createTemporaryQueue();
                    TextMessage request = context.createTextMessage(account);
                    context.createProducer().setJMSReplyTo(replies).send(requests, request);
                    JMSConsumer consumer = context.createConsumer(replies);
                    return consumer.receive().getBody(String.class);
                } catch (jakarta.jms.JMSException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        """,
        21,
    ),
    bad(
        _FUTURE_WITHOUT_TIMEOUT,
        "kotlin",
        """
        import java.util.concurrent.Callable
        import java.util.concurrent.ExecutorService
        class QuoteService(private val pool: ExecutorService, private val suppliers: List<Supplier>) {
            fun best(sku: String): Quote? {
                val futures = suppliers.map { supplier -> pool.submit(Callable { supplier.quote(sku) }) }
                return futures.map { it.get() }.minByOrNull { it.cents }
            }
        }
        """,
        6,
    ),
    bad(
        _CATASTROPHIC_EXPRESSION,
        "python",
        """
        import re
        WORD = r"[A-Za-z0-9]+"
        SEPARATOR = r"[-_. ]?"
        REFERENCE = re.compile(rf"^(?:{WORD}{SEPARATOR})+#\\d+$")
        def parse_reference(text: str) -> str | None:
            found = REFERENCE.match(text)
            return found.group(0) if found else None
        """,
        4,
    ),
    good(
        _CATASTROPHIC_EXPRESSION,
        "python",
        """
        import re
        WORD = r"[A-Za-z0-9]+"
        SEPARATOR = r"[-_. ]"
        REFERENCE = re.compile(rf"^{WORD}(?:{SEPARATOR}{WORD})*#\\d+$")
        def parse_reference(text: str) -> str | None:
            found = REFERENCE.match(text)
            return found.group(0) if found else None
        """,
    ),
    bad(
        _CATASTROPHIC_EXPRESSION,
        "java",
        """
        import java.util.regex.Pattern;
        public final class AddressRules {
            private static final String LABEL = "[a-z0-9]+-?";
            private static final String DOMAIN = "(" + LABEL + ")+";
            private static final Pattern ADDRESS =
                Pattern.compile("^[a-z0-9._]+@" + DOMAIN + "\\\\.[a-z]{2,}$");
            private AddressRules() {}
            public static boolean isValid(String address) {
                return ADDRESS.matcher(address).matches();
            }
        }
        """,
        6,
    ),
    bad(
        _CATASTROPHIC_EXPRESSION,
        "typescript",
        """
        const segment = '[\\\\w-]+\\\\.?';
        const HOST = new RegExp(`^(${segment})+:\\\\d+$`);
        export function isHost(value: string): boolean {
          return HOST.test(value);
        }
        """,
        2,
    ),
    bad(
        _CATASTROPHIC_EXPRESSION,
        "kotlin",
        '''
        private const val TERM = """\\w+\\s?"""
        private val QUERY = Regex("^($TERM)+;$")
        fun isQuery(text: String): Boolean = QUERY.containsMatchIn(text)
        ''',
        2,
    ),
    bad(
        _CATASTROPHIC_EXPRESSION,
        "csharp",
        """
        using System.Text.RegularExpressions;
        public static class NameRules
        {
            public static bool IsValid(string name)
            {
                const string pattern = @"^([A-Za-z]+['\\- ]?)+$";
                return Regex.IsMatch(name, pattern);
            }
        }
        """,
        6,
    ),
    bad(
        _CATASTROPHIC_EXPRESSION,
        "rust",
        """
        use fancy_regex::Regex;
        use std::sync::LazyLock;
        static TITLE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"^(?!draft)(\\w+\\s?)+$").expect("valid pattern"));
        pub fn is_title(text: &str) -> bool {
            TITLE.is_match(text).unwrap_or(false)
        }
        """,
        4,
    ),
    bad(
        _CATASTROPHIC_EXPRESSION,
        "go",
        """
        package a
        import "github.com/dlclark/regexp2"
        var slug = regexp2.MustCompile(`^(?!-)([a-z0-9]+-?)+$`, regexp2.None)
        func IsSlug(text string) bool {
        	ok, err := slug.MatchString(text)
        	return err == nil && ok
        }
        """,
        3,
    ),
]
