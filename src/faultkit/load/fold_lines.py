"""The folds of a load as lines of text, for any transport that carries text. Pure."""

from __future__ import annotations

import base64
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from zlib import compress, decompress

from faultkit.base.histogram import Histogram
from faultkit.load.expectation import Misses
from faultkit.load.fold import Counts, Fold
from faultkit.load.item_figures import FigureSlot, ItemFigures
from faultkit.load.part_lines import PartReader, PartWriter, WorkerLost
from faultkit.load.samples import Sample, Samples
from faultkit.load.tally import HistogramRun, Slot, Tally

__all__ = ["LineReader", "LineWriter", "WorkerLost"]


class LineWriter(PartWriter[Fold]):
    """Writes the messages of one worker of a load."""

    counted = "requests"

    def _document(self, message: Fold) -> dict[str, Any]:
        return {"counts": asdict(message.counts), "tally": _tally_document(message.tally)}

    def _count(self, message: Fold) -> int:
        return message.tally.requests


class LineReader(PartReader[Fold]):
    """Reads the messages of one worker of a load, and checks that they are all of them."""

    counted = "requests"

    def _message(self, document: Mapping[str, Any]) -> Fold:
        return Fold(Counts(**document["counts"]), _tally_of(document["tally"]))

    def _count(self, message: Fold) -> int:
        return message.tally.requests


# --- tallies ----------------------------------------------------------------------------------


def _tally_document(tally: Tally) -> dict[str, Any]:
    histograms = tally.histograms
    return {
        "samples": _samples_document(tally.samples),
        "histograms": None if histograms is None else _run_document(histograms),
        "misses": [tally.misses.count, tally.misses.first_at],
        "figures": None if tally.figures is None else _figures_document(tally.figures),
    }


def _tally_of(document: Mapping[str, Any]) -> Tally:
    count, first_at = document["misses"]
    first = None if first_at is None else (float(first_at[0]), float(first_at[1]), str(first_at[2]))
    histograms = document["histograms"]
    return Tally(
        samples=_samples_of(document["samples"]),
        histograms=None if histograms is None else _run_of(histograms),
        misses=Misses(int(count), first),
        figures=None if document["figures"] is None else _figures_of(document["figures"]),
    )


_LITTLE_ENDIAN = array("H", [1]).tobytes() == b"\x01\x00"


def _samples_document(samples: Samples) -> dict[str, str]:
    return {
        name: base64.b64encode(_swapped(getattr(samples, name)).tobytes()).decode() for name in Sample._fields
    }


def _samples_of(document: Mapping[str, str]) -> Samples:
    samples = Samples()
    for name in Sample._fields:
        column = array(getattr(samples, name).typecode)
        column.frombytes(base64.b64decode(document[name], validate=True))
        setattr(samples, name, _swapped(column))
    if len({len(getattr(samples, name)) for name in Sample._fields}) > 1:
        raise ValueError("samples: expected columns of one length, got others")
    return samples


def _swapped(column: array[Any]) -> array[Any]:
    """Return the column as it is on the wire, which is little-endian, and back."""
    if _LITTLE_ENDIAN:
        return column
    other = column[:]
    other.byteswap()
    return other


def _run_document(run: HistogramRun) -> dict[str, Any]:
    return {
        "failures": _pairs(run.failures),
        "statuses": _pairs(run.statuses),
        "received_bytes": run.received_bytes,
        "service": _histogram_document(run.service),
        "parts": {name: _histogram_document(each) for name, each in run.parts.items()},
        "lateness": _histogram_document(run.lateness),
        "late": run.late,
        "slots": [
            [number, _histogram_document(slot.answered), _histogram_document(slot.failed)]
            for number, slot in run.slots.items()
        ],
        "slot_s": run.slot_s,
    }


def _run_of(document: Mapping[str, Any]) -> HistogramRun:
    run = HistogramRun(
        failures=_counter(document["failures"]),
        statuses=_counter(document["statuses"]),
        received_bytes=int(document["received_bytes"]),
        service=_histogram_of(document["service"]),
        lateness=_histogram_of(document["lateness"]),
        late=int(document["late"]),
        slot_s=int(document["slot_s"]),
    )
    for name in run.parts:
        run.parts[name] = _histogram_of(document["parts"][name])
    for number, answered, failed in document["slots"]:
        run.slots[int(number)] = Slot(_histogram_of(answered), _histogram_of(failed))
    return run


def _figures_document(figures: ItemFigures) -> dict[str, Any]:
    return {
        "kind": figures.kind,
        "counts": [figures.events, figures.sessions, figures.restarts, figures.tokens],
        "slot_s": figures.slot_s,
        "slots": [
            [
                number,
                _pairs(slot.failures),
                slot.begun,
                slot.early_ends,
                slot.refusals,
                *map(_histogram_document, (slot.first_event, slot.no_event, slot.gaps, slot.token_time)),
            ]
            for number, slot in figures.slots.items()
        ],
    }


def _figures_of(document: Mapping[str, Any]) -> ItemFigures:
    events, sessions, restarts, tokens = map(int, document["counts"])
    figures = ItemFigures(
        document["kind"],
        slot_s=int(document["slot_s"]),
        events=events,
        sessions=sessions,
        restarts=restarts,
        tokens=tokens,
    )
    for number, failures, begun, early_ends, refusals, *times in document["slots"]:
        first_event, no_event, gaps, token_time = map(_histogram_of, times)
        figures.slots[int(number)] = FigureSlot(
            _counter(failures),
            int(begun),
            int(early_ends),
            first_event,
            no_event,
            gaps,
            int(refusals),
            token_time,
        )
    return figures


def _histogram_document(histogram: Histogram) -> list[Any]:
    blocks = {
        number: base64.b64encode(compress(_bytes_of(packed), level=1)).decode()
        for number, packed in histogram.blocks.items()
    }
    rest = (histogram.count, histogram.sum_us, histogram.square_sum_us)
    return [blocks, *rest, histogram.least_us, histogram.most_us]


def _histogram_of(document: list[Any]) -> Histogram:
    blocks, *rest = document
    unpacked = {
        int(number): int.from_bytes(decompress(base64.b64decode(text, validate=True)), "little")
        for number, text in blocks.items()
    }
    return Histogram(unpacked, *rest)


def _bytes_of(packed: int) -> bytes:
    return packed.to_bytes((packed.bit_length() + 7) // 8, "little")


def _pairs(counter: Counter[int]) -> list[list[int]]:
    return [list(counter), list(counter.values())]


def _counter(pairs: list[list[int]]) -> Counter[int]:
    keys, counts = pairs
    return Counter(dict(zip(keys, counts, strict=True)))
