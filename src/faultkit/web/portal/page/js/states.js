/** What stands where nothing else can: waiting, nothing there, something wrong. */

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

/** A failure in the server's own words, with a way to go on. */
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
  503: ["The audit log cannot be read", "Tools are served all the same."],
};

/** Grey lines of about the size of what will come, so that nothing jumps when it does. */
export const waiting = (lines) =>
  el(
    "div",
    { class: "waiting", "aria-hidden": "true" },
    Array.from({ length: lines }, () => el("div")),
  );

/** What the audit log itself has to complain of, if anything. */
export function lossOf(audit) {
  if (!audit) return null;
  const lost = audit.dropped + audit.refused;
  const [title, ...said] = audit.away
    ? ["The database is away", audit.away, `Rows that wait for it: ${count(audit.waiting)}.`]
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
