/** The notifications of a call, in order. */

import { el } from "./dom.js";
import { milliseconds } from "./numerals.js";

/** `began`: start of the call, if known; each notification then shows its time since. */
export const noteList = (notes, began = null) =>
  el(
    "ol",
    { class: "notes" },
    notes.map((note) =>
      el(
        "li",
        {},
        began && typeof note.ts === "string" && el("span", { class: "fine" }, after(note.ts, began)),
        el("b", {}, String(note.method ?? "")),
        el("code", {}, JSON.stringify(note.params ?? {})),
      ),
    ),
  );

const after = (text, began) => `+${milliseconds(Math.max(0, new Date(text) - began))}`;
