"""Lines of fields without what surrounds the fields: comments, empty lines, spaces and tabs."""

from __future__ import annotations

import functools
import re


def tidied(text: bytes, delimiter: bytes, comments: bytes = b"") -> bytes:
    """Return lines with one delimiter between fields, and none before and after them.

    Spaces and tabs around a field are not part of it; within quotes they are. Lines are dropped if
    they are empty, or start with one of the bytes `comments`.
    """
    text = text if text.endswith(b"\n") else text + b"\n"
    if b'"' in text:
        return _field(delimiter, comments).sub(functools.partial(_plain, delimiter), text)
    text = text.replace(b"\r\n", b"\n")
    if delimiter == b" ":
        text = with_single_spaces(text.replace(b"\t", b" "))
    else:
        for blank in _blanks(delimiter):
            for mark in (delimiter, b"\n"):
                while blank + mark in text:  # much faster than a regular expression
                    text = text.replace(blank + mark, mark)
                while mark + blank in text:
                    text = text.replace(mark + blank, mark)
            text = text.lstrip(blank)
    if has_comments(text, comments) or b"\n\n" in text or text.startswith(b"\n"):
        lines = text.split(b"\n")
        text = b"".join(line + b"\n" for line in lines if line and line[:1] not in comments)
    return text


def has_comments(text: bytes, comments: bytes) -> bool:
    """Return whether a line may start with one of the bytes `comments`."""
    return any(b"\n" + bytes([mark]) in b"\n" + text for mark in comments)


def with_single_spaces(text: bytes) -> bytes:
    """Return lines with one space between fields, and none before and after them."""
    while b"  " in text:  # much faster than a regular expression
        text = text.replace(b"  ", b" ")
    return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")


def _blanks(delimiter: bytes) -> list[bytes]:
    return [b" "] if delimiter == b"\t" else [b" ", b"\t"]


@functools.cache
def _field(delimiter: bytes, comments: bytes) -> re.Pattern[bytes]:
    """Return a pattern that matches a line to drop, or else a field with what follows it."""
    blank = b"[" + b"".join(_blanks(delimiter)) + b"]"
    separator = blank + b"+" if delimiter == b" " else blank + b"*" + re.escape(delimiter)
    inside = rb"[^ \t\n]" if delimiter == b" " else rb"[^" + re.escape(delimiter) + rb"\n]"
    dropped = rb"(?:[" + re.escape(comments) + rb"][^\n]*)?" if comments else b""
    return re.compile(
        rb"(?<![^\n])" + blank + b"*" + dropped + rb"\r?\n"
        rb"|" + blank + rb'*("(?:[^"]|"")*"|' + inside + rb"*?)"
        rb"(?:" + blank + rb"*\r?(\n)|" + separator + rb")"
    )


def _plain(delimiter: bytes, match: re.Match[bytes]) -> bytes:
    """Return a field without the spaces around it; nothing for a line to drop."""
    field, line_end = match.groups()
    return b"" if field is None else field + (line_end or delimiter)
