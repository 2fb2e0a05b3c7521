"""Promises of nested functions and of declared methods that nothing waits for."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

FORGET = "fire-and-forget"
_HANDLED = """
        function emitter(redis, report) {
          async function guarded(work) {
            try {
              await work(redis);
            } catch (error) {
              report(error);
            }
          }
          async function remove(name) {
            await guarded((client) => client.unsubscribe(name));
          }
          return {
            once(name, handler) {
              remove(name);
              handler();
            },
          };
        }
        """

CASES = [
    bad(FORGET, "javascript", """
        function router(orders) {
          async function notify(order) {
            await publish(order);
          }
          return async (order) => {
            notify(order);
          };
        }
        """, 6),
    good(FORGET, "javascript", """
        function router(orders, notify) {
          return async (order) => {
            notify(order);
          };
        }
        async function other() {
          async function notify(order) {
            await publish(order);
          }
          await notify(1);
        }
        """),
    bad(FORGET, "typescript", """
        interface Audit {
          record(action: string): Promise<void>;
        }
        export class Projects {
          constructor(private readonly audit: Audit) {}
          remove = async (id: string): Promise<void> => {
            try {
              await this.projects.remove(id);
              this.audit.record("removed");
            } catch (err) {
              report(err);
            }
          };
        }
        """, 9),
    good(FORGET, "typescript", """
        interface Audit {
          record(action: string): void;
        }
        export class Projects {
          constructor(private readonly audit: Audit) {}
          async remove(id: string): Promise<void> {
            await this.projects.remove(id);
            this.audit.record("removed");
          }
        }
        """),
    good(FORGET, "typescript", """
        interface Cards {
          record(action: string): Promise<void>;
        }
        export class Projects {
          constructor(private readonly cards: Cards) {}
          async remove(id: string): Promise<void> {
            await this.projects.remove(id);
            this.cards.record("removed").catch(report);
          }
        }
        """),
    bad(FORGET, "typescript", """
        export class Signup {
          constructor(private readonly crm: CrmClient) {}
          async register(user: User): Promise<void> {
            await this.users.save(user);
            this.crm.syncContact(user.id);
          }
        }
        """, 5),
    # What it waits for handles its errors.
    bad(FORGET, "javascript", _HANDLED.replace("await guarded(", "await unguarded("), 14),
    bad(FORGET, "javascript", _HANDLED.replace("await guarded(", "await check(name); await guarded("), 14),
    good(FORGET, "javascript", _HANDLED),
]  # fmt: skip
