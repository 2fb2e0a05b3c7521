"""Clients of stores that block, by declared types and by the shape of their answers."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

CASES: list[Case] = [
    bad(
        "blocking-call-in-async-code",
        "python",
        """
        from fastapi import APIRouter, Depends
        from elasticsearch import Elasticsearch
        router = APIRouter()
        class SearchIndex:
            def __init__(self, url: str) -> None:
                self.es = Elasticsearch(url, request_timeout=3)
            def find(self, text: str) -> list[dict]:
                hits = self.es.search(index="docs", query={"match": {"body": text}})
                return [h["_source"] for h in hits["hits"]["hits"]]
        def get_index() -> SearchIndex:
            return INDEX
        INDEX = SearchIndex("http://es:9200")
        @router.get("/search")
        async def search(q: str, index: SearchIndex = Depends(get_index)):
            return {"hits": index.find(q)}
        """,
        15,
    ),
    bad(
        "blocking-call-in-async-code",
        "python",
        """
        import grpc
        async def price(stub, sku):
            return stub.GetPrice(PriceRequest(sku=sku), timeout=2)
        channel = grpc.insecure_channel("pricing:50051")
        stub = pricing_pb2_grpc.PricingStub(channel)
        @app.get("/price/{sku}")
        async def get_price(sku: str):
            reply = stub.GetPrice(PriceRequest(sku=sku), timeout=2)
            return {"price": reply.price}
        """,
        8,
    ),
    bad(
        "blocking-call-in-async-code",
        "python",
        """
        from .models import Order
        async def latest(request):
            return Order.objects.filter(open=True).first()
        """,
        3,
    ),
    good(
        "blocking-call-in-async-code",
        "python",
        """
        from .models import Order
        async def latest(request):
            return await Order.objects.filter(open=True).afirst()
        """,
    ),
    bad(
        "blocking-call-in-async-code",
        "java",
        """
        package a;
        import org.springframework.web.bind.annotation.*;
        import reactor.core.publisher.*;
        @RestController
        class OrderController {
            private final OrderJpaRepository orders;
            private final WebClient web;
            @GetMapping("/orders/{id}")
            Mono<OrderView> get(@PathVariable Long id) {
                return web.get().uri("/prices/{id}", id).retrieve().bodyToMono(Price.class)
                    .map(p -> new OrderView(orders.findById(id).orElseThrow(), p));
            }
        }
        """,
        11,
    ),
    good(
        "blocking-call-in-async-code",
        "java",
        """
        package a;
        import reactor.core.publisher.Mono;
        class Api {
            Mono<Order> get(Long id) {
                return Mono.just(names.stream().filter(n -> n.id() == id).findFirst().orElseThrow());
            }
        }
        """,
    ),
    bad(
        "blocking-call-in-async-code",
        "java",
        """
        package a;
        import io.netty.channel.*;
        import redis.clients.jedis.JedisPool;
        class AuthHandler extends ChannelInboundHandlerAdapter {
            private final JedisPool pool;
            @Override public void channelRead(ChannelHandlerContext ctx, Object msg) {
                try (var jedis = pool.getResource()) {
                    String user = jedis.get("token:" + ((Frame) msg).token());
                    ctx.fireChannelRead(new Authed(user, msg));
                }
            }
        }
        """,
        8,
    ),
    bad(
        "blocking-call-in-async-code",
        "kotlin",
        """
        import org.springframework.data.jpa.repository.JpaRepository
        interface Orders : JpaRepository<Order, Long>
        @RestController
        class OrderApi(private val orders: Orders) {
            @GetMapping("/o/{id}")
            suspend fun get(@PathVariable id: Long): Order = orders.findById(id).orElseThrow()
        }
        """,
        6,
    ),
    good(
        "blocking-call-in-async-code",
        "kotlin",
        """
        class OrderApi(private val orders: Orders) {
            suspend fun get(id: Long) = withContext(Dispatchers.IO) { orders.findById(id).orElseThrow() }
        }
        """,
    ),
    bad(
        "blocking-call-in-async-code",
        "rust",
        """
        use diesel::prelude::*;
        use axum::{extract::State, Json};
        pub async fn list(State(pool): State<DbPool>) -> Result<Json<Vec<User>>, AppError> {
            let mut conn = pool.get()?;
            let rows = users::table.limit(50).load::<User>(&mut conn)?;
            Ok(Json(rows))
        }
        """,
        5,
    ),
    good(
        "blocking-call-in-async-code",
        "rust",
        """
        use diesel::prelude::*;
        pub async fn list(pool: DbPool) -> Result<Vec<User>, AppError> {
            tokio::task::spawn_blocking(move || {
                let mut conn = pool.get()?;
                users::table.load::<User>(&mut conn)
            }).await?
        }
        """,
    ),
    bad(
        "blocking-call-in-async-code",
        "rust",
        """
        use std::sync::mpsc::Receiver;
        pub async fn pump(rx: Receiver<Event>, hub: Hub) {
            while let Ok(ev) = rx.recv() {
                hub.publish(ev).await;
            }
        }
        """,
        3,
    ),
    bad(
        "blocking-call-in-async-code",
        "csharp",
        """
        public class Cart
        {
            private readonly IDatabase _redis;
            public async Task<CartDto> GetAsync(string id)
            {
                var raw = _redis.StringGet($"cart:{id}");
                return await _mapper.MapAsync(raw);
            }
        }
        """,
        6,
    ),
    good(
        "blocking-call-in-async-code",
        "csharp",
        """
        public class Cart
        {
            private readonly IDatabase _redis;
            public async Task<string> GetAsync(string id) => await _redis.StringGetAsync($"cart:{id}");
        }
        """,
    ),
]
