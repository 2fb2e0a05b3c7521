"""Answers that say in their words that something failed, with a status of success: C#, Java, Kotlin."""

# ruff: noqa: E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "error-answered-as-success",
        "csharp",
        """
    [ApiController]
    [Route("api/rates")]
    public class RatesController : ControllerBase
    {
        private readonly IRateClient _client;
        private readonly ILogger<RatesController> _log;
        public RatesController(IRateClient client, ILogger<RatesController> log) { _client = client; _log = log; }

        [HttpGet("{currency}")]
        public async Task<ActionResult<RateDto>> Get(string currency, CancellationToken ct)
        {
            try
            {
                var rate = await _client.GetAsync(currency, ct);
                return Ok(new RateDto(currency, rate));
            }
            catch (HttpRequestException ex)
            {
                _log.LogWarning(ex, "rate of {Currency} not available", currency);
                return Ok(new RateDto(currency, 0m) { Message = "not available" });
            }
        }
    }
    """,
        20,
    ),
    bad(
        "error-answered-as-success",
        "csharp",
        """
    [ApiController]
    [Route("api/orders")]
    public class OrdersController : ControllerBase
    {
        private readonly IOrderService _orders;
        private readonly ILogger<OrdersController> _log;
        public OrdersController(IOrderService orders, ILogger<OrdersController> log) { _orders = orders; _log = log; }

        [HttpPost]
        public async Task<OrderResult> Create(OrderRequest request, CancellationToken ct)
        {
            try
            {
                var id = await _orders.CreateAsync(request, ct);
                return new OrderResult { Success = true, Id = id };
            }
            catch (Exception ex)
            {
                _log.LogError(ex, "order failed");
                return new OrderResult { Success = false, Error = ex.Message };
            }
        }
    }
    """,
        20,
    ),
    bad(
        "error-answered-as-success",
        "csharp",
        """
    var app = builder.Build();
    app.MapGet("/stock/{sku}", async (string sku, StockClient stock, ILogger<Program> log, CancellationToken ct) =>
    {
        try
        {
            return Results.Ok(await stock.LevelAsync(sku, ct));
        }
        catch (HttpRequestException ex)
        {
            log.LogError(ex, "stock of {Sku}", sku);
            return Results.Ok(new { error = "stock service unavailable" });
        }
    });
    app.Run();
    """,
        11,
    ),
    good(
        "error-answered-as-success",
        "csharp",
        """
    [ApiController]
    public class RatesController : ControllerBase
    {
        [HttpGet("{currency}")]
        public async Task<ActionResult<RateDto>> Get(string currency, CancellationToken ct)
        {
            try
            {
                var rate = await _client.GetAsync(currency, ct);
                _last[currency] = rate;
                return Ok(new RateDto(currency, rate));
            }
            catch (HttpRequestException ex) when (_last.TryGetValue(currency, out var last))
            {
                _log.LogWarning(ex, "rate of {Currency} not available", currency);
                return Ok(new RateDto(currency, last));
            }
        }
    }
    """,
    ),
    bad(
        "error-answered-as-success",
        "csharp",
        """
    public sealed class ErrorMiddleware
    {
        private readonly RequestDelegate _next;
        private readonly ILogger<ErrorMiddleware> _log;
        public ErrorMiddleware(RequestDelegate next, ILogger<ErrorMiddleware> log) { _next = next; _log = log; }
        public async Task InvokeAsync(HttpContext context)
        {
            try
            {
                await _next(context);
            }
            catch (Exception ex)
            {
                _log.LogError(ex, "unhandled");
                await context.Response.WriteAsJsonAsync(new { error = "internal error" });
            }
        }
    }
    """,
        15,
    ),
    good(
        "error-answered-as-success",
        "csharp",
        """
    public sealed class ErrorMiddleware
    {
        public async Task InvokeAsync(HttpContext context)
        {
            try
            {
                await _next(context);
            }
            catch (Exception ex)
            {
                _log.LogError(ex, "unhandled");
                context.Response.StatusCode = 500;
                await context.Response.WriteAsJsonAsync(new { error = "internal error" });
            }
        }
    }
    """,
    ),
    bad(
        "error-answered-as-success",
        "java",
        """
    @RestController
    public class QuoteController {
        private static final Logger log = LoggerFactory.getLogger(QuoteController.class);
        private final QuoteService quotes;
        public QuoteController(QuoteService quotes) { this.quotes = quotes; }
        @GetMapping("/quotes/{id}")
        public QuoteResponse quote(@PathVariable String id) {
            try {
                return QuoteResponse.of(quotes.find(id));
            } catch (Exception e) {
                log.error("quote {} failed", id, e);
                return QuoteResponse.failed("quote service unavailable");
            }
        }
    }
    """,
        12,
    ),
    bad(
        "error-answered-as-success",
        "java",
        """
    @RestController
    public class ShippingController {
        private static final Logger log = LoggerFactory.getLogger(ShippingController.class);
        private final CarrierClient carrier;
        public record LabelResponse(String labelId, String error) {}
        public ShippingController(CarrierClient carrier) { this.carrier = carrier; }
        @PostMapping("/labels")
        public LabelResponse create(@RequestBody LabelRequest request) {
            try {
                return new LabelResponse(carrier.createLabel(request), null);
            } catch (CarrierException e) {
                log.error("label for {} failed", request.orderId(), e);
                return new LabelResponse(null, "carrier unavailable");
            }
        }
    }
    """,
        13,
    ),
    bad(
        "error-answered-as-success",
        "java",
        """
    @RestController
    public class ShippingController {
        private static final Logger log = LoggerFactory.getLogger(ShippingController.class);
        private final CarrierClient carrier;
        public record LabelResponse(String labelId, String problem) {}
        public ShippingController(CarrierClient carrier) { this.carrier = carrier; }
        @PostMapping("/labels")
        public ResponseEntity<LabelResponse> create(@RequestBody LabelRequest request) {
            try {
                return ResponseEntity.ok(new LabelResponse(carrier.createLabel(request), null));
            } catch (CarrierException e) {
                log.error("label for {} failed", request.orderId(), e);
                return ResponseEntity.ok(new LabelResponse(null, "carrier unavailable"));
            }
        }
    }
    """,
        13,
    ),
    bad(
        "error-answered-as-success",
        "java",
        """
    @Path("/invoices")
    public class InvoiceResource {
        private static final Logger LOG = LoggerFactory.getLogger(InvoiceResource.class);
        @Inject InvoiceService invoices;
        @GET
        @Path("/{id}")
        public Response get(@PathParam("id") String id) {
            try {
                return Response.ok(invoices.load(id)).build();
            } catch (InvoiceException e) {
                LOG.error("invoice {}", id, e);
                return Response.ok(Map.of("message", "could not load invoice")).build();
            }
        }
    }
    """,
        12,
    ),
    bad(
        "error-answered-as-success",
        "java",
        """
    @RestControllerAdvice
    public class ApiErrors {
        private static final Logger log = LoggerFactory.getLogger(ApiErrors.class);
        @ExceptionHandler(Exception.class)
        public ApiResponse<Void> unexpected(Exception e) {
            log.error("unexpected", e);
            return ApiResponse.failure("INTERNAL", "internal error");
        }
    }
    """,
        7,
    ),
    good(
        "error-answered-as-success",
        "java",
        """
    @RestControllerAdvice
    public class ApiErrors {
        private static final Logger log = LoggerFactory.getLogger(ApiErrors.class);
        @ExceptionHandler(Exception.class)
        @ResponseStatus(HttpStatus.INTERNAL_SERVER_ERROR)
        public ApiResponse<Void> unexpected(Exception e) {
            log.error("unexpected", e);
            return ApiResponse.failure("INTERNAL", "internal error");
        }
    }
    """,
    ),
    bad(
        "error-answered-as-success",
        "kotlin",
        """
    fun Route.quoteRoutes(quotes: QuoteClient) {
        get("/quotes/{id}") {
            val id = call.parameters["id"] ?: return@get call.respond(HttpStatusCode.BadRequest)
            try {
                call.respond(quotes.load(id))
            } catch (e: Exception) {
                log.error("quote $id failed", e)
                call.respond(QuoteAnswer(id, null, "quote service unavailable"))
            }
        }
    }
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "kotlin",
        """
    fun Application.quoteModule(quotes: QuoteClient) {
        routing {
            post("/quotes") {
                val request = call.receive<QuoteRequest>()
                val result = runCatching { quotes.price(request) }
                result.onSuccess { call.respond(it) }
                    .onFailure {
                        log.error("pricing failed", it)
                        call.respond(mapOf("error" to "pricing failed"))
                    }
            }
        }
    }
    """,
        9,
    ),
    bad(
        "error-answered-as-success",
        "kotlin",
        """
    @RestController
    class BookingController(private val bookings: BookingService) {
        private val log = LoggerFactory.getLogger(javaClass)

        @PostMapping("/bookings")
        fun book(@RequestBody request: BookingRequest): BookingResponse =
            try {
                BookingResponse(bookings.book(request).id, null)
            } catch (e: BookingException) {
                log.error("booking failed", e)
                BookingResponse(null, "booking failed")
            }
    }
    """,
        11,
    ),
    bad(
        "error-answered-as-success",
        "kotlin",
        """
    @RestController
    class BookingController(private val bookings: BookingService) {
        private val log = LoggerFactory.getLogger(javaClass)

        @PostMapping("/bookings")
        fun book(@RequestBody request: BookingRequest): ResponseEntity<BookingResponse> {
            return try {
                ResponseEntity.ok(BookingResponse(bookings.book(request).id, null))
            } catch (e: BookingException) {
                log.error("booking failed", e)
                ResponseEntity.ok(BookingResponse(null, "booking failed"))
            }
        }
    }
    """,
        11,
    ),
    bad(
        "error-answered-as-success",
        "kotlin",
        """
    fun Application.configureErrors() {
        install(StatusPages) {
            exception<Throwable> { call, cause ->
                call.application.log.error("unhandled", cause)
                call.respond(ErrorBody("internal error"))
            }
        }
    }
    """,
        5,
    ),
    good(
        "error-answered-as-success",
        "kotlin",
        """
    fun Application.configureErrors() {
        install(StatusPages) {
            exception<Throwable> { call, cause ->
                call.application.log.error("unhandled", cause)
                call.respond(HttpStatusCode.InternalServerError, ErrorBody("internal error"))
            }
        }
    }
    """,
    ),
]
