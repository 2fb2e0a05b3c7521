"""Seeded random numbers that are equal to the bit in every run, whatever the order of scheduling.

The generator is PCG-DXSM as Go's math/rand/v2 has it, seeded by FNV-1a of a key such as
`42|slow-db|3|to_client`. Two runs that ask the same key get the same numbers; nothing is global.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

NEVER = 1 << 62
"""More trials than any stream will ever see."""

_MASK64 = (1 << 64) - 1
_MASK128 = (1 << 128) - 1
_MULTIPLIER = 2549297995355413924 << 64 | 4865540595714422341
_INCREMENT = 6364136223846793005 << 64 | 1442695040888963407
_CHEAP_MULTIPLIER = 0xDA942042E4DD58B5
_UNSEEDED = -1
_COMMON_PARTS = 3
"""Parts of a key that many keys have in common, mostly: seed, rule, proxy."""
_STANDARD_NORMAL = NormalDist()


def fnv1a_64(text: str, value: int = 0xCBF29CE484222325) -> int:
    """Return the FNV-1a hash of the UTF-8 bytes of `text`, which may hold half of a surrogate pair.

    value: the hash of the text before it, if there is any"""
    for byte in text.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * 0x100000001B3 & _MASK64
    return value


_LANES = tuple(byte << 128 | byte for byte in range(256))
"""Each byte twice. Two hashes fit into one number, 128 bits apart: a product has 105 bits at most, so it
never reaches the other, and one multiplication serves both."""
_LANES_MASK = _MASK64 << 128 | _MASK64


def _hash_both(text: str, lanes: int) -> int:
    """Continue two FNV-1a hashes by the same text."""
    for byte in text.encode("utf-8", "surrogatepass"):
        lanes = (lanes ^ _LANES[byte]) * 0x100000001B3 & _LANES_MASK
    return lanes


@lru_cache(1024)
def _common_hashes(prefix: str) -> int:
    """Return both hashes of the beginning of a key: those of a rule's units have it in common."""
    return _hash_both(prefix, fnv1a_64("") << 128 | fnv1a_64("salt|"))


def _seed(key: str) -> int:
    """Return the FNV-1a hashes of a key, and of the key with the salt before it, as 128 bits."""
    rest = key.split("|", _COMMON_PARTS)[-1]
    lanes = _hash_both(rest, _common_hashes(key[: len(key) - len(rest)]))
    return lanes >> 128 << 64 | lanes & _MASK64


class Rng:
    """One stream of random numbers, named by its key."""

    __slots__ = ("_state", "key")

    def __init__(self, key: str, word1: int | None = None, word2: int = 0) -> None:
        self.key = key
        self._state = _UNSEEDED if word1 is None else word1 << 64 | word2
        """Without words, the first draw sets it from the key: many streams are never read."""

    @classmethod
    def keyed(cls, *parts: object) -> Rng:
        """Return the stream named by `parts`, for example `Rng.keyed(seed, rule, connection, flow)`."""
        key = "|".join(map(str, parts))
        return cls(key)

    def child(self, *parts: object) -> Rng:
        """Return a stream below this one, independent of how far this one has been read."""
        return Rng.keyed(self.key, *parts)

    def uint64(self) -> int:
        if self._state == _UNSEEDED:
            self._state = _seed(self.key)
        self._state = state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK128
        high, low = state >> 64, state & _MASK64
        high ^= high >> 32
        high = high * _CHEAP_MULTIPLIER & _MASK64
        high ^= high >> 48
        return high * (low | 1) & _MASK64

    def uniform(self) -> float:
        """Return a number in [0, 1), with 53 bits."""
        return (self.uint64() & ((1 << 53) - 1)) / (1 << 53)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.uniform()

    def below(self, limit: int) -> int:
        """Return a whole number in [0, limit). Its bias is below limit / 2**64."""
        return self.uint64() * limit >> 64

    def chance(self, probability: float) -> bool:
        return self.uniform() < probability

    def gap(self, probability: float) -> int:
        """Return how many trials of this probability fail before the next one succeeds; NEVER for 0.

        This takes one draw instead of one for each trial, so rare events are cheap.
        """
        if probability <= 0:
            return NEVER
        if probability >= 1:
            return 0
        trials = math.log1p(-self.uniform()) / math.log1p(-probability)
        return int(trials) if trials < NEVER else NEVER

    def normal(self, mean: float, stddev: float) -> float:
        """Draw from a normal distribution, with exactly one number of the stream: streams stay aligned."""
        # The inverse is not defined at 0; half a step of the 53-bit grid keeps the draw inside.
        return mean + stddev * _STANDARD_NORMAL.inv_cdf(self.uniform() + 2.0**-54)

    def pareto(self, scale: float, shape: float) -> float:
        """Draw from a Pareto distribution above `scale`; the mean is scale·shape/(shape−1) for shape > 1."""
        # A very heavy tail goes beyond what a float can hold; e**700 is already more than any use.
        return scale * math.exp(min(-math.log1p(-self.uniform()) / shape, 700.0))
