/** Placeholders for content that is loading, empty or failed. */

import { button, el } from "./dom.js";
import { count, plural } from "./numerals.js";

export const empty = (title, text, ...actions) =>
  el(
    "div",
    { class: "empty" },
    el("h3", {}, title),
    text && el("p", {}, text),
    actions.length > 0 && el("p", {}, actions),
  );

/** An error with the server's message and a button to try again. */
export function failed(error, again) {
  const [title, hint] = EXPLAINED[error.status] ?? ["That did not work", null];
  return el(
    "div",
    { class: "callout bad", role: "alert" },
    el("strong", {}, title),
    el("span", {}, error.message),
    hint && el("span", {}, hint),
    again && button("Try again", again, { class: "small" }),
  );
}

const EXPLAINED = {
  0: ["No connection", "Is fault serve still running?"],
  400: ["The server does not understand this", null],
  403: ["Your key may not do this", null],
  429: ["Too fast", "Wait a little and try again."],
  503: ["The audit log cannot be read", "Tools are still served."],
};

/** Grey lines of about the size of the content, so that the page does not move when it arrives. */
export const waiting = (lines) =>
  el(
    "div",
    { class: "waiting", "aria-hidden": "true" },
    Array.from({ length: lines }, () => el("div")),
  );

/** A warning about the audit log: unavailable database, or lost rows. */
export function lossOf(audit) {
  if (!audit) return null;
  const lost = audit.dropped + audit.refused;
  const [title, ...said] = audit.away
    ? ["The database is unavailable", audit.away, `Rows waiting for it: ${count(audit.waiting)}.`]
    : [
        `${plural(lost, "row")} lost`,
        `${count(audit.dropped)} found no room, ${count(audit.refused)} the database refused.`,
      ];
  if (!audit.away && !lost) return null;
  return el(
    "div",
    { class: "callout warn", role: "status" },
    el("strong", {}, title),
    said.map((text) => el("span", {}, text)),
  );
}
