"""Requests and calls of gRPC that are answered with nothing, by a helper or an object that stays as it was made."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_RULE = "failure-looks-empty"
_CSHARP = """
    class Allergens : Menu.MenuBase {{
        public override async Task<Reply> ForDish(Dish request, ServerCallContext context) {{
            var reply = new Reply {{ DishId = request.DishId }};
            try {{
                reply.Codes.AddRange(await _db.QueryAsync<string>(Sql));
            }}
            catch (DbException ex) {{
                _logger.LogError(ex, "failed");
                {}
            }}
            return reply;
        }}
    }}
    """
_JAVA = """
    class Stock extends StockGrpc.StockImplBase {{
        public void available(Request request, StreamObserver<Reply> observer) {{
            Reply.Builder reply = Reply.newBuilder().setSite(request.getSite());
            try {{
                reply.setDoses(jdbc.queryForObject(SUM, Integer.class));
            }} catch (DataAccessException e) {{
                log.error("not readable", e);
                {}
            }}
            observer.onNext(reply.build());
            observer.onCompleted();
        }}
    }}
    """
_GO = """
    package a
    import "github.com/gofiber/fiber/v2"
    func Mount(r fiber.Router, a *API) {{ r.Get("/courts/:court/taken", a.taken) }}
    func (a *API) lookup(ctx context.Context, court string) []Slot {{
    	slots, err := a.cal.Taken(ctx, court)
    	if err != nil {{
    		slog.Error("lookup", "err", err)
    		return {}
    	}}
    	return slots
    }}
    func (a *API) taken(c *fiber.Ctx) error {{
    	slots := a.lookup(c.UserContext(), c.Params("court"))
    	return c.JSON(fiber.Map{{"court": c.Params("court"), "taken": slots}})
    }}
    """
_JAVASCRIPT = """
    const app = require('express')();
    async function loadOffers(city) {{
      try {{
        return await supplier.offers(city);
      }} catch (err) {{
        log.warn({{ err }}, 'failed');
        {};
      }}
    }}
    app.get('/offers', async (req, res, next) => {{
      try {{
        const offers = await loadOffers(req.query.city);
        {}
        res.json({{ city: req.query.city, offers{} }});
      }} catch (err) {{ next(err); }}
    }});
    """
_PYTHON = """
    class Stock(stock_pb2_grpc.StockServicer):
        def List(self, request, context):
            try:
                rows = self.db.query(request.site)
            except DatabaseError:
                log.exception("failed")
                {}
            return stock_pb2.ListReply(rows=rows)
    """

CASES: list[Case] = [
    bad(_RULE, "csharp", _CSHARP.format(""), 7),
    good(
        _RULE,
        "csharp",
        _CSHARP.format("throw new RpcException(new Status(StatusCode.Unavailable, string.Empty));"),
    ),
    bad(_RULE, "java", _JAVA.format("reply.setDoses(0);"), 6),
    good(_RULE, "java", _JAVA.format("observer.onError(Status.UNAVAILABLE.asRuntimeException()); return;")),
    good(_RULE, "java", _JAVA.format("reply.setDoses(lastKnown(request)).setStale(true);")),
    bad(_RULE, "go", _GO.format("[]Slot{}"), 6),
    good(_RULE, "go", _GO.format("a.lastKnown(court)")),
    bad(_RULE, "javascript", _JAVASCRIPT.format("return []", "", ""), 5),
    good(_RULE, "javascript", _JAVASCRIPT.format("throw err", "", "")),
    # A part of an answer may be left out on purpose.
    good(
        _RULE,
        "javascript",
        _JAVASCRIPT.format("return []", "const rooms = await hotel.rooms(req.query.city);", ", rooms"),
    ),
    bad(_RULE, "python", _PYTHON.format("return stock_pb2.ListReply()"), 5),
    good(_RULE, "python", _PYTHON.format('context.abort(grpc.StatusCode.UNAVAILABLE, "down")')),
    bad(
        _RULE,
        "rust",
        """
        impl Stock for Svc {
            async fn list(&self, req: Request<ListRequest>) -> Result<Response<ListReply>, tonic::Status> {
                let rows = match self.repo.rows(&req.into_inner().site).await {
                    Ok(rows) => rows,
                    Err(err) => {
                        tracing::error!(%err, "rows");
                        Vec::new()
                    }
                };
                Ok(Response::new(ListReply { rows }))
            }
        }
        """,
        5,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        class Stock(private val db: StockRepository) : StockGrpcKt.StockCoroutineImplBase() {
            override suspend fun available(request: StockRequest): StockReply {
                val reply = StockReply.newBuilder().setSite(request.site)
                try {
                    reply.doses = db.countDoses(request.site)
                } catch (e: DataAccessException) {
                    log.error("stock", e)
                }
                return reply.build()
            }
        }
        """,
        6,
    ),
]
