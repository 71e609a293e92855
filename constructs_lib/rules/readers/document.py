"""One file as plain data, with the line of everything in it; what cannot be read is said with its line.

JSON is parsed by `json` (strict, fast) and gets its lines only when someone asks for one; YAML is composed once, with
CloudFormation's short intrinsics (``!Ref X``) turned into their long form.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Document", "UnreadableError", "dotted", "read_document"]

MAX_BYTES = 10 * 1024 * 1024
MAX_DEPTH = 100
# An alias bomb is small on disk: this bounds what it would unfold to.
MAX_NODES = 2_000_000

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BARE_SHORT = frozenset({"Ref", "Condition"})
_LAST_KEY = re.compile(r"(\.[^.\[]*|\[\d+\]|^[^.\[]+)$")
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


class UnreadableError(Exception):
    """A file that cannot be read as JSON or YAML.

    Parameters
    ----------
    reason : str
        What is wrong, in words.
    line : int, optional
        Where, from 1.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(slots=True)
class Document:
    """A parsed file.

    Parameters
    ----------
    name : str
        The file's name as given, ``-`` for standard input.
    data : Any
        Plain data: dicts, lists, strings, numbers, booleans, None.
    text : str
        The file's text.
    """

    name: str
    data: Any
    text: str
    _lines: dict[str, int] | None = field(default=None, repr=False)

    def line(self, path: str) -> int | None:
        """Return the line of a `dotted` path, or of its nearest parent that stands in the text."""
        if self._lines is None:
            self._lines = _lines_of(_compose(self.text.replace("\t", " ")))
        while path and path not in self._lines:
            path = _LAST_KEY.sub("", path)
        return self._lines.get(path)


def dotted(path: Sequence[str | int]) -> str:
    """Return a path for people.

    Examples
    --------
    >>> dotted(("Resources", "Job", "Properties", "Tags", 0, "Key"))
    'Resources.Job.Properties.Tags[0].Key'
    """
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


def read_document(content: bytes, name: str) -> Document:
    r"""Parse the bytes of one file.

    Parameters
    ----------
    content : bytes
        UTF-8 text, JSON or YAML, at most ``MAX_BYTES``.
    name : str
        Used in the document, not opened.

    Raises
    ------
    UnreadableError
        Too large, binary, not UTF-8, not JSON or YAML, nested too deeply, or unfolding to too much.

    Examples
    --------
    >>> document = read_document(b'{"A":\n {"B": 1}}', "x.json")
    >>> document.data, document.line("A.B")
    ({'A': {'B': 1}}, 2)
    """
    text = _decode(content)
    if not text.strip():
        raise UnreadableError("the file is empty")
    if text.lstrip().startswith(("{", "[")):
        return Document(name, _json(text), text)
    node = _compose(text)
    _check_size(node)
    return Document(name, _plain(node), text, _lines=_lines_of(node))


def _decode(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise UnreadableError(f"{len(content):,} bytes; at most {MAX_BYTES:,} are read")
    if b"\0" in content[:65536]:
        raise UnreadableError("binary data, not text")
    try:
        return content.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UnreadableError("not UTF-8 text", line) from error


def _json(text: str) -> Any:
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise UnreadableError(f"nested more than {MAX_DEPTH} levels deep") from error
    except json.JSONDecodeError as error:
        if _is_flow_yaml(text):
            node = _compose(text)
            _check_size(node)
            return _plain(node)
        raise UnreadableError(_json_words(text, error), error.lineno) from error
    except ValueError as error:  # an integer with too many digits to convert
        raise UnreadableError(str(error)) from error
    _check_depth(data)
    return data


def _json_words(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :].lstrip()
    if rest.startswith(("//", "/*", "#")):
        return "not JSON: comments are not allowed in JSON"
    if not rest:
        return "not JSON: the text ends in the middle"
    return f"not JSON: {error.msg.lower()} (column {error.colno})"


def _is_flow_yaml(text: str) -> bool:
    """Tell whether text that starts like JSON is YAML in flow style: short intrinsics give it away."""
    return bool(re.search(r"[\[{,:]\s*!(Ref|Sub|GetAtt|Join|If|Select|FindInMap)\b", text))


def _compose(text: str) -> yaml.Node:
    try:
        nodes = list(yaml.compose_all(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = (error.problem or "not YAML").lower()
        raise UnreadableError(f"not YAML: {words}", mark.line + 1 if mark else None) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise UnreadableError(f"not YAML: {str(error).lower()}") from error
    if not nodes:
        raise UnreadableError("the file holds no data")
    # Several documents in one file (as Kubernetes has them) are a list of documents.
    return nodes[0] if len(nodes) == 1 else yaml.SequenceNode("tag:yaml.org,2002:seq", nodes, nodes[0].start_mark)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _check_size(root: yaml.Node) -> None:
    """Refuse what nests too deeply, refers to itself, or unfolds to too much, before unfolding it."""
    sizes: dict[int, int] = {}
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    depth: set[int] = set()
    while stack:
        node, done = stack.pop()
        children = _children(node)
        if done:
            depth.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)
            if sizes[id(node)] > MAX_NODES:
                raise UnreadableError(f"its aliases unfold to more than {MAX_NODES:,} values", node.start_mark.line + 1)
        elif id(node) in depth:
            raise UnreadableError("an alias refers to itself", node.start_mark.line + 1)
        elif id(node) not in sizes:
            depth.add(id(node))
            if len(depth) > MAX_DEPTH:
                raise UnreadableError(f"nested more than {MAX_DEPTH} levels deep", node.start_mark.line + 1)
            stack.append((node, True))
            stack.extend((child, False) for child in children)


def _check_depth(data: Any) -> None:
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return
        level = [
            child
            for value in level
            for child in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
            if isinstance(child, dict | list)
        ]
    raise UnreadableError(f"nested more than {MAX_DEPTH} levels deep")


def _plain(node: yaml.Node) -> Any:
    if node.tag.startswith("!"):
        return _short_intrinsic(node)
    if isinstance(node, yaml.MappingNode):
        return {_key(key): _plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child) for child in node.value]
    return _scalar(node)


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise UnreadableError("a mapping's key is not text", node.start_mark.line + 1)
    return str(node.value)


def _scalar(node: yaml.Node) -> Any:
    # Dates stay text: a template's Version: 2012-10-17 is a string to CloudFormation.
    if node.tag == "tag:yaml.org,2002:timestamp":
        return node.value
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    except (yaml.YAMLError, ValueError) as error:
        raise UnreadableError(f"not YAML: {str(error).splitlines()[0].lower()}", node.start_mark.line + 1) from error


def _short_intrinsic(node: yaml.Node) -> Any:
    """Turn ``!Ref X`` into ``{"Ref": "X"}``, ``!GetAtt A.B`` into ``{"Fn::GetAtt": ["A", "B"]}``, and so on."""
    name = node.tag[1:]
    if isinstance(node, yaml.MappingNode):
        value: Any = {_key(key): _plain(child) for key, child in node.value}
    elif isinstance(node, yaml.SequenceNode):
        value = [_plain(child) for child in node.value]
    else:
        value = node.value
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {name if name in _BARE_SHORT else f"Fn::{name}": value}


def _lines_of(root: yaml.Node) -> dict[str, int]:
    return {dotted(path): line for path, line in _lines(root)}


def _lines(
    node: yaml.Node, path: tuple[str | int, ...] = (), seen: frozenset[int] = frozenset()
) -> Iterator[tuple[tuple[str | int, ...], int]]:
    if id(node) in seen:
        return
    seen = seen | {id(node)}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, str(key.value))
            yield here, key.start_mark.line + 1
            yield from _lines(value, here, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            here = (*path, index)
            yield here, value.start_mark.line + 1
            yield from _lines(value, here, seen)
