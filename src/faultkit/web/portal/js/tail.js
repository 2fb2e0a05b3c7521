/**
 * Follows the log: passes rows on as they are written, in batches, and reconnects after a break without missing rows.
 */

import { follow } from "./api.js";

const FLUSH_MS = 250;
const AGAIN_MS = [500, 1000, 2000, 5000, 10_000];

/**
 * `query`: pairs. `after`: position of the last known row, or null. `on`: an object with rows(list),
 * state("on" | "off" | "away", why), dropped(count), and lost() if it is unknown which rows were missed. Returns a
 * function that ends it.
 */
export function tail(query, after, on) {
  let connection = null;
  let waiting = [];
  let flushing = 0;
  let again = 0;
  let tries = 0;

  function flush() {
    flushing = 0;
    const rows = waiting;
    waiting = [];
    on.rows(rows);
  }

  const HANDLERS = {
    audit(row) {
      after = row.seq;
      waiting.push(row);
      flushing ||= setTimeout(flush, FLUSH_MS);
    },
    dropped: ({ count }) => on.dropped(count),
    away: ({ error }) => on.state("away", error),
    back: () => on.state("on"),
  };

  async function run() {
    connection = new AbortController();
    const { signal } = connection;
    const since = after === null ? [] : [["after", after]];
    const opened = () => {
      tries = 0;
      on.state("on");
    };
    try {
      for await (const { name, data } of follow("portal/audit/stream", {
        query: [...query, ...since],
        signal,
        opened,
      })) {
        HANDLERS[name]?.(JSON.parse(data));
      }
      on.state("off");
    } catch (error) {
      if (signal.aborted) return;
      on.state("off", error.message);
      // A retry would fail, too: the filter or the key is wrong.
      if (error.status >= 400 && error.status < 500 && error.status !== 429) return;
    }
    if (!signal.aborted) again = setTimeout(run, AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)]);
  }

  function pause() {
    connection.abort();
    clearTimeout(again);
  }

  // A browser opens only a few connections to one server: a hidden tab closes its own.
  function onVisibility() {
    if (document.hidden) pause();
    else if (after === null) on.lost();
    else run();
  }

  document.addEventListener("visibilitychange", onVisibility);
  run();
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    pause();
    clearTimeout(flushing);
  };
}
