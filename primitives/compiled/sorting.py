"""Kernels that sort integers by a bit set, and records by radix."""

import numpy as np

from ...runtime.intrinsics import fetch, lowest_bit
from ...runtime.kernels import LINE, ONE, helper, kernel
from .elements import sum_before


@helper
def count_ones(word):
    """Return the number of set bits. They are added up in fields of 2, 4 and 8 bits."""
    word -= (word >> ONE) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def find_range(start, stop, values):
    """Return the smallest and the largest value."""
    lowest = highest = values[start]
    for i in range(np.uint64(start), np.uint64(stop)):
        lowest, highest = min(lowest, values[i]), max(highest, values[i])
    return np.int64(lowest), np.int64(highest)


@kernel
def mark(start, stop, values, lowest, bits):
    """Set the bit of each value; bit 0 stands for `lowest`."""
    for i in range(start, stop):
        bit = np.uint64(values[i]) - lowest
        bits[bit >> np.uint64(6)] |= ONE << (bit & np.uint64(63))


@kernel
def join_marks(start, stop, share, counts, rows):
    """Combine all rows into the first one; count the set bits."""
    total = np.uint64(0)
    for i in range(start, stop):
        for row in range(1, len(rows)):
            rows[0, i] |= rows[row, i]
        total += count_ones(rows[0, i])
    counts[share] = total


@kernel
def list_marks(start, stop, share, counts, bits, lowest, out):
    """Write the values of the set bits, in ascending order, after those of earlier shares."""
    place = sum_before(share, counts)
    for i in range(start, stop):
        word = bits[i]
        while word:
            out[place] = lowest + np.uint64(i * 64) + lowest_bit(word)
            place += 1
            word &= word - ONE


@kernel
def count_before(bits, before):
    """Write the number of bits set in the words before each word; return the total."""
    total = np.uint64(0)
    for i in range(len(bits)):
        before[i] = total
        total += count_ones(bits[i])
    return np.int64(total)


@kernel
def rank_marks(start, stop, values, bits, before, out):
    """Write the number of set bits that stand for smaller values than each value."""
    for i in range(start, stop):
        value = np.uint64(values[i])
        word, below = value >> np.uint64(6), (ONE << (value & np.uint64(63))) - ONE
        out[i] = before[word] + count_ones(bits[word] & below)


@kernel
def make_records(start, stop, key, lowest, shift, order, records):
    """Pack 32 bits of each key above its position, in the given order unless `order` is empty."""
    for i in range(start, stop):
        place = np.uint64(order[i]) if len(order) else np.uint64(i)
        half = (np.uint64(key[place]) - lowest) >> np.uint64(shift)
        records[i] = half << np.uint64(32) | place


@kernel
def count_digits(start, stop, records, shift, counts):
    """Count the records with each digit."""
    shift, low = np.uint64(shift), np.uint64(len(counts) - 1)
    for i in range(start, stop):
        counts[(records[i] >> shift) & low] += 1


@kernel
def make_places(counts, total):
    """Replace the count of each share and bucket by the first place of its elements.

    A share is a row, and a bucket is a column. Add the counts of all shares to `total`.
    """
    for row in range(len(counts)):
        for bucket in range(len(total)):
            counts[row, bucket], total[bucket] = total[bucket], total[bucket] + counts[row, bucket]
    for row in range(len(counts)):
        place = np.uint64(0)
        for bucket in range(len(total)):
            counts[row, bucket] += place
            place += total[bucket]


@kernel
def sort_by_digit(start, stop, records, shift, places, moved):
    """Move each record to the next place of its digit; equal digits keep their order."""
    shift, low = np.uint64(shift), np.uint64(len(places) - 1)
    for i in range(start, stop):
        digit = (records[i] >> shift) & low
        place = places[digit]
        places[digit] = place + ONE
        fetch(moved, place + LINE)
        moved[place] = records[i]


@kernel
def sort_ties(records, key, patience):
    """Sort records with equal upper halves by whole keys.

    Stop and return False if it takes more than `patience` moves.
    """
    half = np.uint64(32)
    low = (ONE << half) - ONE
    for i in range(1, len(records)):
        record = records[i]
        while i > 0 and records[i - 1] >> half == record >> half:
            if key[records[i - 1] & low] <= key[record & low]:
                break
            records[i] = records[i - 1]
            i -= 1
            patience -= 1
        records[i] = record
        if patience < 0:
            return False
    return True


@kernel
def list_positions(start, stop, records, order):
    """Unpack the positions from sorted records."""
    for i in range(start, stop):
        order[i] = records[i] & np.uint64(2**32 - 1)
