r"""Java regular expressions, in which AWS writes its services' patterns, as Python ones.

Java's ``\w``, ``\d`` and ``\s`` mean ASCII, ``\p{..}`` names a Unicode category or a POSIX class, and a pattern has to
match the whole value.
"""

from __future__ import annotations

import functools
import re
import string
import unicodedata
import warnings

__all__ = ["has_python_form", "matches"]

_ASCII, _UNICODE = 0x80, 0x110000
_POSIX = {
    "ASCII": "".join(map(chr, range(0x80))),
    "Alnum": string.ascii_letters + string.digits,
    "Alpha": string.ascii_letters,
    "Blank": " \t",
    "Cntrl": "".join(map(chr, [*range(0x20), 0x7F])),
    "Digit": string.digits,
    "Graph": "".join(map(chr, range(0x21, 0x7F))),
    "Lower": string.ascii_lowercase,
    "Print": "".join(map(chr, range(0x20, 0x7F))),
    "Punct": string.punctuation,
    "Space": " \t\n\x0b\f\r",
    "Upper": string.ascii_uppercase,
    "XDigit": string.hexdigits,
}
_CATEGORIES = {"LD": ("L", "Nd"), "IsAlphabetic": ("L", "Nl"), "IsWhitespace": ("Z",), "all": ("",)}
_TOKEN = re.compile(
    r"\\(?P<sign>[pP])(?:\{(?P<name>\w+)\}|(?P<letter>[A-Z]))"
    r"|\\u(?P<high>[dD][89abAB]\w\w)\\u(?P<low>[dD][c-fC-F]\w\w)"  # a surrogate pair is one character
    r"|\\x\{(?P<hex>\w+)\}"
    r"|(?P<end>\\z)"
    r"|(?P<wide>\\[wdsWDS])"
    r"|(?P<escaped>\\.)"
    r"|(?P<anchor>\$\{\d+,\d*\})"  # a repeated `$` is a plain one
    r"|(?P<open>\[\^?)|(?P<close>\])"
    r"|(?P<plain>.)",
    re.DOTALL,
)


def matches(pattern: str, value: str) -> bool:
    r"""Say whether a value satisfies a service's pattern, as a whole.

    A pattern whose Java meaning has no Python form is taken as satisfied, because a wrong refusal would be worse.

    Examples
    --------
    >>> matches(r"[\p{L}\p{N}_\-]+", "größe-1"), matches(r"[\p{L}]+", "a b")
    (True, False)
    """
    compiled = _compiled(pattern, _ASCII if value.isascii() else _UNICODE)
    return compiled is None or compiled.fullmatch(value) is not None


def has_python_form(pattern: str) -> bool:
    """Say whether values can be held against a pattern at all; see `matches`."""
    return _compiled(pattern, _ASCII) is not None


@functools.cache
def _compiled(pattern: str, top: int) -> re.Pattern[str] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # `||` in a class is two plain characters in Java as well
            return re.compile(_translate(pattern, top), re.ASCII)
    except re.error:
        return None


def _translate(pattern: str, top: int) -> str:
    out: list[str] = []
    in_class = False
    after_set = False  # a `-` after a set within a class is no range
    for token in _TOKEN.finditer(pattern):
        kind, text = token.lastgroup, token.group()
        was_set, after_set = after_set, False
        if kind in ("name", "letter"):
            body = _set(token["name"] or token["letter"], token["sign"] == "P", top)
            out.append(body if in_class else f"[{body}]")
            after_set = True
        elif kind == "low":
            point = 0x10000 + ((int(token["high"], 16) - 0xD800) << 10) + int(token["low"], 16) - 0xDC00
            out.append(f"\\U{point:08x}")
        elif kind == "hex":
            out.append(f"\\U{int(token['hex'], 16):08x}")
        elif kind == "plain" and text == "-" and was_set:
            out.append(r"\-")
        else:
            in_class, text = _step(kind, text, in_class)
            after_set = kind == "wide"
            out.append(text)
    return "".join(out)


def _step(kind: str | None, text: str, in_class: bool) -> tuple[bool, str]:
    """Keep track of where a class begins and ends."""
    if kind == "open" and not in_class:
        return True, text
    if kind == "open":
        raise re.error("a class within a class has no Python form")
    if kind == "close":
        return False, text
    if kind == "anchor" and not in_class:
        return in_class, "$"
    return in_class, r"\Z" if kind == "end" else text


@functools.cache
def _set(name: str, negated: bool, top: int) -> str:
    """Return the inside of a class that holds a named set's characters below `top`."""
    if name in _POSIX:
        members = set(_POSIX[name])
        inside = [chr(point) in members for point in range(top)]
    else:
        prefixes = _CATEGORIES.get(name, (name.removeprefix("Is"),))
        if max(map(len, prefixes)) > 2:
            raise re.error(f"{name} is no category")
        inside = [category.startswith(prefixes) for category in _categories(top)]
    return "".join(_ranges([is_in != negated for is_in in inside])) or r"\U0010ffff"


def _ranges(inside: list[bool]) -> list[str]:
    ranges, start = [], None
    for point, is_in in enumerate([*inside, False]):
        if is_in and start is None:
            start = point
        elif not is_in and start is not None:
            ranges.append(f"\\U{start:08x}-\\U{point - 1:08x}")
            start = None
    return ranges


@functools.cache
def _categories(top: int) -> list[str]:
    return [unicodedata.category(chr(point)) for point in range(top)]
