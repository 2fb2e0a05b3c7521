"""Whether a text is PromQL, and if not, what is wrong with it and where. Pure.

Held against the language of Prometheus 3 without its experimental features. What only shows when a query runs
(a metric that nobody records, a label that is not there) is not known here.
"""

from faultkit.code.promql.parse import problem_of, type_of

__all__ = ["problem_of", "type_of"]
