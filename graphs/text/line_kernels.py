"""Compiled loops over bytes: parse lines of numbers to columns in one pass.

A decimal is rounded correctly: its digits, as an integer, are multiplied by a power of ten. For
this product, 128 bits of the power are always enough. Positions are unsigned, which saves a test
for negative positions.

Source: Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51(8),
2021; Mushtak and Lemire, "Fast number parsing without fallback", the same 53(7), 2023.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, assignment"
# Numba infers the types of kernels.

import numpy as np
from numba import njit

from ...runtime.intrinsics import OPTIONS, kernel
from .files import LARGEST_EXACT

_LINE_END, _RETURN, _TAB, _BLANK, _QUOTE = (np.uint8(ord(mark)) for mark in '\n\r\t "')
_PLUS, _MINUS, _POINT, _ZERO_DIGIT, _E = (np.uint8(ord(mark)) for mark in "+-.0e")
_LOWER_CASE, _NINE = np.uint8(0x20), np.uint8(9)
_MOST_DIGITS, _MOST_EXPONENT_DIGITS = np.uint64(19), np.uint64(4)
_LEAST_EXPONENT, _LARGEST_EXPONENT = -342, 308
_ZERO, _ONE, _THREE, _NINE_BITS, _TEN = (np.uint64(value) for value in (0, 1, 3, 9, 10))
_SIGN, _HALF, _LOW = np.uint64(63), np.uint64(32), np.uint64(2**32 - 1)
_MANTISSA_BITS, _BIAS = np.uint64(52), 1023


def _power(exponent: int) -> tuple[int, int]:
    """Return the leading 128 bits of 10^exponent as two words.

    They are truncated; for a negative exponent they are rounded up.
    """
    power = 5 ** abs(exponent)  # the factor 2^exponent does not change the leading bits
    length = power.bit_length()
    leading: int = (1 << length + 127) // power + 1 if exponent < 0 else (power << 128) >> length
    return divmod(leading, 2**64)


_POWERS = np.array([_power(q) for q in range(_LEAST_EXPONENT, _LARGEST_EXPONENT + 1)], np.uint64)

inlined = njit(forceinline=True, **OPTIONS)


@kernel(list(b"1 2\n2 1\n"), 0, [0, 1], 0, 1, 9, False, [[0, 0]] * 2)
def parse(text, tag, places, delimiter, first_id, num_ids, is_decimal, columns):
    """Fill the columns, and return whether all lines are plain. Each loop stops at a line end."""
    i = _ZERO
    for row in range(columns.shape[1]):
        if tag:
            if text[i] != tag or not _is_blank(text[i + _ONE]):
                return False
            i += _ONE
        for field in range(len(places)):
            if field:
                if not (text[i] == delimiter if delimiter else _is_blank(text[i])):
                    return False
                i += _ONE
            if text[i] <= _BLANK and not delimiter:
                i = _past_blanks(text, i)
            place, start = places[field], i
            if place < 0:
                i = _past_text(text, i, delimiter)
                continue
            if place < 2:
                word, i = _id(text, i, first_id, num_ids)
            elif is_decimal:
                word, i = _decimal(text, i)
            else:
                word, i = _integer(text, i)
            if i == start:
                return False
            columns[place, row] = word
        if text[i] != _LINE_END:
            if not delimiter:
                i = _past_blanks(text, i)
            i += np.uint64(text[i] == _RETURN)
            if text[i] != _LINE_END:
                return False
        i += _ONE
    return True


@inlined
def _is_blank(byte):
    return byte in (_BLANK, _TAB)


@inlined
def _past_blanks(text, i):
    while _is_blank(text[i]):
        i += _ONE
    return i


@inlined
def _past_text(text, i, delimiter):
    """Skip a field; return `start` if its closing quote is missing."""
    start, stop = i, delimiter
    if text[i] == _QUOTE:
        i, stop = i + _ONE, _QUOTE
    while text[i] != stop and text[i] != _QUOTE and text[i] != _RETURN and text[i] != _LINE_END:
        i += _ONE
    if stop == _QUOTE:
        return i + _ONE if text[i] == _QUOTE else start
    return i


@inlined
def _digits(text, i, value):
    digit = text[i] - _ZERO_DIGIT
    while digit <= _NINE:
        value = value * _TEN + np.uint64(digit)
        i += _ONE
        digit = text[i] - _ZERO_DIGIT
    return value, i


# Each of these returns a value and the end of its field. If the field is not plain, the end is the
# start.


@inlined
def _id(text, start, first_id, num_ids):
    value, i = _digits(text, start, _ZERO)
    value -= first_id
    return value, start if i - start > _MOST_DIGITS or value >= num_ids else i


@inlined
def _integer(text, start):
    is_negative = np.uint64(text[start] == _MINUS)
    first = start + is_negative
    value, i = _digits(text, first, _ZERO)
    if i == first or i - first > _MOST_DIGITS or value >> _SIGN:
        return value, start
    return (value ^ (_ZERO - is_negative)) + is_negative, i


@inlined
def _decimal(text, start):
    is_negative = np.uint64(text[start] == _MINUS)
    first = start + is_negative
    value, i = _digits(text, first, _ZERO)
    num_digits, exponent, is_integer = i - first, 0, True
    if text[i] == _POINT:
        point = i + _ONE
        value, i = _digits(text, point, value)
        num_digits += i - point
        exponent, is_integer = np.int64(point - i), False
    end = i
    if text[i] | _LOWER_CASE == _E:
        is_minus = text[i + _ONE] == _MINUS
        i += _ONE + np.uint64(is_minus or text[i + _ONE] == _PLUS)
        power, end = _digits(text, i, _ZERO)
        if end == i or end - i > _MOST_EXPONENT_DIGITS:
            return value, start
        exponent += -np.int64(power) if is_minus else np.int64(power)
        is_integer = False
    while num_digits > _MOST_DIGITS and (text[first] == _ZERO_DIGIT or text[first] == _POINT):
        num_digits -= np.uint64(text[first] == _ZERO_DIGIT)
        first += _ONE
    is_rounded = is_integer and value > np.uint64(LARGEST_EXACT)
    if is_rounded or num_digits == 0 or num_digits > _MOST_DIGITS:
        return value, start
    if value:
        if not _LEAST_EXPONENT <= exponent <= _LARGEST_EXPONENT:
            return value, start
        value = _nearest(value, exponent)
        if not value:
            return value, start
    return value | is_negative << _SIGN, end


@inlined
def _nearest(digits, exponent):
    """Return the bits of the float64 nearest to digits * 10^exponent.

    Return 0 for subnormal results, and for results in the last binade, which might round to
    infinity.
    """
    # Bits below set bits are cleared, so the conversion cannot round up to a power of two.
    length = (np.float64(digits & ~(digits >> _ONE)).view(np.int64) >> 52) - _BIAS + 1
    word = digits << np.uint64(64 - length)
    power = _POWERS[exponent - _LEAST_EXPONENT]
    high, low = _product(word, power[0]), word * power[0]
    more = _product(word, power[1])
    low += more
    high += np.uint64(low < more)
    top = high >> _SIGN
    shift = top + _NINE_BITS
    mantissa = high >> shift  # with one more bit, for rounding
    is_tie = low <= _ONE and mantissa << shift == high and -4 <= exponent <= 23
    if is_tie and mantissa & _THREE == _ONE:
        mantissa -= _ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    binade = (217706 * exponent >> 16) + length + np.int64(top) + _BIAS - 1  # log2(10) * 2^16
    # The leading bit of the mantissa, or its carry, is added to the exponent.
    return (np.uint64(binade - 1) << _MANTISSA_BITS) + mantissa if 0 < binade < 2046 else _ZERO


@inlined
def _product(a, b):
    """Return the upper 64 bits of the product of two words."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    first = a_high * b_low + (a_low * b_low >> _HALF)
    second = a_low * b_high + (first & _LOW)
    return a_high * b_high + (first >> _HALF) + (second >> _HALF)
