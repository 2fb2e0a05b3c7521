/**
 * Follows the log: hands on the rows as they are written, some at a time, and comes back by itself after a break with
 * whatever was written since.
 */

import { follow } from "./api.js";

const FLUSH_MS = 250;
const AGAIN_MS = [500, 1000, 2000, 5000, 10_000];

/**
 * `query` is pairs; `after` is the last row that is known, or null. `told` has rows(list), state("on" | "off" | "away", why),
 * dropped(count), and lost() for when it cannot be known what was missed. Returns what ends it.
 */
export function tail(query, after, told) {
  let connection = null;
  let waiting = [];
  let flushing = 0;
  let again = 0;
  let tries = 0;

  function flush() {
    flushing = 0;
    const rows = waiting;
    waiting = [];
    told.rows(rows);
  }

  const SAID = {
    audit(row) {
      after = row.seq;
      waiting.push(row);
      flushing ||= setTimeout(flush, FLUSH_MS);
    },
    dropped: ({ count }) => told.dropped(count),
    away: ({ error }) => told.state("away", error),
    back: () => told.state("on"),
  };

  async function run() {
    connection = new AbortController();
    const { signal } = connection;
    const since = after === null ? [] : [["after", after]];
    const opened = () => {
      tries = 0;
      told.state("on");
    };
    try {
      for await (const { name, data } of follow("portal/audit/stream", {
        query: [...query, ...since],
        signal,
        opened,
      })) {
        SAID[name]?.(JSON.parse(data));
      }
      told.state("off");
    } catch (error) {
      if (signal.aborted) return;
      told.state("off", error.message);
      // Asking again would not help: it is the filter, or the key.
      if (error.status >= 400 && error.status < 500 && error.status !== 429) return;
    }
    if (!signal.aborted) again = setTimeout(run, AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)]);
  }

  function pause() {
    connection.abort();
    clearTimeout(again);
  }

  // A browser opens few connections to one server: a hidden tab leaves them to the others.
  function seen() {
    if (document.hidden) pause();
    else if (after === null) told.lost();
    else run();
  }

  document.addEventListener("visibilitychange", seen);
  run();
  return () => {
    document.removeEventListener("visibilitychange", seen);
    pause();
    clearTimeout(flushing);
  };
}
