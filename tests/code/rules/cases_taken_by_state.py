"""Rows that are asked for by their state and then taken, and sizes with a limit of another thing."""

# ruff: noqa: E101, E501  (snippets of Go; lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_TAKEN = "checked-then-inserted"
_SIZE = "unbounded-page-size"

CASES = [
    bad(
        _TAKEN,
        "python",
        """
        def hold(conn, seat, buyer):
            with conn.cursor() as cur:
                cur.execute("SELECT id FROM seats WHERE label = %s AND state = 'free'", (seat,))
                row = cur.fetchone()
                if row is None:
                    raise SeatTaken(seat)
                cur.execute("UPDATE seats SET state = 'held', buyer = %s WHERE id = %s", (buyer, row[0]))
            conn.commit()
        """,
        3,
    ),
    bad(
        _TAKEN,
        "typescript",
        """
        export async function claim(pool: Pool, code: string, user: string) {
          const { rows } = await pool.query("SELECT id FROM coupons WHERE code = $1 AND redeemed_by IS NULL", [code]);
          if (rows.length === 0) throw new Error('coupon used');
          await pool.query("UPDATE coupons SET redeemed_by = $1, redeemed_at = now() " + "WHERE id = $2", [user, rows[0].id]);
        }
        """,
        2,
    ),
    bad(
        _TAKEN,
        "go",
        """
        package p

        import (
        	"context"
        	"database/sql"
        	"errors"
        )

        func (s *Store) Assign(ctx context.Context, driver, ride string) error {
        	var id string
        	err := s.db.QueryRowContext(ctx, `SELECT id FROM rides WHERE id = $1 AND status = 'open'`, ride).Scan(&id)
        	if errors.Is(err, sql.ErrNoRows) {
        		return ErrTaken
        	}
        	if err != nil {
        		return err
        	}
        	_, err = s.db.ExecContext(ctx, `UPDATE rides SET status = 'assigned', driver = $1 WHERE id = $2`, driver, id)
        	return err
        }
        """,
        11,
    ),
    bad(
        _TAKEN,
        "rust",
        """
        pub async fn assign(pool: &PgPool, ride: i64, driver: i64) -> Result<(), AssignError> {
            let open = sqlx::query_scalar::<_, i64>("SELECT id FROM rides WHERE id = $1 AND status = 'open'")
                .bind(ride)
                .fetch_optional(pool)
                .await?;
            if open.is_none() {
                return Err(AssignError::Taken);
            }
            sqlx::query("UPDATE rides SET status = 'assigned', driver = $1 WHERE id = $2")
                .bind(driver)
                .bind(ride)
                .execute(pool)
                .await?;
            Ok(())
        }
        """,
        2,
    ),
    bad(
        _TAKEN,
        "csharp",
        """
        public class Slots
        {
            public async Task BookAsync(IDbConnection db, int slot, int patient)
            {
                var free = await db.ExecuteScalarAsync<int>("SELECT COUNT(1) FROM Slots WHERE Id = @slot AND Booked = 0", new { slot });
                if (free == 0) throw new SlotTakenException(slot);
                await db.ExecuteAsync("UPDATE Slots SET Booked = 1, PatientId = @patient WHERE Id = @slot", new { slot, patient });
            }
        }
        """,
        5,
    ),
    bad(
        _TAKEN,
        "kotlin",
        """
        class Slots(private val jdbc: JdbcTemplate) {
            fun book(slot: Long, patient: Long) {
                val free = jdbc.queryForList("SELECT id FROM slot WHERE id = ? AND booked = false", Long::class.java, slot)
                if (free.isEmpty()) throw SlotTaken(slot)
                jdbc.update("UPDATE slot SET booked = true, patient = ? WHERE id = ?", patient, slot)
            }
        }
        """,
        3,
    ),
    bad(
        _TAKEN,
        "java",
        """
        class Slots {
            void book(Connection c, long slot, long patient) throws SQLException {
                try (PreparedStatement ps = c.prepareStatement("SELECT id FROM slot WHERE id = ? AND booked = 0")) {
                    ps.setLong(1, slot);
                    try (ResultSet rs = ps.executeQuery()) {
                        if (!rs.next()) {
                            throw new SlotTaken(slot);
                        }
                    }
                }
                try (PreparedStatement ps = c.prepareStatement("UPDATE slot SET booked = 1, patient = ? WHERE id = ?")) {
                    ps.setLong(1, patient);
                    ps.setLong(2, slot);
                    ps.executeUpdate();
                }
            }
        }
        """,
        3,
    ),
    good(
        _TAKEN,
        "python",
        """
        def rename(conn, user_id, email):
            with conn.cursor() as cur:
                cur.execute("SELECT id FROM users WHERE email = %s", (email,))
                if cur.fetchone() is not None:
                    raise EmailTaken(email)
                cur.execute("UPDATE users SET email = %s WHERE id = %s", (email, user_id))
            conn.commit()
        """,
    ),
    good(
        _TAKEN,
        "python",
        """
        def close(conn, order_id):
            with conn.cursor() as cur:
                cur.execute("SELECT id FROM orders WHERE id = %s AND status = 'open'", (order_id,))
                row = cur.fetchone()
                if row is None:
                    raise NotOpen(order_id)
                cur.execute("UPDATE orders SET status = 'closed' WHERE id = %s AND status = 'open'", (order_id,))
                if cur.rowcount == 0:
                    raise NotOpen(order_id)
            conn.commit()
        """,
    ),
    bad(
        _SIZE,
        "python",
        """
        from fastapi import FastAPI, Query
        app = FastAPI()

        @app.get("/documents")
        async def search(q: str = Query(max_length=100), days: int = Query(7, le=90), size: int = 50):
            return await db.fetch("SELECT * FROM document WHERE q = $1 LIMIT $2", q, size)

        @app.get("/documents2")
        async def search2(q: str = Query(max_length=100), size: int = Query(50, le=200)):
            return await db.fetch("SELECT * FROM document WHERE q = $1 LIMIT $2", q, size)
        """,
        5,
    ),
    bad(
        _SIZE,
        "typescript",
        """
        app.get('/documents', async (req, res) => {
          const term = String(req.query.q ?? '');
          if (term.length > MAX_TERM) return res.status(400).end();
          const limit = Number(req.query.limit ?? 50);
          const { rows } = await pool.query('SELECT * FROM document WHERE t = $1 LIMIT $2', [term, limit]);
          res.json(rows);
        });
        app.get('/documents2', async (req, res) => {
          const term = String(req.query.q ?? '');
          if (term.length > MAX_TERM) return res.status(400).end();
          const asked = Number(req.query.limit ?? 50);
          const n = asked > MAX_PAGE ? MAX_PAGE : asked;
          const { rows } = await pool.query('SELECT * FROM document WHERE t = $1 LIMIT $2', [term, n]);
          res.json(rows);
        });
        """,
        4,
    ),
    bad(
        _SIZE,
        "go",
        """
        package p

        func (h *Handler) Search(w http.ResponseWriter, r *http.Request) {
        	term := r.URL.Query().Get("q")
        	if len(term) > maxTerm {
        		http.Error(w, "too long", http.StatusBadRequest)
        		return
        	}
        	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
        	if err != nil || limit < 1 {
        		http.Error(w, "bad limit", http.StatusBadRequest)
        		return
        	}
        	rows, err := h.db.QueryContext(r.Context(), "SELECT id FROM document WHERE t = $1 LIMIT $2", term, limit)
        	_ = rows
        }
        func (h *Handler) Search2(w http.ResponseWriter, r *http.Request) {
        	term := r.URL.Query().Get("q")
        	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
        	if err != nil || limit < 1 || limit > maxLimit {
        		http.Error(w, "bad limit", http.StatusBadRequest)
        		return
        	}
        	rows, err := h.db.QueryContext(r.Context(), "SELECT id FROM document WHERE t = $1 LIMIT $2", term, limit)
        	_ = rows
        }
        """,
        9,
    ),
    bad(
        _SIZE,
        "csharp",
        """
        [ApiController]
        public class Docs : ControllerBase
        {
            [HttpGet("documents")]
            public async Task<IActionResult> Search(string q, [Range(1, 90)] int days, int pageSize = 50)
            {
                if (q.Length > MaxTerm || pageSize < 1) return BadRequest();
                return Ok(await _db.Documents.Where(d => d.Text.Contains(q)).Take(pageSize).ToListAsync());
            }
            [HttpGet("documents2")]
            public async Task<IActionResult> Search2(string q, [Range(1, 90)] int pageSize = 50)
            {
                return Ok(await _db.Documents.Where(d => d.Text.Contains(q)).Take(pageSize).ToListAsync());
            }
        }
        """,
        5,
    ),
    bad(
        _SIZE,
        "kotlin",
        """
        @RestController
        class Docs(private val repo: DocRepository) {
            @GetMapping("/documents")
            fun search(@RequestParam q: String, @RequestParam(defaultValue = "50") size: Int): List<Hit> {
                require(q.length <= MAX_TERM) { "too long" }
                require(size > 0) { "size" }
                return repo.search(q, PageRequest.of(0, size))
            }
        }
        """,
        4,
    ),
]
