"""The functions and aggregations of PromQL: what they take and give. One table each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ValueType: TypeAlias = Literal["scalar", "text", "instant", "range"]
NAMES: dict[ValueType, str] = {
    "scalar": "a number",
    "text": "a text",
    "instant": "an instant vector",
    "range": "a range vector such as x[5m]",
}


@dataclass(frozen=True, slots=True)
class Signature:
    takes: tuple[ValueType, ...]
    gives: ValueType = "instant"
    least: int = -1
    """How many arguments must be there; all of them if it is negative."""
    repeats: bool = False
    """The last one may be given again and again."""

    @property
    def fewest(self) -> int:
        return len(self.takes) if self.least < 0 else self.least

    def type_at(self, place: int) -> ValueType:
        return self.takes[min(place, len(self.takes) - 1)]

    def fits(self, count: int) -> bool:
        return count >= self.fewest and (self.repeats or count <= len(self.takes))

    def expected(self) -> str:
        most = len(self.takes)
        many = (
            f"at least {self.fewest}"
            if self.repeats
            else f"{self.fewest} to {most}"
            if self.fewest < most
            else str(most)
        )
        return f"{many} argument{'' if many == '1' else 's'}"


def _each(signature: Signature, names: str) -> dict[str, Signature]:
    return dict.fromkeys(names.split(), signature)


FUNCTIONS: dict[str, Signature] = {
    **_each(
        Signature(("instant",)),
        "abs absent acos acosh asin asinh atan atanh ceil cos cosh deg exp floor histogram_avg"
        " histogram_count histogram_stddev histogram_stdvar histogram_sum ln log10 log2 rad sgn sin sinh sort"
        " sort_desc sqrt tan tanh timestamp",
    ),
    **_each(
        Signature(("range",)),
        "absent_over_time avg_over_time changes count_over_time delta deriv idelta increase irate"
        " last_over_time max_over_time min_over_time present_over_time rate resets stddev_over_time"
        " stdvar_over_time sum_over_time",
    ),
    **_each(
        Signature(("instant",), least=0),
        "day_of_month day_of_week day_of_year days_in_month hour minute month year",
    ),
    "clamp": Signature(("instant", "scalar", "scalar")),
    "clamp_max": Signature(("instant", "scalar")),
    "clamp_min": Signature(("instant", "scalar")),
    "histogram_fraction": Signature(("scalar", "scalar", "instant")),
    "histogram_quantile": Signature(("scalar", "instant")),
    "label_join": Signature(("instant", "text", "text", "text"), least=3, repeats=True),
    "label_replace": Signature(("instant", "text", "text", "text", "text")),
    "pi": Signature((), "scalar"),
    "predict_linear": Signature(("range", "scalar")),
    "quantile_over_time": Signature(("scalar", "range")),
    "round": Signature(("instant", "scalar"), least=1),
    "scalar": Signature(("instant",), "scalar"),
    "time": Signature((), "scalar"),
    "vector": Signature(("scalar",)),
}
EXPERIMENTAL = frozenset(
    (
        "double_exponential_smoothing", "first_over_time", "histogram_quantiles", "info", "limit_ratio",
        "limitk", "mad_over_time", "sort_by_label", "sort_by_label_desc", "ts_of_first_over_time",
        "ts_of_last_over_time", "ts_of_max_over_time", "ts_of_min_over_time",
    )
)  # fmt: skip
"""Refused by servers without a feature flag."""

AGGREGATIONS: dict[str, Signature] = {
    **_each(Signature(("instant",)), "sum min max avg group stddev stdvar count"),
    **_each(Signature(("scalar", "instant")), "topk bottomk quantile"),
    "count_values": Signature(("text", "instant")),
}
