"""Functions that are jobs: a schedule runs them, or a name says that they work on all that is due."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Scope

_SCHEDULED = lazy_regex(
    r"(^|\.)(Scheduled|Schedules|Cron|Interval|shared_task|periodic_task|scheduled_job|on_schedule|Recurring\w*|cron|task)$"
)
_CLASSES = lazy_regex(
    r"(Job|Task|Cron|Worker|Command|Sweeper|Cleaner|Cleanup|Run|Runner|Scheduler|Nightly|Daily|Weekly|Monthly|Backfill"
    r"|Reindexer|Exporter|Export|Archiver|Purger?|Expirer|Reminder|Reminders|Reconciler|Reconciliation|Digest|Sync"
    r"|Syncer|Batch|Rollup|Report|Reporter)(Service|Job|Task)?$"
)
_DOES_ALL = lazy_regex(
    r"^_?(export|purge|archive|clean_?up|sweep|expire|remind|re_?index|backfill|sync|reconcile|rebuild|dump|nightly|daily"
    r"|weekly|monthly|send_?\w*([rR]eminders|[dD]igests|[eE]mails)|process_?([aA]ll|[pP]ending)|notify_?\w*s|close|settle"
    r"|recalculate|refresh_?[aA]ll|migrate|bill|invoice|anonymi[sz]e|delete_?\w*(old|stale|expired)\w*)(_|[A-Z]|$)",
    re.IGNORECASE,
)
_OF_JOBS = lazy_regex(
    r"(Job|Task|Worker)$|(?i:nightly|daily|weekly|monthly|_job$|^job|cron|backfill|sweep|purge|archive|cleanup|digest"
    r"|remind|expire)"
)
"""Words of names of jobs, and of what they work on."""
_ASKS = lazy_regex(
    r"_?([gG]et|[fF]ind|[lL]ist|[iI]s|[hH]as|[cC]ount|[lL]oad|[fF]etch|[sS]elect|[qQ]uery)(_|[A-Z]|$)"
)
_SERVES = lazy_regex(r"(Repository|Repo|Dao|DAO|Store|Controller|Client)$")
"""Names of what a job asks: `findExpired`, `ArchiveRepository`."""


def is_job(scope: Scope) -> bool:
    """Return whether a function is a job, and no handler of a route."""
    if scope.route is not None:
        return False
    if scope.decorators and any(_SCHEDULED.search(each.name) for each in scope.decorators):
        return True
    return _is_job_by_names(scope.owner.rpartition(".")[2], scope.short_name)


@lru_cache(maxsize=8192)
def _is_job_by_names(owner: str, name: str) -> bool:
    if _CLASSES.search(owner) or _DOES_ALL.match(name):
        return True
    if _SERVES.search(owner) or _ASKS.match(name):
        return False
    return _OF_JOBS.search(owner) is not None or _OF_JOBS.search(name) is not None
