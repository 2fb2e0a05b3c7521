"""Connections, transactions, permits, leases and cached entries that one way does not give back."""

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

BY_SLUG = {rule.slug: rule for rule in RULES}
_RELEASED = "released-on-success-only"
_LOCK = "lock-not-released"
_CONNECTION = "connection-not-closed"
_CACHE = "unbounded-cache"
_CLAIM = "checked-then-inserted"

_BOOK = """
package rooms

func (s *Rooms) Book(ctx context.Context, room int64) %s {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback()
		}%s
	}()
	%s
	if err = tx.Commit(); err != nil {
		return err
	}
	return nil
}
"""
_SHADOWED = "if err := s.take(ctx, tx, room); err != nil {\n\t\treturn err\n\t}"
_SET = "if err = s.take(ctx, tx, room); err != nil {\n\t\treturn err\n\t}"
_UNDONE = _SHADOWED.replace("return", "_ = tx.Rollback()\n\t\treturn")
_UNSET = "if s.isFull(room) {\n\t\treturn ErrFull\n\t}"

_PRINTS = """
class Printer {
    private final Semaphore trays = new Semaphore(4);

    void run(List<Page> pages) throws InterruptedException {
        for (Page page : pages) {
            %s
            try {
                executor.execute(() -> print(page));
            } catch (RejectedExecutionException e) {
                trays.release();
                return;
            }
        }
    }

    private void print(Page page) {
        try {
            device.print(page);
        } finally {
            trays.release();
        }
    }
}
"""

_SHELVES = """
class Shelves(private val dataSource: DataSource) {
    fun clear(%s) =
        dataSource.connection.%s
}
"""

_ID = "id: Long"

_LEASE = """
export async function lease(id: string, owner: string) {
  const desk = await prisma.desk.findUnique({ where: { id } });
  const now = new Date();
  if (desk.owner && desk.owner !== owner && %s) {
    throw new Conflict("desk is taken");
  }
  await prisma.desk.update({ where: { id%s }, data: { owner, leasedUntil: later(now) } });
}
"""

_TARIFFS = """
export class Tariffs {
  private readonly known = new Map<string, Entry>();

  constructor(private readonly client: Client) {}

  async of(%s): Promise<Tariff> {
    const key = `${%s}`;
    const hit = this.known.get(key);
    if (hit) {
      return hit.tariff;
    }
    const tariff = await this.client.load(%s);
    this.known.set(key, %s);
    return tariff;
  }

  forget(key: string) {
    %s
  }
}
"""
_AGED = "{ tariff, freshUntil: Date.now() + 60_000 }"
_ONE = "this.known.delete(key);"
_ALL = "for (const each of this.known.keys()) { this.known.delete(each); }"


def _tariffs(key: str, value: str, forget: str) -> str:
    return _TARIFFS % (f"{key}: string", key, key, value, forget)


_CASES = [
    bad(_RELEASED, "go", _BOOK % ("error", "", _SHADOWED), 4),
    bad(_RELEASED, "go", _BOOK % ("error", "", _UNSET), 4),
    good(_RELEASED, "go", _BOOK % ("error", "", _SET)),
    # A result that has the name is set by each return.
    good(_RELEASED, "go", _BOOK % ("(err error)", "", _SHADOWED)),
    good(_RELEASED, "go", _BOOK % ("(err error)", "", _UNSET)),
    # What is not rolled back is committed.
    good(_RELEASED, "go", _BOOK % ("error", " else {\n\t\t\t_ = tx.Commit()\n\t\t}", _SHADOWED)),
    good(_RELEASED, "go", _BOOK % ("error", "", _UNDONE)),
    bad(_LOCK, "java", _PRINTS % "trays.acquire(); if (page.isEmpty()) { LOG.info(page); continue; }", 6),
    good(_LOCK, "java", _PRINTS % "if (page.isEmpty()) { continue; } trays.acquire();"),
    good(_LOCK, "java", _PRINTS % "trays.acquire(); if (page.isEmpty()) { trays.release(); continue; }"),
    # The other code that gets the page may release it.
    good(_LOCK, "java", _PRINTS % "trays.acquire(); if (page.isEmpty()) { blanks.accept(page); continue; }"),
    # Taken under a condition only.
    good(_LOCK, "java", _PRINTS % "if (page.isBig()) { trays.acquire(); } if (page.isEmpty()) { continue; }"),
    bad(_LOCK, "python", """
        async def run(items):
            for item in items:
                await slots.semaphore.acquire()
                if item.done:
                    continue
                task = asyncio.create_task(send(item))
                task.add_done_callback(lambda _: slots.semaphore.release())
    """, 3),
    good(_LOCK, "python", """
        def run(items):
            for item in items:
                if not lock.acquire(timeout=3):
                    continue
                try:
                    if item.done:
                        continue
                    store(item)
                finally:
                    lock.release()
    """),
    bad(_CONNECTION, "kotlin", _SHELVES % (_ID, 'prepareStatement(CLEAR).use { it.setLong(1, id) }'), 3),
    good(_CONNECTION, "kotlin", _SHELVES % (_ID, 'use { it.prepareStatement(CLEAR).use(::run) }')),
    good(_CONNECTION, "kotlin", _SHELVES % (
        _ID, 'prepareStatement(CLEAR).use { try { it.execute() } finally { it.connection.close() } }'
    )),
    # It may run once.
    good(_CONNECTION, "kotlin", _SHELVES % ("", 'prepareStatement(CLEAR).use { it.execute() }')),
    bad(_CONNECTION, "java", """
        import javax.sql.DataSource;

        class Shelves {
            private final DataSource dataSource;

            int clear(long id) throws SQLException {
                try (PreparedStatement s = dataSource.getConnection().prepareStatement(CLEAR)) {
                    s.setLong(1, id);
                    return s.executeUpdate();
                }
            }
        }
    """, 7),
    bad(_CLAIM, "typescript", _LEASE % ("desk.leasedUntil! > now", ""), 4),
    # Whether two may hold it is not said.
    good(_CLAIM, "typescript", _LEASE % ("!desk.isShared", "")),
    good(_CLAIM, "typescript", _LEASE % ("desk.leasedUntil! > now", ", leasedUntil: { lt: now }")),
    bad(_CACHE, "typescript", _tariffs("meterId", _AGED, _ONE), 2),
    bad(_CACHE, "typescript", _tariffs("sha", _AGED, _ONE), 2),
    good(_CACHE, "typescript", _tariffs("meterId", _AGED, _ALL)),
    # The object may be made for one request.
    good(_CACHE, "typescript", _tariffs("meterId", "{ tariff }", "")),
    good(_CACHE, "typescript", _tariffs("country", _AGED, _ONE)),
    good(_CACHE, "typescript", _tariffs("bucket", _AGED, _ONE)),
    # Nothing is loaded.
    good(_CACHE, "typescript", _tariffs("meterId", "{ price: 1, freshUntil: Date.now() + 60_000 }", _ONE)),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_only_what_is_not_given_back_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=(BY_SLUG[case.rule],))
    assert tuple(each.line for each in found if each.confidence >= LIKELY) == case.lines


def test_the_way_that_gives_nothing_back_is_part_of_the_finding() -> None:
    code = (_BOOK % ("error", "", _SHADOWED)).strip("\n")
    code = code.replace("\tdefer func() {\n\t\tif err != nil {\n\t\t\t_ = tx.Rollback()\n\t\t}\n\t}()\n", "")
    code = code.replace(
        "return err\n\t}\n\tif err = tx", "_ = tx.Rollback()\n\t\treturn err\n\t}\n\t%s\n\tif err = tx"
    )
    (found,) = findings_of(code % _UNSET, "go", rules=(BY_SLUG[_RELEASED],))
    assert (found.line, found.end_line) == (4, 13)
