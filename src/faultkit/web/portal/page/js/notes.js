/** The notifications of a call, in their order. */

import { el } from "./dom.js";
import { milliseconds } from "./numerals.js";

/** `began`: when the call did, if that is known; each then says how long after. */
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
