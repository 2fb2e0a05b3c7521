"""Watching a run without a terminal: not at all, or a line an item on stderr."""

from __future__ import annotations

from typing import Protocol

import click

from faultkit.base.secrets import mask_url
from faultkit.base.units import format_duration
from faultkit.scenario.progress import Event, ItemBegan, ItemEnded
from faultkit.scenario.report.text import one_line


class Watcher(Protocol):
    """A context manager that is told what happens."""

    def __enter__(self) -> Watcher: ...

    def __exit__(self, *exc: object) -> None: ...

    def watch(self, event: Event) -> None: ...


class Silent:
    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def watch(self, event: Event) -> None:
        pass


class Lines(Silent):
    """For logs: what begins, how long it takes, and how it ended."""

    def watch(self, event: Event) -> None:
        match event:
            case ItemBegan():
                takes = f", {format_duration(event.seconds)}" if event.seconds else ""
                call = event.item.call
                click.echo(
                    f"[{event.number}/{event.of}] {event.title}: {call.method} {mask_url(call.url)}{takes}",
                    err=True,
                )
            case ItemEnded():
                click.echo(f"      {one_line(event.report)}", err=True)
