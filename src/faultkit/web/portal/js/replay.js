/** Repeats a call and shows the difference between both results. */

import { askCall } from "./api.js";
import { button, el, fill, sign } from "./dom.js";
import { difference, folded } from "./difference.js";
import { pretty } from "./json.js";
import { announce, copy } from "./notice.js";
import { milliseconds, plural } from "./numerals.js";
import { answerOf, badge } from "./outcome.js";
import { address } from "./route.js";
import { missing } from "./session.js";
import { failed } from "./states.js";
import { headOf, rowOf } from "./tables.js";

const COLUMNS = [["Call"], ["Outcome"], ["Duration", "n"]];

/** The buttons of a call, and the place where its replay appears. */
export function replayer(row, said, outcome) {
  const place = el("div", { class: "replay", "aria-live": "polite" });
  const why = missing("call") ?? (said.request_params ? null : "The request is not stored.");
  const again = button([sign("replay"), "Replay"], replay, { disabled: why !== null, title: why });

  async function replay() {
    again.disabled = true;
    try {
      const path = `portal/audit/events/${encodeURIComponent(row.id)}/replay`;
      fill(place, compared(row, said, outcome, await askCall(path)));
    } catch (error) {
      fill(place, failed(error));
    }
    again.disabled = false;
  }

  const given = said.request_params?.arguments ?? row.parameters ?? {};
  return [
    el(
      "div",
      { class: "actions" },
      again,
      row.tool_name &&
        el(
          "a",
          {
            class: "button quiet",
            href: address("tools", { tool: row.tool_name, arguments: JSON.stringify(given) }),
          },
          sign("play"),
          "Edit and try",
        ),
      button(
        [sign("link"), "Copy link"],
        () => copy(String(new URL(address("calls", { call: row.id }), location.href)), "Link"),
        { class: "quiet" },
      ),
    ),
    place,
  ];
}

function compared(row, said, outcome, { plain, exact: again }) {
  const error = again.result ? null : { code: again.code, message: again.error, data: again.data };
  const now = answerOf({ result: again.result, error, success: again.success });
  const kept = said.response_error ?? said.response_result;
  const lines = difference(pretty(meaning(kept)), pretty(meaning(again.result ?? error)));
  const isSame = lines.every((line) => line.kind === "same");
  const verdict = kept === undefined ? "The first result is not stored." : verdictOf(lines, isSame);
  announce(verdict);
  const replay = el("a", { href: address("calls", { call: plain.replay_event_id }) }, "Now");
  return el(
    "section",
    { class: "replayed" },
    el("h3", {}, "Replay"),
    el(
      "table",
      { class: "before-after" },
      headOf(COLUMNS),
      el(
        "tbody",
        {},
        rowOf(COLUMNS, ["Then", badge(outcome), milliseconds(row.duration_ms)]),
        rowOf(COLUMNS, [replay, badge(now), milliseconds(plain.duration_ms)]),
      ),
    ),
    el("p", { class: isSame ? "verdict good" : "verdict" }, verdict),
    !isSame && kept !== undefined && diffBlock(lines),
  );
}

/** The content of a result. The rest belongs to the protocol version, which may differ in a replay. */
function meaning(said) {
  if (said === undefined || said === null || !("content" in said)) return said ?? null;
  const { isError = false, structuredContent, content } = said;
  return { isError, structuredContent, content };
}

function verdictOf(lines, isSame) {
  if (isSame) return "The same answer again.";
  const number = (kind) => plural(lines.filter((line) => line.kind === kind).length, "line");
  return `Another answer: ${number("gone")} gone, ${number("come")} new.`;
}

const MARKS = { same: " ", gone: "−", come: "+" };
const SAID = { gone: "gone: ", come: "new: " };

const diffBlock = (lines) =>
  el(
    "pre",
    { class: "json diff", tabindex: "0", role: "region", "aria-label": "Difference" },
    folded(lines).map((line) =>
      line.kind === "left"
        ? el("span", { class: "left" }, `⋯ ${plural(line.lines, "line")} the same`)
        : el(
            "span",
            { class: line.kind },
            el("i", { "aria-hidden": "true" }, MARKS[line.kind]),
            SAID[line.kind] && el("span", { class: "unseen" }, SAID[line.kind]),
            line.text || " ",
          ),
    ),
  );
