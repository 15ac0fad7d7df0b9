"""Kernels as native functions: loaded from where they are kept, compiled where they are not.

Numba compiles a kernel for the types it is called with, but takes most of a second to be loaded,
longer than many a graph. So their code is kept, and a process that finds it needs only llvmlite,
which links a kernel in a fraction of a millisecond.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import KernelError
from .kernel_store import digest, kernel_folder, load_or_compile

if TYPE_CHECKING:
    from collections.abc import Callable

#: From so many edges on "auto" takes kernels: once some are loaded,
USED_FROM = 30_000
#: if they were compiled before, which leaves less than a tenth of a second to load them,
LOADED_FROM = 500_000
#: and if they must be compiled, which takes some seconds.
COMPILED_FROM = 4_000_000

#: How many int64 there are in what kernels return.
_NUM_RESULTS = {"none": 0, "bool": 1, "int64": 1, "UniTuple(int64 x 2)": 2}
#: What functions return that end without an exception: with a result, and without.
_ENDED = (0, -2)
_NOTHING = ctypes.c_char * 0

_lock = threading.Lock()


@functools.cache
def has_numba() -> bool:
    """Return whether Numba is installed, without loading it."""
    return importlib.util.find_spec("numba") is not None


class Kernels:
    """The kernels of a module, by name. It is imported, and Numba, only to compile one."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        kernel = Kernel(self._module, name)
        setattr(self, name, kernel)
        return kernel

    def pay_for(self, num_edges: int) -> bool:
        """Tell whether "auto" takes them for so many edges."""
        if num_edges < LOADED_FROM:
            return num_edges >= USED_FROM and self.are_loaded()
        return num_edges >= COMPILED_FROM or self.are_kept()

    def are_loaded(self) -> bool:
        """Tell whether any of them was asked for in this process."""
        return len(vars(self)) > 1

    def are_kept(self) -> bool:
        """Tell whether any of them was compiled before, as they are now, for this processor."""
        folder = kernel_folder()
        return folder is not None and os.path.isdir(folder / _folder(self._module))


class Kernel:
    """A kernel for arguments of any types: contiguous arrays and integers.

    It returns an int64, a bool, as 0 or 1, or a list of any other number of int64. It does not
    hold the GIL.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name
        self._functions: dict[tuple[Any, ...], _Function] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call it, loaded or compiled first if it is not yet for such types.

        Raises
        ------
        TypeError
            If an array is not contiguous.
        """
        types: list[Any] = []
        words: list[int] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                types.append((argument.dtype, argument.ndim))
                words.append(_address(argument))
                words += argument.shape
            else:
                types.append(type(argument))
                words.append(int(argument))
        function = self._functions.get(key := tuple(types))
        if function is None:
            function = self._functions[key] = self._load(arguments)
        results = (ctypes.c_int64 * 3)()
        place = ctypes.addressof(results)
        if function.native(place, place + 16, *words) not in _ENDED:
            message = f"the kernel {self._name} failed"
            raise KernelError(message)
        return results[0] if function.num_results == 1 else results[: function.num_results]

    def _load(self, arguments: tuple[Any, ...]) -> _Function:
        with _lock:
            return _load(self._module, self._name, tuple(map(_Type.of, arguments)))


class _Type(NamedTuple):
    """The type of a number, or of an array if `ndim` is not zero."""

    dtype: str
    ndim: int

    @classmethod
    def of(cls, argument: Any) -> _Type:
        if isinstance(argument, np.ndarray):
            return cls(argument.dtype.str.lstrip("<|"), argument.ndim)
        return cls(np.dtype(type(argument)).str.lstrip("<|"), 0)

    def __str__(self) -> str:
        return self.dtype + (f"x{self.ndim}" if self.ndim else "")


class _Function(NamedTuple):
    """Machine code that takes places for results and an exception, addresses, shapes, numbers."""

    native: Callable[..., int]
    num_results: int


@functools.cache  # called by one thread at a time, or code might be linked twice
def _load(module: str, name: str, types: tuple[_Type, ...]) -> _Function:
    entry = "-".join([f"{_folder(module)}/{name}", *map(str, types)])
    label, code = load_or_compile(entry, lambda: _compile(module, name, types))
    symbol, num_results = label.split()
    binding, engine = _linker()
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    kinds: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
    for dtype, ndim in types:
        number = np.ctypeslib.as_ctypes_type(np.dtype(dtype))
        kinds += [ctypes.c_void_p, *[ctypes.c_int64] * ndim] if ndim else [number]
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)
    return _Function(prototype(engine.get_function_address(symbol)), int(num_results))


def _compile(module: str, name: str, types: tuple[_Type, ...]) -> tuple[str, bytes]:
    """Return the name that a linker knows a function by, with how much it returns, and its code.

    It calls the kernel on arrays that it makes from addresses and shapes.
    """
    from .intrinsics import array_at, kernel

    numba: Any = importlib.import_module("numba")
    parameters, arguments, signature = [], [], []
    for i, (dtype, ndim) in enumerate(types):
        number = numba.from_dtype(np.dtype(dtype))
        shape = [f"n{i}_{axis}" for axis in range(ndim)]
        parameters += [f"a{i}", *shape]
        arguments.append(f"array_at(a{i}, ({', '.join(shape)},))" if ndim else f"a{i}")
        signature += [numba.types.CPointer(number), *[numba.int64] * ndim] if ndim else [number]
    if numba.config.DISABLE_JIT:
        message = f"the kernel {name} is not compiled yet, and NUMBA_DISABLE_JIT is set"
        raise KernelError(message)
    function = getattr(importlib.import_module(module), name)
    call = function if hasattr(function, "overloads") else kernel(function)
    scope = {"__name__": module, "array_at": array_at, "call": call}
    exec(f"def {name}({', '.join(parameters)}): return call({', '.join(arguments)})", scope)
    dispatcher = kernel(scope[name])
    dispatcher.compile(tuple(signature))
    (compiled,) = dispatcher.overloads.values()
    num_results = _NUM_RESULTS[str(compiled.signature.return_type)]
    _, _, (code, _) = compiled.library.serialize_using_object_code()
    return f"{compiled.fndesc.llvm_func_name} {num_results}", code


@functools.cache
def _folder(module: str) -> str:
    """Return a name for all that decides what the kernels of a module are compiled to."""
    spec = importlib.util.find_spec(module)
    source = Path(str(spec and spec.origin))
    beside = [path.read_text() for path in sorted(source.parent.glob("*.py"))]
    return f"{source.stem}-{digest(source.read_text(), beside, *_compilers())}"


@functools.cache
def _compilers() -> tuple[Any, ...]:
    """Return what else decides: kernels that others call, libraries, the processor, its options."""
    from llvmlite import binding

    sources = [Path(__file__), Path(__file__).with_name("intrinsics.py")]
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite")]
    cpu = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    options = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    texts = [path.read_text() for path in sources]
    return texts, versions, binding.get_process_triple(), cpu, options


@functools.cache
def _linker() -> tuple[Any, Any]:
    """Return llvmlite's binding, and what links object files: one, and for good."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    return binding, binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def _address(array: Any) -> int:
    try:
        return ctypes.addressof(_NOTHING.from_buffer(array))
    except TypeError:
        if not array.flags.c_contiguous:
            raise
        return int(array.ctypes.data)  # of an array that is read-only, which is slower
