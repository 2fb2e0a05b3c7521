"""What is proved through helpers, declared types and callers of the same file is shown."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

BY_SLUG = {rule.slug: rule for rule in RULES}
_BLOCKING, _DROPPED = "blocking-call-in-async-code", "task-results-dropped"
_NOT_FOUND, _LOGGED = "failure-answered-as-not-found", "failure-only-logged"
_TAKEN = "failure-taken-for-data"

_CASES = [
    # An executor that only its type tells.
    bad(_DROPPED, "java", """
        import java.util.concurrent.*;
        class Mailing {
            private final ExecutorService senders = Executors.newFixedThreadPool(4);
            void send(List<Callable<Void>> letters) throws InterruptedException {
                senders.invokeAll(letters);
                store.markSent(letters);
            }
        }
    """, 5),
    good(_DROPPED, "java", """
        import java.util.concurrent.*;
        class Mailing {
            private final ExecutorService senders = Executors.newFixedThreadPool(4);
            void send(List<Callable<Void>> letters) throws Exception {
                for (Future<Void> each : senders.invokeAll(letters)) {
                    each.get();
                }
                store.markSent(letters);
            }
        }
    """),
    good(_DROPPED, "java", """
        class Mailing {
            private final HookRegistry hookPool;
            void send(List<Letter> letters) {
                hookPool.invokeAll(letters);
            }
        }
    """),
    # A helper reads the whole file, part by part.
    bad(_BLOCKING, "python", """
        from pathlib import Path
        import zlib
        def _sum(path: Path) -> int:
            value = 0
            with path.open("rb") as film:
                while part := film.read(65536):
                    value = zlib.crc32(part, value)
            return value
        async def publish(store, path: Path) -> None:
            await store.put(path.name, _sum(path))
    """, 10),
    good(_BLOCKING, "python", """
        import asyncio
        from pathlib import Path
        import zlib
        def _sum(path: Path) -> int:
            value = 0
            with path.open("rb") as film:
                while part := film.read(65536):
                    value = zlib.crc32(part, value)
            return value
        async def publish(store, path: Path) -> None:
            await store.put(path.name, await asyncio.to_thread(_sum, path))
    """),
    # The first bytes only.
    good(_BLOCKING, "python", """
        from pathlib import Path
        def _kind(path: Path) -> bytes:
            with path.open("rb") as film:
                return film.read(4)
        async def publish(store, path: Path) -> None:
            await store.put(path.name, _kind(path))
    """),
    # A lookup that reports every failure as a missing thing.
    bad(_NOT_FOUND, "go", """
        package shelf
        import ("context"; "database/sql"; "errors")
        var ErrBookNotFound = errors.New("no such book")
        func (s *Shelf) Title(ctx context.Context, id string) (string, error) {
        	var title string
        	row := s.db.QueryRowContext(ctx, "SELECT title FROM book WHERE id = $1", id)
        	if err := row.Scan(&title); err != nil {
        		return "", ErrBookNotFound
        	}
        	return title, nil
        }
    """, 7),
    good(_NOT_FOUND, "go", """
        package shelf
        import ("context"; "database/sql"; "errors")
        var ErrBookNotFound = errors.New("no such book")
        func (s *Shelf) Title(ctx context.Context, id string) (string, error) {
        	var title string
        	err := s.db.QueryRowContext(ctx, "SELECT title FROM book WHERE id = $1", id).Scan(&title)
        	if errors.Is(err, sql.ErrNoRows) {
        		return "", ErrBookNotFound
        	}
        	if err != nil {
        		return "", err
        	}
        	return title, nil
        }
    """),
    bad(_NOT_FOUND, "python", """
        import httpx
        class Shelf:
            def title(self, id):
                try:
                    return httpx.get(f"{self.url}/books/{id}", timeout=5).json()["title"]
                except Exception:
                    raise BookNotFoundError(id)
    """, 6),
    good(_NOT_FOUND, "python", """
        import httpx
        class Shelf:
            def title(self, id):
                try:
                    return httpx.get(f"{self.url}/books/{id}", timeout=5).json()["title"]
                except KeyError:
                    raise BookNotFoundError(id)
    """),
    bad(_NOT_FOUND, "java", """
        class Shelf {
            private final JdbcTemplate jdbc;
            String title(String id) {
                try {
                    return jdbc.queryForObject("SELECT title FROM book WHERE id = ?", String.class, id);
                } catch (DataAccessException e) {
                    throw new BookNotFoundException(id);
                }
            }
        }
    """, 6),
    good(_NOT_FOUND, "java", """
        class Shelf {
            private final JdbcTemplate jdbc;
            String title(String id) {
                try {
                    return jdbc.queryForObject("SELECT title FROM book WHERE id = ?", String.class, id);
                } catch (EmptyResultDataAccessException e) {
                    throw new BookNotFoundException(id);
                }
            }
        }
    """),
    bad(_NOT_FOUND, "typescript", """
        class Shelf {
          async title(id: string): Promise<string> {
            try {
              const res = await axios.get(`${this.url}/books/${id}`, { timeout: 5000 });
              return res.data.title;
            } catch {
              throw new BookNotFoundError(id);
            }
          }
        }
    """, 6),
    # A request is answered with success after its transaction was rolled back.
    bad(_LOGGED, "python", """
        from fastapi import APIRouter, Depends, Response
        from sqlalchemy.exc import SQLAlchemyError
        router = APIRouter()
        @router.post("/visits")
        async def visit(body: Visit, db: AsyncSession = Depends(session)) -> Response:
            try:
                await db.execute(INSERT, body.model_dump())
                await db.commit()
            except SQLAlchemyError:
                await db.rollback()
                log.exception("visit not stored")
            return Response(status_code=204)
    """, 9),
    good(_LOGGED, "python", """
        from fastapi import APIRouter, Depends, Response
        from sqlalchemy.exc import SQLAlchemyError
        router = APIRouter()
        @router.post("/visits")
        async def visit(body: Visit, db: AsyncSession = Depends(session)) -> Response:
            try:
                await db.execute(INSERT, body.model_dump())
                await db.commit()
            except SQLAlchemyError:
                await db.rollback()
                log.exception("visit not stored")
                return Response(status_code=503)
            return Response(status_code=204)
    """),
    bad(_LOGGED, "javascript", """
        app.post('/visits', async (req, res) => {
          try {
            await db.query('BEGIN');
            await db.query('INSERT INTO visit (place) VALUES ($1)', [req.body.place]);
            await db.commit();
          } catch (error) {
            await db.rollback();
            logger.error({ error }, 'visit not stored');
          }
          res.status(204).end();
        });
    """, 6),
    # A missing hit of a failed check, after which a caller approves.
    bad(_TAKEN, "typescript", """
        class Lists {
          async hit(name: string): Promise<Hit | null> {
            try {
              const res = await this.http.get(`/lists?name=${name}`);
              return res.data[0] ?? null;
            } catch (error) {
              this.log.error({ error }, 'lists not asked');
              return null;
            }
          }
        }
        class Desk {
          constructor(private readonly lists: Lists, private readonly guests: Guests) {}
          async admit(guest: Guest) {
            const found = await this.lists.hit(guest.name);
            if (found && found.score > 0.9) {
              return 'held';
            }
            await this.guests.setState(guest.id, 'approved');
            return 'approved';
          }
        }
    """, 8),
    # The caller holds what could not be checked.
    good(_TAKEN, "typescript", """
        class Lists {
          async hit(name: string): Promise<Hit | null> {
            try {
              const res = await this.http.get(`/lists?name=${name}`);
              return res.data[0] ?? NONE;
            } catch (error) {
              this.log.error({ error }, 'lists not asked');
              return null;
            }
          }
        }
        class Desk {
          constructor(private readonly lists: Lists, private readonly guests: Guests) {}
          async admit(guest: Guest) {
            const found = await this.lists.hit(guest.name);
            if (found === null) {
              return 'held';
            }
            if (found && found.score > 0.9) {
              return 'held';
            }
            await this.guests.setState(guest.id, 'approved');
            return 'approved';
          }
        }
    """),
    bad(_TAKEN, "python", """
        class Desk:
            def _hit(self, name):
                try:
                    return self.lists.search(name)
                except Exception:
                    log.exception("lists not asked")
                    return None
            def admit(self, guest):
                found = self._hit(guest.name)
                if found is not None:
                    raise Held(guest)
                self.guests.approve(guest.id)
    """, 7),
    # A value that is there is the answer itself.
    good(_TAKEN, "python", """
        class Desk:
            def _seat(self, name):
                try:
                    return self.plan.search(name)
                except Exception:
                    log.exception("plan not asked")
                    return None
            def seat(self, guest):
                found = self._seat(guest.name)
                if found is not None:
                    return found
                return self.guests.accept(guest.id)
    """),
    # A statement changes all rows but those of the answer.
    bad(_TAKEN, "typescript", """
        class Register {
          async doors(): Promise<Door[]> {
            try {
              return (await this.http.get('/doors')).data;
            } catch (error) {
              this.log.warn({ error }, 'no doors');
              return [];
            }
          }
        }
        class Sync {
          constructor(private readonly register: Register, private readonly pool: Pool) {}
          async run() {
            const doors = await this.register.doors();
            await this.pool.query('DELETE FROM door WHERE id <> ALL($1)', [doors.map((each) => each.id)]);
          }
        }
    """, 7),
    good(_TAKEN, "typescript", """
        class Register {
          async doors(): Promise<Door[]> {
            try {
              return (await this.http.get('/doors')).data;
            } catch (error) {
              this.log.warn({ error }, 'no doors');
              return [];
            }
          }
        }
        class Sync {
          constructor(private readonly register: Register, private readonly pool: Pool) {}
          async run() {
            const doors = await this.register.doors();
            if (doors.length === 0) {
              return;
            }
            await this.pool.query('DELETE FROM door WHERE id <> ALL($1)', [doors.map((each) => each.id)]);
          }
        }
    """),
    good(_TAKEN, "typescript", """
        class Register {
          async doors(): Promise<Door[]> {
            try {
              return (await this.http.get('/doors')).data;
            } catch (error) {
              this.log.warn({ error }, 'no doors');
              return [];
            }
          }
        }
        class Sync {
          constructor(private readonly register: Register, private readonly pool: Pool) {}
          async run() {
            const doors = await this.register.doors();
            await this.pool.query('UPDATE door SET seen = 1 WHERE id = ANY($1)', [doors.map((d) => d.id)]);
          }
        }
    """),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_what_the_file_proves_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
