"""Serves the tools over HTTP with everything beside them, until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable

from faultkit.audit.access.access import Access
from faultkit.audit.access.door import AccessDoor
from faultkit.audit.calls import log_to
from faultkit.mcp.failures.run import ServeJob, run_server
from faultkit.web.ask import Audit
from faultkit.web.site import Site
from faultkit.web.slowing import SlowingDoor


async def serve_site(
    job: ServeJob,
    access: Access,
    audit: Audit | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> str:
    """Returns what ended it. Who may come in is known to the access, and has to be in the job as well."""
    site = Site(job.settings, audit, access, say=say)
    known = AccessDoor(access)
    await access.start()
    try:
        if audit is None:
            return await run_server(job, say, door=known, beside=site)
        door = SlowingDoor(known, audit.writer)
        try:
            return await run_server(job, say, log_to(audit.writer, wait=False), door, site)
        finally:
            await door.close()
    finally:
        await access.close()
