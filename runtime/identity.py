"""Identities of functions and values: digests of everything that determines their results."""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from ..errors import OptionError

_PACKAGE = __name__.partition(".")[0]
_PLAIN_TYPES = (bool, int, float, complex, str, bytes, type(None), type(...))
#: Attributes of classes that do not determine the results of their methods.
_IGNORED_ATTRIBUTES = ("__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl")
_SLOT_TYPES = (GetSetDescriptorType, MemberDescriptorType)
#: Attributes with the Python function of a compiled or wrapped one: of Numba and of functools.
_WRAPPED_ATTRIBUTES = ("py_func", "__wrapped__")


def identify(value: Any) -> str:
    """Return a digest of a value that is the same in every process.

    The digest of a function covers its code, its defaults, the values of its closure and the
    globals that it reads; and the same of each function and class among these. Code of installed
    packages is identified by its name, and a module of the caller by the text of all of the
    caller's modules that it uses. A value with an object whose state cannot be read, such as an
    open file, is an error.
    """
    return digest(repr(_Description().of(value)).encode())


def digest(*data: Any) -> str:
    """Return the BLAKE2b digest of bytes-like values."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in data:
        hasher.update(part)
    return hasher.hexdigest()


class _Description:
    """Descriptions of values as nested tuples; an object that occurs again is only numbered."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[int, Any]] = {}  # the objects too, so that no id is reused

    def of(self, value: Any) -> Any:
        if type(value) in _PLAIN_TYPES:
            return type(value).__name__, repr(value)
        if type(value) in (tuple, list):
            return type(value).__name__, *map(self.of, value)
        if type(value) is dict:
            return "dict", *map(self.of, value.items())
        if type(value) in (set, frozenset):
            return "set", *sorted(repr(self.of(item)) for item in value)
        if isinstance(value, ModuleType):
            return "module", value.__name__, *map(_source, _caller_modules(value))
        if id(value) in self.known:
            return "known", self.known[id(value)][0]
        self.known[id(value)] = len(self.known), value
        return self._object(value)

    def _object(self, value: Any) -> Any:
        if isinstance(value, CodeType):
            names = value.co_names, value.co_varnames, value.co_freevars
            counts = value.co_argcount, value.co_kwonlyargcount, value.co_flags
            return "code", value.co_code, names, counts, *map(self.of, value.co_consts)
        if (name := _installed_name(value)) is not None:
            return "installed", name
        if isinstance(value, FunctionType):
            return "function", *map(self.of, _parts_of_function(value))
        if isinstance(value, type):
            return "class", value.__qualname__, self.of(value.__bases__), self.of(_members(value))
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return "array", value.dtype.str, value.shape, digest(np.ascontiguousarray(value).data)
        if isinstance(value, property):
            return "property", self.of(value.fget)
        for inner in _WRAPPED_ATTRIBUTES:
            if hasattr(type(value), inner) or inner in getattr(value, "__dict__", ()):
                return inner, self.of(getattr(value, inner))
        return "object", *map(self.of, _parts_of_pickle(value))


def _members(kind: type) -> list[tuple[str, Any]]:
    """Return the attributes that determine the results of the methods of a class."""
    return [
        (name, item)
        for name, item in sorted(vars(kind).items())
        if name not in _IGNORED_ATTRIBUTES and not isinstance(item, _SLOT_TYPES)
    ]


def _parts_of_function(function: FunctionType) -> Iterator[Any]:
    """Yield everything that determines the result of a function."""
    yield from (function.__code__, function.__defaults__, function.__kwdefaults__)
    yield vars(function)
    yield [_content(cell) for cell in function.__closure__ or ()]
    known = function.__globals__
    yield {name: known[name] for name in sorted(_globals_of(function.__code__)) if name in known}
    imported = map(sys.modules.get, sorted(_globals_of(function.__code__, "IMPORT_NAME")))
    yield [module for module in imported if module is not None and _is_callers(module)]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _globals_of(code: CodeType, operation: str = "LOAD_GLOBAL") -> set[str]:
    """Return the names of the globals that code reads, including the functions inside it."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname == operation}
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return names.union(*(_globals_of(each, operation) for each in inner))


def _parts_of_pickle(value: Any) -> Iterable[Any]:
    """Return how an object would be pickled: a function, its arguments, and a state."""
    try:
        reduced = value.__reduce_ex__(2)
    except Exception as error:  # objects may raise anything
        reduced = str(error)
    if isinstance(reduced, str):
        raise OptionError(
            f"a checkpoint cannot identify {value!r:.80}: {reduced}; pass a function of arrays and "
            "numbers, or leave out checkpoint="
        )
    return [*reduced[:3], *(list(items) for items in reduced[3:5] if items is not None)]


def _installed_name(value: Any) -> str | None:
    """Return the name of a function or class of Python, mstflow or a package; None for others."""
    module, name = (getattr(value, part, None) for part in ("__module__", "__qualname__"))
    if not isinstance(module, str) or not isinstance(name, str) or module not in sys.modules:
        return None
    if _is_callers(sys.modules[module]):
        return None
    try:
        found = functools.reduce(getattr, name.split("."), sys.modules[module])
    except AttributeError:
        return None
    return f"{module}.{name}" if found is value else None


def _is_callers(module: ModuleType) -> bool:
    """Return whether a module is the caller's: not installed, and not of Python or mstflow."""
    root, path = module.__name__.partition(".")[0], getattr(module, "__file__", None)
    if root == _PACKAGE:
        return False
    if path is None:
        return root not in sys.stdlib_module_names
    parents, folders = Path(path).parents, map(Path, sysconfig.get_paths().values())
    # Packages of the user or of the system are not in the folders of a virtual environment.
    is_package = not {"site-packages", "dist-packages"}.isdisjoint(each.name for each in parents)
    return not is_package and set(folders).isdisjoint(parents)


def _caller_modules(module: ModuleType) -> list[ModuleType]:
    """Return the caller's modules among a module and all modules that it uses in turn."""
    found, unseen = {}, [module]
    while unseen:
        if (here := unseen.pop()).__name__ in found or not _is_callers(here):
            continue
        found[here.__name__] = here
        for value in list(vars(here).values()):
            is_code = inspect.ismodule(value) or callable(value)  # other values may be proxies
            used = inspect.getmodule(value) if is_code else None
            unseen += [] if used is None else [used]
    return [found[name] for name in sorted(found)]


def _source(module: ModuleType) -> str:
    try:
        return digest(inspect.getsource(module).encode())
    except (OSError, TypeError):
        path = getattr(module, "__file__", None)
        return digest(Path(path).read_bytes() if path else b"")
