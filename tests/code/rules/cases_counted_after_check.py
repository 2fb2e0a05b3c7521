"""Numbers of a table that are compared and then changed."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "checked-then-inserted"

CASES = [
    bad(
        _RULE,
        "go",
        """
        package a
        import ("context"; "database/sql")
        type Seats struct{ db *sql.DB }
        func (s *Seats) Take(ctx context.Context, show int64) (bool, error) {
            var free int
            err := s.db.QueryRowContext(ctx, "SELECT free FROM shows WHERE id = $1", show).Scan(&free)
            if err != nil {
                return false, err
            }
            if free < 1 {
                return false, nil
            }
            _, err = s.db.ExecContext(ctx, "UPDATE shows SET free = free - 1 WHERE id = $1", show)
            return err == nil, err
        }
        """,
        6,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import ("context"; "database/sql")
        type Seats struct{ db *sql.DB }
        func (s *Seats) Touch(ctx context.Context, show int64) error {
            var views int
            err := s.db.QueryRowContext(ctx, "SELECT views FROM shows WHERE id = $1", show).Scan(&views)
            if err == sql.ErrNoRows {
                return ErrUnknown
            }
            if err != nil {
                return err
            }
            _, err = s.db.ExecContext(ctx, "UPDATE shows SET views = views + 1 WHERE id = $1", show)
            return err
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        def reserve(conn, sku: str, n: int) -> bool:
            row = conn.execute("SELECT stock FROM items WHERE sku = %s", (sku,)).fetchone()
            if row is None or row[0] < n:
                return False
            conn.execute("UPDATE items SET stock = stock - %s WHERE sku = %s", (n, sku))
            conn.commit()
            return True
        """,
        2,
    ),
    bad(
        _RULE,
        "python",
        """
        def reserve(conn, sku: str) -> bool:
            row = conn.execute("SELECT stock FROM items WHERE sku = %s", (sku,)).fetchone()
            if row[0] < 1:
                return False
            conn.execute("UPDATE items SET stock = stock - 1 WHERE sku = %s", (sku,))
            return True

        def spend(conn, card: str) -> bool:
            row = conn.execute("SELECT points FROM cards WHERE id = %s", (card,)).fetchone()
            if row[0] < 1:
                return False
            conn.execute("UPDATE cards SET points = points - 1 WHERE id = %s", (card,))
            return True
        """,
        2,
        9,
    ),
]
