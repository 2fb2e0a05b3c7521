"""Answers that say in their words that something failed: Rust, Go, Python."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "error-answered-as-success",
        "rust",
        """
    use axum::{extract::State, Json};
    pub async fn quote(State(state): State<AppState>, Json(req): Json<QuoteRequest>) -> Json<QuoteAnswer> {
        match state.pricing.price(&req).await {
            Ok(price) => Json(QuoteAnswer { price: Some(price), message: None }),
            Err(err) => {
                tracing::error!(%err, "pricing failed");
                Json(QuoteAnswer { price: None, message: Some("pricing failed".into()) })
            }
        }
    }
    """,
        7,
    ),
    bad(
        "error-answered-as-success",
        "rust",
        """
    use axum::{response::IntoResponse, http::StatusCode, Json};
    pub async fn quote(State(state): State<AppState>, Json(req): Json<QuoteRequest>) -> impl IntoResponse {
        match state.pricing.price(&req).await {
            Ok(price) => (StatusCode::OK, Json(json!({ "price": price }))),
            Err(err) => {
                tracing::error!(%err, "pricing failed");
                (StatusCode::OK, Json(json!({ "message": "pricing failed" })))
            }
        }
    }
    """,
        7,
        7,
    ),
    bad(
        "error-answered-as-success",
        "rust",
        """
    use actix_web::{get, web, HttpResponse, Responder};
    #[get("/stock/{sku}")]
    pub async fn stock(sku: web::Path<String>, client: web::Data<StockClient>) -> impl Responder {
        match client.level(&sku).await {
            Ok(level) => HttpResponse::Ok().json(StockAnswer { level: Some(level), problem: None }),
            Err(e) => {
                log::error!("stock of {sku}: {e}");
                HttpResponse::Ok().json(StockAnswer { level: None, problem: Some("stock unavailable".to_string()) })
            }
        }
    }
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "rust",
        """
    use axum::{response::{IntoResponse, Response}, Json};
    pub enum ApiError { NotFound, Upstream(reqwest::Error) }
    impl IntoResponse for ApiError {
        fn into_response(self) -> Response {
            let message = match &self {
                ApiError::NotFound => "not found",
                ApiError::Upstream(_) => "upstream failed",
            };
            Json(serde_json::json!({ "error": message })).into_response()
        }
    }
    """,
        9,
    ),
    good(
        "error-answered-as-success",
        "rust",
        """
    use axum::{response::{IntoResponse, Response}, Json};
    pub enum ApiError { NotFound, Upstream(reqwest::Error) }
    impl IntoResponse for ApiError {
        fn into_response(self) -> Response {
            let (status, message) = match &self {
                ApiError::NotFound => (StatusCode::NOT_FOUND, "not found"),
                ApiError::Upstream(_) => (StatusCode::BAD_GATEWAY, "upstream failed"),
            };
            (status, Json(serde_json::json!({ "error": message }))).into_response()
        }
    }
    """,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
    package api

    import "github.com/gin-gonic/gin"

    func (h *Handler) Quote(c *gin.Context) {
    	price, err := h.pricing.Price(c.Request.Context(), c.Param("id"))
    	if err != nil {
    		h.log.Error("pricing failed", "err", err)
    		c.JSON(http.StatusOK, gin.H{"message": "pricing failed"})
    		return
    	}
    	c.JSON(http.StatusOK, gin.H{"price": price})
    }
    """,
        9,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
    package api

    import (
    	"encoding/json"
    	"net/http"
    )

    type answer struct {
    	Price int    `json:"price"`
    	Error string `json:"error,omitempty"`
    }

    func (h *Handler) Quote(w http.ResponseWriter, r *http.Request) {
    	w.Header().Set("Content-Type", "application/json")
    	price, err := h.pricing.Price(r.Context(), r.PathValue("id"))
    	if err != nil {
    		h.log.Error("pricing failed", "err", err)
    		json.NewEncoder(w).Encode(answer{Error: "pricing failed"})
    		return
    	}
    	json.NewEncoder(w).Encode(answer{Price: price})
    }
    """,
        18,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
    package api

    import (
    	"encoding/json"
    	"net/http"
    )

    func (h *Handler) Quote(w http.ResponseWriter, r *http.Request) {
    	price, err := h.pricing.Price(r.Context(), r.PathValue("id"))
    	if err != nil {
    		h.log.Error("pricing failed", "err", err)
    		writeJSON(w, http.StatusOK, quoteResponse{Status: "failed"})
    		return
    	}
    	writeJSON(w, http.StatusOK, quoteResponse{Status: "ok", Price: price})
    }
    """,
        12,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
    package api

    import "github.com/labstack/echo/v4"

    func (h *Handler) Quote(c echo.Context) error {
    	price, err := h.pricing.Price(c.Request().Context(), c.Param("id"))
    	if err != nil {
    		h.log.Error("pricing failed", "err", err)
    		return c.JSON(http.StatusOK, quoteResponse{Error: err.Error()})
    	}
    	return c.JSON(http.StatusOK, quoteResponse{Price: price})
    }
    """,
        9,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
    package api

    import "github.com/gofiber/fiber/v2"

    func (h *Handler) Quote(c *fiber.Ctx) error {
    	price, err := h.pricing.Price(c.UserContext(), c.Params("id"))
    	if err != nil {
    		h.log.Error("pricing failed", "err", err)
    		return c.JSON(fiber.Map{"message": "pricing failed"})
    	}
    	return c.JSON(fiber.Map{"price": price})
    }
    """,
        9,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
    from fastapi import APIRouter
    router = APIRouter()

    class Quote(BaseModel):
        price: float | None = None
        detail: str = ""

    @router.get("/quotes/{quote_id}")
    async def quote(quote_id: str, pricing: Pricing = Depends(get_pricing)) -> Quote:
        try:
            price = await pricing.price(quote_id)
        except PricingError:
            log.exception("pricing of %s failed", quote_id)
            return Quote(detail="pricing failed")
        return Quote(price=price)
    """,
        14,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
    from fastapi import APIRouter
    router = APIRouter()

    @router.post("/import")
    async def start(req: ImportRequest):
        try:
            job = await jobs.create(req)
        except JobError as exc:
            log.exception("import failed")
            return {"ok": False, "message": str(exc)}
        return {"ok": True, "id": job.id}
    """,
        10,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
    from flask import Blueprint, jsonify
    bp = Blueprint("x", __name__)

    @bp.route("/stock/<sku>")
    def stock(sku):
        try:
            level = warehouse.level(sku)
        except WarehouseError:
            current_app.logger.exception("stock of %s", sku)
            return jsonify(message="warehouse unavailable")
        return jsonify(level=level)
    """,
        10,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
    from rest_framework.views import APIView
    from rest_framework.response import Response

    class RefundView(APIView):
        def post(self, request, pk):
            try:
                refund = gateway.refund(pk, request.data["amount"])
            except GatewayError as exc:
                logger.exception("refund of %s failed", pk)
                return Response({"detail": str(exc)})
            return Response({"id": refund.id})
    """,
        10,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
    from aiohttp import web

    async def refund(request: web.Request) -> web.Response:
        try:
            done = await gateway.refund(request.match_info["id"])
        except GatewayError:
            log.exception("refund failed")
            return web.json_response({"status": "error"})
        return web.json_response({"status": "ok", "id": done.id})

    def setup(app):
        app.router.add_post("/refunds/{id}", refund)
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse
    app = FastAPI()

    @app.exception_handler(Exception)
    async def unexpected(request: Request, exc: Exception) -> JSONResponse:
        log.exception("unexpected")
        return JSONResponse({"detail": "internal error"})
    """,
        8,
    ),
    good(
        "error-answered-as-success",
        "python",
        """
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse
    app = FastAPI()

    @app.exception_handler(Exception)
    async def unexpected(request: Request, exc: Exception) -> JSONResponse:
        log.exception("unexpected")
        return JSONResponse({"detail": "internal error"}, status_code=500)
    """,
    ),
    bad(
        "error-answered-as-success",
        "python",
        """
    from litestar import get
    @get("/quotes/{quote_id:str}")
    async def quote(quote_id: str, pricing: Pricing) -> dict:
        try:
            return {"price": await pricing.price(quote_id)}
        except PricingError as exc:
            log.exception("pricing failed")
            return {"error": str(exc)}
    """,
        8,
    ),
]
