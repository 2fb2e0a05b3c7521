/** How a call ended, in one word and one colour: the same in every view. */

import { el, sign, unseen } from "./dom.js";

/** What was called. A request that was refused at the door never came to name a tool. */
export const toolOf = (row) => row.tool_name || (row.source === "door" ? "(refused)" : "(no tool)");

const LONGEST = 24;
const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** Of a row: what the list knows. */
export const outcomeOf = (row) =>
  row.success ? OK : { kind: "bad", sign: "bad", text: short(row.error_category || "failed") };

/** Of what was said: an error of the tool is an answer, an error of the protocol is none. */
export function answerOf({ result, error, success }) {
  if (error) return { ...PROTOCOL, text: `protocol error ${error.code ?? ""}`.trim() };
  if (result?.isError) return TOOL;
  return success === false ? { kind: "bad", sign: "bad", text: "failed" } : OK;
}

const OK = { kind: "good", sign: "good", text: "ok" };
const TOOL = {
  kind: "warn",
  sign: "bad",
  text: "tool error",
  explained: "The tool answered, and its answer says that it failed: a result with isError.",
};
const PROTOCOL = {
  kind: "bad",
  sign: "bad",
  explained: "The call itself failed: a JSON-RPC error in place of a result.",
};

export const badge = (outcome) =>
  el(
    "span",
    { class: `badge ${outcome.kind}`, title: outcome.explained },
    sign(outcome.sign),
    outcome.kind === "bad" && unseen("failed: "),
    outcome.text,
  );
