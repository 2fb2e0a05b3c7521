"""Drives the portal in a real Chromium: opens views, presses keys, waits for elements."""

from __future__ import annotations

import json
from typing import Any

from tests.report.chromium import Page

WAIT_MS = 15_000

_UNTIL = f"""
(holds) => new Promise((done, failed) => {{
  const end = Date.now() + {WAIT_MS};
  (function look() {{
    let value = null;
    try {{ value = holds(); }} catch {{ /* not there yet */ }}
    if (value) done(value);
    else if (Date.now() > end) failed(new Error("never so"));
    else setTimeout(look, 15);
  }})();
}})
"""
_MIDDLE = """
(each) => {
  if (!each || each.disabled) return null;
  each.scrollIntoView({ block: "center", behavior: "instant" });
  const box = each.getBoundingClientRect();
  return box.width && [box.x + box.width / 2, box.y + box.height / 2];
}
"""
_CHOOSE = """
(each, value) => {
  each.value = value;
  each.dispatchEvent(new Event("change", { bubbles: true }));
}
"""


class Browser:
    """One tab that shows the portal."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def sign_in(self, key: str) -> None:
        """Keep a key for this tab, as signing in does."""
        self.open()
        self.run(f"sessionStorage.setItem('faultkit-key', '{key}')")

    def open(self, fragment: str = "", *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Open a view in a new document, without state of another test."""
        self.page.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.page.ask("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.page.ask("Page.navigate", url="about:blank")
        self.until("location.href === 'about:blank'")
        self.page.events.clear()
        self.page.ask("Page.navigate", url=self.url + fragment)
        self.until("document.readyState === 'complete'")

    def until(self, expression: str) -> Any:
        """Wait until a JavaScript expression is true, and return its value."""
        return self.run(f"({_UNTIL})(() => ({expression}))", f"never so: {expression}")

    def run(self, expression: str, why: str = "") -> Any:
        """Return the value of a JavaScript expression; a promise is awaited."""
        answer = self.page.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            said = json.dumps(answer["exceptionDetails"])
            raise AssertionError(f"{why or expression}\n{said}\n{self.text()[:2000]}")
        return answer["result"].get("value")

    def text(self, selector: str = "body") -> str:
        found = self.page.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        return str(found)

    def texts(self, selector: str) -> list[str]:
        found: list[str] = self.page.value(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.innerText)"
        )
        return found

    def click(self, selector: str) -> None:
        """Click the middle of an element with mouse events."""
        x, y = self.until(f"({_MIDDLE})(document.querySelector({json.dumps(selector)}))")
        for kind in ("mousePressed", "mouseReleased"):
            self.page.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, *, ctrl: bool = False) -> None:
        code = _CODES.get(key, 0)
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.page.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                modifiers=2 if ctrl else 0,
                **(text if kind == "keyDown" and not ctrl else {}),
            )

    def type(self, selector: str, text: str) -> None:
        """Type a text into a field, in place of its content."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.until(f"(each => each && (each.focus(), each.select(), true))({found})")
        self.page.ask("Input.insertText", text=text)

    def choose(self, selector: str, value: str) -> None:
        self.run(f"({_CHOOSE})(document.querySelector({json.dumps(selector)}), {json.dumps(value)})")

    @property
    def errors(self) -> list[str]:
        """Errors of the page since it was opened, except for the 502 of a failed tool call."""
        return [each for each in self.page.complaints if "status of 502" not in each]

    @property
    def fragment(self) -> str:
        return str(self.page.value("location.hash"))

    @property
    def focused(self) -> str:
        return str(self.page.value("document.activeElement?.innerText || document.activeElement?.id"))


_CODES = {
    "ArrowDown": 40,
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "ArrowUp": 38,
    "End": 35,
    "Enter": 13,
    "Escape": 27,
    "Home": 36,
    "Tab": 9,
}
