"""Rules whose claim depends on what the manifest of a project says."""

from __future__ import annotations

import pytest

from faultkit.code.facts import NO_PROJECT, Project
from faultkit.code.review.engine import RULES, findings_of

ROUTE = """\
const app = require('express')();
app.get('/users/:id', async (req, res) => {
  const user = await users.find(req.params.id);
  res.json(user);
});
"""
PLAIN = """\
router.get('/users/:id', async (req, res) => {
  const user = await users.find(req.params.id);
  res.json(user);
});
"""
TICKER = """\
package a

func wait(done chan bool, most int) bool {
\tticker := time.NewTicker(time.Second)
\tfor i := 0; i < most; i++ {
\t\tselect {
\t\tcase <-done:
\t\t\treturn true
\t\tcase <-ticker.C:
\t\t}
\t}
\treturn false
}
"""
AFTER = """\
package a

func loop(queue chan int) {
\tfor {
\t\tselect {
\t\tcase item := <-queue:
\t\t\thandle(item)
\t\tcase <-time.After(time.Minute):
\t\t\treturn
\t\t}
\t}
}
"""


@pytest.mark.parametrize(
    ("rule", "language", "text", "project", "is_found"),
    [
        ("FK-R045", "javascript", ROUTE, NO_PROJECT, True),
        ("FK-R045", "javascript", ROUTE, Project({"express": (4, 18)}), True),
        ("FK-R045", "javascript", ROUTE, Project({"express": ()}), True),
        ("FK-R045", "javascript", ROUTE, Project({"express": (5, 1)}), False),
        ("FK-R045", "javascript", ROUTE, Project({"express": (4,), "express-async-errors": (3,)}), False),
        ("FK-R045", "javascript", PLAIN, NO_PROJECT, True),
        ("FK-R045", "javascript", PLAIN, Project({"express": (4, 18)}), True),
        ("FK-R045", "javascript", PLAIN, Project({"restana": (4, 9)}), False),
        ("FK-R101", "go", TICKER, NO_PROJECT, True),
        ("FK-R101", "go", TICKER, Project({}, (1, 22)), True),
        ("FK-R101", "go", TICKER, Project({}, (1, 23)), False),
        ("FK-R047", "go", AFTER, Project({}, (1, 22)), True),
        ("FK-R047", "go", AFTER, Project({}, (1, 24)), False),
    ],
)
def test_the_manifest_decides(rule: str, language: str, text: str, project: Project, is_found: bool) -> None:
    rules = [each for each in RULES if each.id == rule]
    assert bool(findings_of(text, language, rules=rules, project=project)) == is_found
