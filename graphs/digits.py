"""Parses lines of plain short numbers with array operations, eight digits at a time.

Many a file holds nothing but integers and decimals without a sign, of at most eight digits on
either side of the point. Each run of digits ends at a mark below "0". The eight bytes before the
mark are taken as one word, what is not of the run is shifted out, and neighbouring digits are
joined: to pairs, the pairs to fours, the fours to one number, by a multiplication each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD = 8  # bytes
_ZEROS = np.uint64(0x3030303030303030)  # "00000000"
_LARGEST_EXACT = 2**53  # beyond it, float64 does not hold every integer
_RUN, _GAP = b"[0-9]{1,8}", b"[ \t]"
_FORMS = {fields: _GAP.join([_RUN] * fields) + rb"(\.%b)?\n" % _RUN for fields in (2, 3)}
_POWERS = 10 ** np.arange(_WORD + 1)


def parse_digits(text: bytes, num_fields: int, tag: bytes = b"") -> list[NDArray[Any]] | None:
    """Parse lines that all have the form of the first, if that is a plain one.

    Parameters
    ----------
    text : bytes
        Whole lines.
    num_fields : int
        How many numbers each line must hold.
    tag : bytes
        A letter that stands before them, or nothing.

    Returns
    -------
    list of arrays, or None
        The numbers, int64, the last one float64 if it is decimal: the float nearest to what is
        written. None if a line has another form, a sign, an exponent, or too many digits.
    """
    first = text[: text.index(b"\n") + 1]
    if not re.fullmatch(b"%b%b" % (tag + _GAP if tag else b"", _FORMS[num_fields]), first):
        return None
    marks = first.translate(None, b"0123456789" + tag)
    is_decimal = marks.endswith(b".\n")
    padded = np.frombuffer(bytes(_WORD) + text, np.uint8)
    data = padded[_WORD:]
    stop = np.flatnonzero(data < ord("0"))
    num_lines = len(stop) // len(marks)
    if data.take(stop).tobytes() != marks * num_lines:
        return None
    if np.count_nonzero(data > ord("9")) != len(tag) * num_lines:
        return None
    length = stop.copy()
    length[1:] -= stop[:-1] + 1
    if tag:
        tags = data.take(stop[:: len(marks)] - 1)
        if (length[:: len(marks)] != 1).any() or (tags != ord(tag)).any():
            return None
        stop, length = (each.reshape(-1, len(marks))[:, 1:].ravel() for each in (stop, length))
    if length.min() < 1 or length.max() > _WORD:
        return None
    words = np.ndarray(len(text), "<u8", padded, strides=(1,)).take(stop)  # those that end there
    columns = list(_numbers(words, length).reshape(-1, num_fields + is_decimal).T.copy())
    if not is_decimal:
        return columns
    *rest, whole, fraction = columns
    scale = _POWERS[length[num_fields :: num_fields + 1]]
    digits = whole * scale + fraction
    # Both sides of the division are exact, so its rounding is the only one.
    return [*rest, digits / scale] if digits.max() < _LARGEST_EXACT else None


def _numbers(word: NDArray[np.uint64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn words whose last `length` bytes are digits into the numbers they write, in place."""
    others = (8 * (_WORD - length)).view(np.uint64)
    word ^= _ZEROS
    word >>= others
    word <<= others
    for bits, digits, kept in ((8, 10, 0x00FF00FF00FF00FF), (16, 100, 0x0000FFFF0000FFFF)):
        word *= np.uint64(1 + (digits << bits))
        word >>= np.uint64(bits)
        word &= np.uint64(kept)
    word *= np.uint64(1 + (10000 << 32))
    word >>= np.uint64(32)
    return word.view(np.int64)
