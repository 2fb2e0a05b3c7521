"""`promql`: a query to the HTTP API of Prometheus, or of whoever speaks as it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlencode

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.values import text
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.work.http import URL_FORM, ask, read_texts, read_url
from faultkit.chaos.experiment.work.work import USUAL_LIMIT_S, Failed, Scene

KEYS = ("url", "query", "headers")


@dataclass(frozen=True, slots=True)
class PromqlQuery:
    url: str
    query: str
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar[str] = "promql"
    usual_limit_s: ClassVar[float] = USUAL_LIMIT_S

    @property
    def says(self) -> str:
        return f"query {self.query}"

    def resolve(self, scene: Scene) -> None:
        """Whoever answers is known only when asked."""

    async def perform(self, scene: Scene) -> Any:
        """A number if there is one value, else a list of `metric` and `value`. No series is an empty list."""
        url = f"{self.url.rstrip('/')}/api/v1/query?{urlencode({'query': self.query})}"
        answer = await ask("GET", url, {"accept": "application/json", **self.headers})
        body = answer["body"]
        if not isinstance(body, Mapping) or body.get("status") != "success":
            why = body.get("error") if isinstance(body, Mapping) else None
            raise Failed(
                f"{self.url} answered {answer['status']}: {why or 'this is no answer of Prometheus'}"
            )
        try:
            return _values(body["data"]["resultType"], body["data"]["result"])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Failed(f"{self.url}: this is no answer of Prometheus: {error!r}") from None


def _values(kind: str, result: Any) -> Any:
    if kind == "scalar":
        return float(result[1])
    if kind == "string":
        return result[1]
    if kind != "vector":
        raise ValueError(f"expected a scalar or a vector, got a {kind}")
    series = [{"metric": each["metric"], "value": float(each["value"][1])} for each in result]
    return series[0]["value"] if len(series) == 1 else series


def parse_promql(value: object, path: str, problems: list[InputError]) -> PromqlQuery | None:
    before = len(problems)
    reading = Reading(value, KEYS, path, problems)
    url = reading.need("url", read_url, "", URL_FORM)
    query = reading.need("query", text, "", "a query such as up == 0")
    headers = reading.take("headers", read_texts, {})
    return PromqlQuery(url, query, headers) if len(problems) == before else None
