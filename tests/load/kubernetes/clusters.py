"""The clusters that tests run against: the stand-in, and the real one if its programs are there."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from tests.load.kubernetes.real_cluster import BIN, RealCluster
from tests.load.kubernetes.stand_in_cluster import StandInCluster

Cluster: TypeAlias = StandInCluster | RealCluster
KINDS = ["stand-in", "real"] if BIN else ["stand-in"]


def cluster_of(kind: str, folder: Path) -> Cluster:
    """Return a cluster that is not started yet."""
    return RealCluster(folder) if kind == "real" else StandInCluster(folder)
