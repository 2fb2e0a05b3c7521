/** The view of API keys: create, show once, list, revoke. */

import { ask } from "./api.js";
import { confirmed } from "./dialog.js";
import { button, el, fill, sign, unseen } from "./dom.js";
import { choice, labelled } from "./fields.js";
import { announce, copy, notice } from "./notice.js";
import { ago, clock, day } from "./numerals.js";
import { missing } from "./session.js";
import { empty, failed, waiting } from "./states.js";
import { headOf, rowOf, scrolled } from "./tables.js";

const SCOPES = [
  ["read", "See calls and figures"],
  ["call", "Call tools, by MCP and from this page"],
  ["admin", "All of this, and manage keys"],
];
const EXPIRES = [
  ["30d", "In 30 days"],
  ["90d", "In 90 days"],
  ["365d", "In a year"],
  ["24h", "In 24 hours"],
  ["", "Never"],
];
const COLUMNS = [["Name"], ["May"], ["Made"], ["Last used"], ["Ends"], [unseen("Revoke"), "n"]];

export function keysView(place) {
  const why = missing("admin");
  const list = el("div", {}, waiting(4));
  const made = el("div", { class: "made", role: "status" });
  const heading = el("div", { class: "heading" }, el("h1", { tabindex: "-1" }, "Keys"));
  if (why) {
    const how = "“fault keys create NAME --scope admin” makes one; sign in with it.";
    fill(place, heading, el("section", { class: "card" }, empty("Not with your scopes", `${why} ${how}`)));
  } else {
    fill(
      place,
      heading,
      made,
      el(
        "div",
        { class: "pair wide-left" },
        el(
          "section",
          { class: "card", "aria-labelledby": "all-keys" },
          el("h3", { id: "all-keys" }, "Keys of this server"),
          list,
        ),
        newKey(made, load),
      ),
    );
    load();
  }

  async function load() {
    try {
      const { keys } = await ask("admin/keys");
      fill(
        list,
        keys.length ? keyTable(keys, load) : empty("No keys yet", "Beyond loopback, every caller needs one."),
      );
    } catch (error) {
      fill(list, failed(error, load));
    }
  }

  return { title: "Keys", update() {}, leave() {} };
}

function newKey(made, changed) {
  const name = el("input", {
    required: true,
    maxlength: "100",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "ci",
  });
  const scopes = SCOPES.map(([value]) =>
    el("input", { type: "checkbox", value, id: `scope-${value}`, checked: value !== "admin" }),
  );
  const expires = choice("Ends", EXPIRES, () => {});
  const problem = el("p", { class: "problem", role: "alert" });

  async function create(event) {
    event.preventDefault();
    problem.textContent = "";
    const wanted = scopes.filter((box) => box.checked).map((box) => box.value);
    try {
      if (!name.value.trim()) throw new Error("A key needs a name.");
      if (!wanted.length) throw new Error("A key needs at least one scope.");
      const key = await ask("admin/keys", {
        method: "POST",
        body: { name: name.value.trim(), scopes: wanted, expires: expires.select.value || null },
      });
      fill(
        made,
        secret(key, () => fill(made)),
      );
      made.querySelector("button").focus();
      name.value = "";
      changed();
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  return el(
    "form",
    { class: "card new-key", novalidate: true, "aria-labelledby": "new-key", onsubmit: create },
    el("h3", { id: "new-key" }, "New key"),
    labelled("Name", name, { hint: "Shown in the log beside its calls." }),
    el(
      "fieldset",
      { class: "field" },
      el("legend", {}, "It may"),
      scopes.map((box, place) =>
        el(
          "label",
          { class: "tick-box", for: box.id },
          box,
          el("b", {}, SCOPES[place][0]),
          el("span", { class: "fine" }, SCOPES[place][1]),
        ),
      ),
    ),
    labelled("Ends", expires.select),
    problem,
    el("div", { class: "actions" }, el("button", { class: "primary" }, "Create")),
  );
}

const secret = (key, dismiss) =>
  el(
    "div",
    { class: "callout good secret" },
    el("strong", {}, `The key “${key.name}” was created.`),
    el("span", {}, "It is shown only once, and only its digest is stored: copy it now."),
    el(
      "span",
      { class: "inline" },
      el("code", { tabindex: "0" }, key.key),
      button([sign("copy"), "Copy"], () => copy(key.key, "Key"), { class: "primary small" }),
      button("Done", dismiss, { class: "quiet small" }),
    ),
  );

const isOver = (key) => Boolean(key.revoked || (key.expires && new Date(key.expires) < new Date()));

/** Sorts keys: those in use first, the newest at the top. */
const inOrder = (one, other) => isOver(one) - isOver(other) || other.created.localeCompare(one.created);

const keyTable = (keys, changed) =>
  scrolled(
    "Keys",
    el(
      "table",
      { class: "keys" },
      headOf(COLUMNS),
      el(
        "tbody",
        {},
        keys.toSorted(inOrder).map((key) => keyRow(key, changed)),
      ),
    ),
  );

function keyRow(key, changed) {
  const ends = key.revoked
    ? ["revoked ", moment(key.revoked)]
    : key.expires
      ? [isOver(key) && "expired ", moment(key.expires)]
      : "never";
  const cells = [
    [key.name, key.hint && el("code", { class: "fine" }, `${key.hint}…`)],
    key.scopes.map((scope) => el("span", { class: "badge" }, scope)),
    moment(key.created),
    key.last_used ? moment(key.last_used) : "never",
    ends,
    !isOver(key) && button("Revoke", () => revoke(key, changed), { class: "danger small" }),
  ];
  return rowOf(COLUMNS, cells, { class: isOver(key) ? "over" : null });
}

function moment(text) {
  const at = new Date(text);
  return el("time", { datetime: text, title: `${day(at)} ${clock(at)}` }, ago(at));
}

async function revoke(key, changed) {
  const sure = await confirmed(
    `Revoke “${key.name}”?`,
    "Requests with this key will be refused. This cannot be undone.",
    "Revoke",
  );
  if (!sure) return;
  try {
    await ask(`admin/keys/${encodeURIComponent(key.name)}`, { method: "DELETE" });
    announce(`${key.name} is revoked`);
    changed();
  } catch (error) {
    notice(error.message, "bad");
  }
}
