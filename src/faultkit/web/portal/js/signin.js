/** The form for a key, shown when the server requires one. The key is sent in a header and stored in this tab only. */

import { el, fill } from "./dom.js";
import { labelled } from "./fields.js";
import { arrive } from "./session.js";

export function signIn(place, said, done) {
  const field = el("input", {
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "fk_…",
  });
  const problem = el("p", { class: "problem", role: "alert" }, said);
  const enter = el("button", { class: "primary" }, "Sign in");

  async function submit(event) {
    event.preventDefault();
    const text = field.value.trim();
    if (!text) return field.focus();
    enter.disabled = true;
    try {
      done(await arrive(text));
    } catch (error) {
      problem.textContent =
        error.status === 401 ? `The server does not accept this key: ${error.message}` : error.message;
      enter.disabled = false;
      field.select();
    }
  }

  fill(
    place,
    el(
      "form",
      { class: "card sign-in", novalidate: true, onsubmit: submit, "aria-labelledby": "sign-in" },
      el("h1", { id: "sign-in", tabindex: "-1" }, "Sign in"),
      el(
        "p",
        { class: "fine" },
        "This server requires a key. It is sent in a header, and forgotten when you close this tab.",
      ),
      labelled("Key", field, { hint: [el("code", {}, "fault keys create NAME"), " makes one."] }),
      problem,
      enter,
    ),
  );
  field.focus();
}
