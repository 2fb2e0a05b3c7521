/** The panel of one call, beside the table: its request, its response, and its row. */

import { askExactly } from "./api.js";
import { button, el, fill, sign } from "./dom.js";
import { jsonBlock, pretty } from "./json.js";
import { noteList } from "./notes.js";
import { announce, copy } from "./notice.js";
import { ago, bytes, clock, day, milliseconds } from "./numerals.js";
import { answerOf, badge, outcomeOf, toolOf } from "./outcome.js";
import { replayer } from "./replay.js";
import { address } from "./route.js";
import { failed, waiting } from "./states.js";

const TRIES = 8;
const AGAIN_MS = 250;

export function detailPane(close) {
  const closer = button(sign("close"), close, { class: "quiet", "aria-label": "Close the call (Escape)" });
  const title = el("h2", { id: "detail-title" });
  const inside = el("div", { class: "inside" });
  const node = el(
    "aside",
    { class: "card detail", "aria-labelledby": title.id, hidden: true },
    el("header", {}, title, closer),
    inside,
  );
  let shown = null;
  let asking = new AbortController();

  async function load(id) {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    try {
      const call = await found(id, signal);
      title.textContent = toolOf(call.plain);
      fill(inside, parts(call));
      inside.scrollTop = 0;
      announce(
        `${toolOf(call.plain)}, ${outcomeOf(call.plain).text}, ${milliseconds(call.plain.duration_ms)}`,
      );
    } catch (error) {
      if (error.name === "AbortError") return;
      title.textContent = "Call";
      fill(
        inside,
        failed(error, () => load(id)),
      );
    }
  }

  return {
    node,
    show(id) {
      if (id === shown) return;
      shown = id;
      const opens = node.hidden && id !== null;
      node.hidden = id === null;
      if (id === null) return asking.abort();
      if (opens) {
        title.textContent = "Call";
        fill(inside, waiting(10));
      }
      load(id);
      // A panel that covers the table takes the focus; beside the table, the table keeps it.
      if (opens && getComputedStyle(node).position === "fixed") closer.focus();
    },
  };
}

/** Fetches a call. The row of a new call is written a moment later, so a missing one is tried again. */
async function found(id, signal) {
  for (let tried = 1; ; tried++) {
    try {
      return await askExactly(`portal/audit/events/${encodeURIComponent(id)}`, { signal });
    } catch (error) {
      if (error.status !== 404 || tried === TRIES) throw error;
      await new Promise((done) => setTimeout(done, AGAIN_MS));
      signal.throwIfAborted();
    }
  }
}

function parts({ plain: row, exact }) {
  const said = exact.payload ?? {};
  const outcome = answerOf({
    result: said.response_result,
    error: said.response_error,
    success: row.success,
  });
  const moment = new Date(row.timestamp);
  return [
    el(
      "p",
      { class: "sub" },
      badge(said.response_result || said.response_error ? outcome : outcomeOf(row)),
      el("b", {}, milliseconds(row.duration_ms)),
      el(
        "time",
        { datetime: row.timestamp, title: row.timestamp },
        `${day(moment)}, ${clock(moment, { withFractions: true })} (${ago(moment)})`,
      ),
    ),
    row.error_message && el("p", { class: "callout bad message" }, row.error_message),
    replayer(row, said, outcome),
    part("Request", said.request_params, {
      truncated: said.request_truncated,
      size: row.payload?.request_size_bytes,
      method: said.jsonrpc_method,
    }),
    said.response_error
      ? part("Error", said.response_error, { size: row.payload?.response_size_bytes })
      : part("Result", said.response_result, {
          truncated: said.response_truncated,
          size: row.payload?.response_size_bytes,
          missing: row.error_category === "cancelled" ? "None: the call was cancelled." : undefined,
        }),
    notifications(said.notifications ?? [], moment, said.notifications_truncated),
    el("section", {}, el("h3", {}, "Facts"), facts(row, said)),
    headers(said.request_headers),
  ];
}

function part(name, value, { truncated, size, method, missing = "Not stored." }) {
  const about = [method, size && bytes(size)].filter(Boolean).join(" · ");
  const body = truncated
    ? el("p", { class: "fine" }, "Too long to be stored: only its size is known.")
    : value === undefined
      ? el("p", { class: "fine" }, missing)
      : jsonBlock(value, name);
  return el(
    "section",
    {},
    el(
      "div",
      { class: "part-head" },
      el("h3", {}, name),
      el("span", { class: "fine" }, about),
      value !== undefined &&
        button([sign("copy"), "Copy"], () => copy(pretty(value), name), { class: "quiet small" }),
    ),
    body,
  );
}

function notifications(list, began, truncated) {
  if (!list.length && !truncated) return null;
  return el(
    "section",
    {},
    el("h3", {}, `Notifications (${list.length})`),
    noteList(list, began),
    truncated && el("p", { class: "fine" }, "There were more, which are not stored."),
  );
}

/** Name, value, and the filter that finds other calls with the same value. */
const FACTS = [
  ["Session", "session_id", "session"],
  ["User", "user_subject", "user"],
  ["E-mail", "user_email"],
  ["Key", "api_key_name", "key"],
  ["Signed in by", "auth_type", "auth_type"],
  ["Category", "error_category", "category"],
  ["Source", "source", "source"],
  ["Group", "tool_group"],
  ["Transport", "transport"],
  ["Era", "era"],
  ["From", "remote_addr"],
  ["Forwarded for", "forwarded_for"],
  ["User agent", "user_agent"],
  ["Request id", "request_id"],
  ["Id", "id"],
];

function facts(row, said) {
  const fact = (name, content) => el("div", {}, el("dt", {}, name), el("dd", {}, content));
  const known = FACTS.filter(([, field]) => row[field]).map(([name, field, filter]) =>
    fact(
      name,
      filter
        ? el(
            "a",
            { href: address("calls", { [filter]: row[field], call: row.id }), title: "Only its like" },
            row[field],
          )
        : row[field],
    ),
  );
  const again =
    said.replayed_from &&
    fact("Replay of", el("a", { href: address("calls", { call: said.replayed_from }) }, said.replayed_from));
  return el("dl", { class: "facts" }, known, again);
}

function headers(map) {
  const names = Object.keys(map ?? {});
  if (!names.length) return null;
  return el(
    "section",
    {},
    el("h3", {}, "Headers of the request"),
    el(
      "dl",
      { class: "facts" },
      names.map((name) => el("div", {}, el("dt", {}, name), el("dd", {}, String(map[name])))),
    ),
  );
}
