/** Calls as table rows: the table of the audit log, and the short list of the overview. */

import { el, fill } from "./dom.js";
import { milliseconds, when } from "./numerals.js";
import { badge, outcomeOf, toolOf } from "./outcome.js";
import { address } from "./route.js";

const COLUMNS = [
  ["Time", "time"],
  ["Tool", "tool"],
  ["Outcome", "outcome"],
  ["Duration", "duration n"],
  ["Caller", "caller"],
  ["Error or arguments", "said"],
];

const moment = (row) =>
  el(
    "time",
    { datetime: row.timestamp, title: row.timestamp },
    when(new Date(row.timestamp), { withFractions: true }),
  );

/** A summary of a call in one line: its error, or its arguments. */
const saidOf = (row) =>
  row.error_message || (row.parameters === undefined ? "" : JSON.stringify(row.parameters));

export const rowList = (rows) =>
  el(
    "ul",
    { class: "row-list" },
    rows.map((row) =>
      el(
        "li",
        {},
        el(
          "a",
          { href: address("calls", { success: "false", call: row.id }) },
          el("b", {}, toolOf(row)),
          badge(outcomeOf(row)),
          moment(row),
        ),
        el("p", {}, saidOf(row)),
      ),
    ),
  );

/**
 * A table whose rows are selected with the arrow keys. It is one stop for Tab, at the row that was selected last.
 * `hrefOf(row)` returns the address of a row; `walked(id)` is called when the keys select a row.
 */
export function rowTable({ hrefOf, walked }) {
  const body = el("tbody");
  const node = el(
    "table",
    { class: "call-table", "aria-label": "Calls, newest first" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        COLUMNS.map(([name, kind]) => el("th", { scope: "col", class: kind }, name)),
      ),
    ),
    body,
  );
  const ids = new Set();
  const links = () => [...body.querySelectorAll("a.open")];
  let open = null;

  function make(row, isNew) {
    ids.add(row.id);
    const link = el(
      "a",
      { class: "open", href: hrefOf(row), tabindex: "-1", "data-id": row.id },
      toolOf(row),
    );
    return el(
      "tr",
      { class: isNew ? "new" : null, "data-id": row.id },
      [
        moment(row),
        link,
        badge(outcomeOf(row)),
        milliseconds(row.duration_ms),
        row.api_key_name || row.user_subject || "–",
        saidOf(row),
      ].map((content, place) =>
        el(
          "td",
          { class: COLUMNS[place][1], title: place === 5 ? saidOf(row).slice(0, 300) : null },
          content,
        ),
      ),
    );
  }

  /** Makes one link reachable by Tab: that of the open call, or the first. */
  function settle() {
    const all = links();
    const first = all.find((link) => link.dataset.id === open) ?? all[0];
    for (const link of all) {
      link.tabIndex = link === first || link === document.activeElement ? 0 : -1;
      if (link.dataset.id === open) link.closest("tr").setAttribute("aria-current", "true");
      else link.closest("tr").removeAttribute("aria-current");
    }
  }

  body.addEventListener("click", (event) => {
    const link = event.target.closest("tr")?.querySelector("a.open");
    if (!link || event.target.closest("a") || getSelection().toString()) return;
    link.focus({ preventScroll: true });
    link.click();
  });

  node.addEventListener("keydown", (event) => {
    const all = links();
    const place = all.indexOf(document.activeElement);
    if (place < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      Home: 0,
      End: all.length - 1,
      PageDown: place + 10,
      PageUp: place - 10,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = all[Math.min(Math.max(to, 0), all.length - 1)];
    for (const link of all) link.tabIndex = link === next ? 0 : -1;
    next.focus();
    if (next !== all[place]) walked(next.dataset.id);
  });

  return {
    node,
    show(rows) {
      ids.clear();
      fill(
        body,
        rows.map((row) => make(row, false)),
      );
      settle();
    },
    append(rows) {
      body.append(...rows.map((row) => make(row, false)));
      settle();
    },
    /** Adds rows at the top, keeps `most` in all, and returns whether some were removed. */
    prepend(rows, most) {
      body.prepend(...rows.slice(0, most).map((row) => make(row, true)));
      const over = [...body.children].slice(most);
      for (const each of over) {
        ids.delete(each.dataset.id);
        each.remove();
      }
      settle();
      return over.length > 0 || rows.length > most;
    },
    mark(id) {
      open = id;
      settle();
    },
    has: (id) => ids.has(id),
    focus: (id) => (links().find((link) => link.dataset.id === id) ?? links()[0])?.focus(),
    /** Whether the user moves through the rows with the keyboard. */
    get isWalked() {
      return body.querySelector(":focus-visible") !== null;
    },
    get count() {
      return body.children.length;
    },
  };
}
