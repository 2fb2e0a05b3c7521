/** Asks for confirmation. The browser keeps the focus inside the dialog, and restores it afterwards. */

import { button, el } from "./dom.js";

export function confirmed(title, text, action) {
  return new Promise((decided) => {
    const dialog = el(
      "dialog",
      {
        class: "card",
        "aria-labelledby": "dialog-title",
        onclose: () => (decided(dialog.returnValue === "yes"), dialog.remove()),
      },
      el("h2", { id: "dialog-title" }, title),
      el("p", {}, text),
      el(
        "div",
        { class: "actions" },
        button("Keep it", () => dialog.close("no"), { autofocus: true }),
        button(action, () => dialog.close("yes"), { class: "danger" }),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
