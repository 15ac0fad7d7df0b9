"""Counter-based random numbers and samples: pure functions of a counter and a key.

The functions have no state, so an edge of a generated graph does not depend on the block in which
it is computed. All arithmetic is modulo 2^64.
"""

from __future__ import annotations

import functools
import zlib

import numpy as np

from ...graphs.permutation import Words, permute

_GOLDEN = 0x9E3779B97F4A7C15
_KEPT_PER_BLOCK = 2**11  # numbers that a block of a sample keeps: few, so short ranges are cheap


@functools.lru_cache(maxsize=1024)
def stream_key(seed: int, name: str) -> int:
    """Return the key of one of the independent streams of a seed."""
    label = np.array([zlib.crc32(name.encode())], dtype=np.uint64)
    return int(draw(draw(label, 0), seed)[0])


def draw(counters: Words, key: int) -> Words:
    """Draw 64 random bits for each counter c: the output of step c of SplitMix64 from state `key`.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    words = counters * _GOLDEN
    words += key
    words ^= words >> 30
    words *= 0xBF58476D1CE4E5B9
    words ^= words >> 27
    words *= 0x94D049BB133111EB
    words ^= words >> 31
    return words


def draw_below(counters: Words, bound: int, key: int) -> Words:
    """Draw an integer from 0 to `bound` - 1 for each counter, uniformly; `bound` is 1 to 2^64."""
    words = draw(counters, key)
    # Words beyond the last multiple of `bound` would bias the remainder, so they are redrawn.
    last = 2**64 - 2**64 % bound - 1
    while (beyond := np.flatnonzero(words > last)).size:
        words[beyond] = draw(words[beyond], key)
    return words if bound == 2**64 else words % bound


def sample(ranks: Words, kept: int, total: int, key: int) -> Words:
    """Choose `kept` of the numbers 0 to `total` - 1 at random; return those with the given ranks.

    The numbers are divided into blocks. Each block keeps its rounded share of numbers, in random
    order. A rank counts the kept numbers through all blocks.
    """
    blocks, dropped = _num_blocks(kept), total - kept
    block = _block_of(ranks, kept, blocks)
    start, dropped_before = _start_of(block, kept, blocks), _start_of(block, dropped, blocks)
    size = _start_of(block + 1, kept, blocks) - start
    size += _start_of(block + 1, dropped, blocks) - dropped_before
    largest = kept // blocks + dropped // blocks + 2
    within = permute(ranks - start, size, (largest - 1).bit_length(), draw(block, key))
    return within + start + dropped_before


def sorted_sample(start: int, stop: int, kept: int, total: int, key: int) -> Words:
    """Return the numbers at positions `start` to `stop` - 1 of a `sample` in ascending order."""
    blocks = _num_blocks(kept)
    ends = _block_of(np.array([start, stop - 1], dtype=np.uint64), kept, blocks)
    low, high = _start_of(ends + np.array([0, 1], dtype=np.uint64), kept, blocks).tolist()
    chosen = sample(np.arange(low, high, dtype=np.uint64), kept, total, key)
    return np.sort(chosen)[start - low : stop - low]


def _num_blocks(kept: int) -> int:
    return min(max(kept // _KEPT_PER_BLOCK, 1), 2**32)


def _start_of(block: Words, total: int, blocks: int) -> Words:
    """Return block * total // blocks, the first of `total` numbers in a block, without overflow."""
    quotient, remainder = divmod(total, blocks)
    return block * quotient + block * remainder // blocks


def _block_of(ranks: Words, total: int, blocks: int) -> Words:
    """Return the block of each of `total` numbers, by its rank."""
    block: Words = (ranks * (blocks / total)).astype(np.uint64)
    block -= _start_of(block, total, blocks) > ranks  # rounding is off by at most one
    block += _start_of(block + 1, total, blocks) <= ranks
    return block
