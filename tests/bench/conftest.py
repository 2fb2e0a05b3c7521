"""The benchmarks are no installed package: their folder's parent is put on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
