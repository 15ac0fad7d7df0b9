"""Calls of compiled kernels: cached machine code without Numba, or Numba's dispatcher.

Numba compiles a kernel for the types of its arguments. But importing Numba takes almost a second,
which is longer than many graphs take to solve. So the machine code is cached. A process that finds
it in the cache needs only llvmlite, which links a kernel in a fraction of a millisecond.

Calling machine code without Numba relies on symbols and a calling convention that Numba does not
document. So mstflow does this only with the versions in `TESTED`. It also compares the results of
the machine code and of Numba's dispatcher on the kernel's `example` first. With other versions of
Numba, kernels run through Numba's dispatcher and cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import importlib.util
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import KernelError
from .kernel_store import load_or_compile, private_folder
from .toolchain import TESTED, folder_of, is_tested, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

#: The number of edges from which "auto" uses kernels that this process has used before,
USED_FROM = 30_000
#: kernels that are in the cache, which load in less than a tenth of a second,
LOADED_FROM = 500_000
#: and kernels that must be compiled, which takes some seconds.
COMPILED_FROM = 4_000_000

#: The number of edges that take as long as the calls of functions on a small graph.
_SMALL = 2_500

#: The number of int64 values in each return type of a kernel.
_NUM_RESULTS = {"none": 0, "bool": 1, "int64": 1, "UniTuple(int64 x 2)": 2}
#: The number of words in a block before those of the arguments.
HEADER = 5
#: In Numba's calling convention, the first arguments are pointers to a result and an exception.
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
#: The address of the elements in the object of an array: the first field of NumPy's C structure.
#: `array.ctypes.data` takes seven times as long.
_ADDRESS = object.__basicsize__
#: The places of fields in the object of an array, in words of 64 bits: the type ends the header of
#: each object, and the others are in NumPy's C structure, which is the same in all its versions.
_DATA = _ADDRESS // 8
_TYPE, _NDIM, _SHAPE, _DTYPE, _FLAGS = (_DATA + place for place in (-1, 1, 2, 5, 6))
_IS_CONTIGUOUS, _HALF = 1, 2**32 - 1
#: Whether these are the places on this system.
_IS_KNOWN = (sys.byteorder, sys.maxsize) == ("little", 2**63 - 1)
_word_at = ctypes.c_int64.from_address

_lock = threading.Lock()


@functools.cache
def has_numba() -> bool:
    """Return whether Numba is installed, without importing it."""
    return importlib.util.find_spec("numba") is not None


class Kernels:
    """The kernels of a module as attributes; the module is imported only to compile a kernel."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._are_used = False
        self._solved_without = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        kernel = (NativeKernel if is_tested() else DispatchedKernel)(self._module, name)
        self._are_used = True
        setattr(self, name, kernel)
        return kernel

    def pay_for(self, num_edges: int) -> bool:
        """Return whether using these kernels pays for a graph with this number of edges."""
        if num_edges < LOADED_FROM:
            return num_edges >= USED_FROM and self.are_loaded()
        return num_edges >= COMPILED_FROM or self.are_cached()

    def pay_after(self, num_edges: int, most: int = sys.maxsize) -> bool:
        """Return whether using these kernels pays for a sequence of graphs; call it for each graph.

        The first graphs are solved without kernels. Kernels are used when these graphs together
        have as many edges as a single graph for which the kernels pay. The sum counts as at most
        `most`.
        """
        self._solved_without += num_edges + _SMALL
        return self.are_loaded() or self.pay_for(min(self._solved_without, most))

    def are_loaded(self) -> bool:
        """Return whether this process has used any of these kernels."""
        return self._are_used

    def are_cached(self) -> bool:
        """Return whether the cache has any of these kernels, of this source for this processor."""
        folder = private_folder(folder_of(self._module), create=False)
        with contextlib.suppress(OSError):
            return folder is not None and any(folder.iterdir())
        return False


class DispatchedKernel:
    """A kernel called through Numba's dispatcher, with the results of a `NativeKernel`."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel; compile it first if these types are new.

        Raises
        ------
        KernelError
            If the installed version of Numba cannot compile the kernel. Exceptions that the kernel
            raises propagate.
        """
        try:
            return self._call(arguments)
        except _CompileError:
            self._clear_cache()  # an entry of Numba's cache may be damaged
        try:
            return self._call(arguments)
        except _CompileError as failed:
            error = failed.__cause__
            message = (
                f"numba {versions()[0]} cannot compile the kernel {self._name} "
                f"({type(error).__name__}); tested versions are {', '.join(TESTED)}"
            )
            raise KernelError(message) from error

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        try:
            return _dispatcher(self._module, self._name)(*arguments)
        except Exception as error:
            if self._is_compiled(arguments):
                raise
            raise _CompileError from error

    def _is_compiled(self, arguments: tuple[Any, ...]) -> bool:
        with contextlib.suppress(Exception):
            types = tuple(map(importlib.import_module("numba").typeof, arguments))
            return types in _dispatcher(self._module, self._name).overloads
        return False

    def _clear_cache(self) -> None:
        folder = private_folder(folder_of(self._module), create=False)
        for path in folder.rglob("*.nb[ci]") if folder else ():
            path.unlink(missing_ok=True)


class _CompileError(Exception):
    """A kernel could not be compiled, or loaded from Numba's cache."""


class NativeKernel:
    """A kernel called by its machine code.

    Arguments are contiguous arrays and integers. A kernel returns None, an int64, a bool as 0 or 1,
    or a tuple of int64, and releases the GIL.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name
        self._functions: dict[tuple[Any, ...], Function] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel; load or compile it first if these types are new.

        Raises
        ------
        TypeError
            If an array is not contiguous.
        KernelError
            If the kernel cannot be compiled, or if it raises an exception.
        """
        function, words, _ = self.lowered(arguments)
        return function(words)

    def lowered(
        self, arguments: tuple[Any, ...]
    ) -> tuple[Function, list[int], list[tuple[int, Any]]]:
        """Return the function for the types of the arguments, and the words of the arguments.

        Of an argument `Each`, the words are those of the first call. Last, return the place of
        each of these among the words, and its values.
        """
        types, words, varying = _lowered(arguments)
        function = self._functions.get(types)
        if function is None:
            with _lock:
                function = _load(self._module, self._name, tuple(map(_Type.of, types)))
            self._functions[types] = function
        return function, words, varying


class Each(NamedTuple):
    """An argument that differs between calls: call i gets ``values[i]``, an integer or a row."""

    values: Sequence[int] | NDArray[Any]


class _Type(NamedTuple):
    """The type of a number, or of an array if `ndim` is not 0."""

    dtype: str
    ndim: int

    @classmethod
    def of(cls, given: Any) -> _Type:
        dtype, ndim = given if isinstance(given, tuple) else (given, 0)
        return cls(np.dtype(dtype).str.lstrip("<|"), ndim)

    def __str__(self) -> str:
        return self.dtype + (f"x{self.ndim}" if self.ndim else "")

    def __call__(self, value: Any) -> Any:
        dtype = np.dtype(self.dtype)
        return np.array(value, dtype) if self.ndim else dtype.type(value)


class Function(NamedTuple):
    """A linked function that reads its arguments from a block of 64-bit words.

    The first words of a block are the address of the function, a word that is 0 as soon as the
    function has returned, two results, and a word for Numba. Then each number is one word, and each
    array is an address and a shape.
    """

    name: str
    address: int
    num_results: int

    def __call__(self, words: list[int]) -> Any:
        """Call the function with these words for the arguments; return its result."""
        block = self.block(words)
        call_block(ctypes.addressof(block))
        return self.result(*block[1:4])

    def block(self, words: list[int]) -> Any:
        """Return a block with these words for the arguments."""
        return (ctypes.c_int64 * (HEADER + len(words)))(self.address, 1, 0, 0, 0, *words)

    def result(self, is_running: int, first: int, second: int) -> Any:
        """Return the result of a call, from the words of its block.

        Raises
        ------
        KernelError
            If the kernel raised an exception.
        """
        if is_running:
            message = f"the kernel {self.name} raised an exception"
            raise KernelError(message)
        return (None, first, (first, second))[self.num_results]


def call_block(place: int) -> None:
    """Call the function of the block at an address."""
    _PROTOTYPE(_word_at(place).value)(place + 32, place + 32, place)


def _lowered(
    arguments: tuple[Any, ...],
) -> tuple[tuple[Any, ...], list[int], list[tuple[int, Any]]]:
    """Return the types of arguments, and the other results of `NativeKernel.lowered`."""
    types: list[Any] = []
    words: list[int] = []
    varying: list[tuple[int, Any]] = []
    for argument in arguments:
        if type(argument) is Each:
            varying.append((len(words), argument.values))
            argument = argument.values[0]
        if isinstance(argument, np.ndarray):
            types.append((argument.dtype, argument.ndim))
            words.append(address_of(argument))
            words += argument.shape
        else:
            types.append(type(argument))
            words.append(int(argument))
    return tuple(types), words, varying


@functools.cache  # callers hold `_lock`; otherwise two threads could link the same code
def _load(module: str, name: str, types: tuple[_Type, ...]) -> Function:
    def compiled() -> tuple[str, bytes]:
        label, code = _compile(module, name, types)
        _prove(_link(name, label, code), _dispatcher(module, name), types)
        return label, code

    entry = "-".join([f"{folder_of(module)}/{name}", *map(str, types)])
    return _link(name, *load_or_compile(entry, compiled))


@functools.cache
def _link(name: str, label: str, code: bytes) -> Function:
    symbol, num_results = label.split()
    binding, engine = _linker()
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Function(name, engine.get_function_address(symbol), int(num_results))


def _prove(function: Function, dispatcher: Any, types: tuple[_Type, ...]) -> None:
    """Compare machine code with Numba's dispatcher on the kernel's example.

    Raises
    ------
    KernelError
        If results or arrays differ after the calls.
    """
    found = []
    for call in (lambda *given: function(_lowered(given)[1]), dispatcher):
        arguments = [
            make(value) for make, value in zip(types, dispatcher.py_func.example, strict=True)
        ]
        found.append((call(*arguments), [argument.tobytes() for argument in arguments]))
    if found[0] != found[1]:
        message = f"the machine code of the kernel {function.name} and Numba give different results"
        raise KernelError(message)


@functools.cache
def _dispatcher(module: str, name: str) -> Any:
    """Return the Numba dispatcher of a kernel."""
    from .intrinsics import kernel

    function = getattr(importlib.import_module(module), name)
    return function if hasattr(function, "overloads") else kernel(*function.example)(function)


def _compile(module: str, name: str, types: tuple[_Type, ...]) -> tuple[str, bytes]:
    """Compile a function that reads the arguments of a kernel from a block, and calls the kernel.

    Returns
    -------
    label : str
        The symbol of the function and its number of results.
    code : bytes
        An object file.
    """
    from .intrinsics import OPTIONS, array_at

    numba: Any = importlib.import_module("numba")
    if numba.config.DISABLE_JIT:
        message = f"the kernel {name} must be compiled, but NUMBA_DISABLE_JIT is set"
        raise KernelError(message)
    kernel = _dispatcher(module, name)
    arguments, signature, size = [], [], HEADER
    scope = {"__name__": module, "array_at": array_at, "call": kernel, "int64": numba.int64}
    for i, (dtype, ndim) in enumerate(types):
        number = numba.from_dtype(np.dtype(dtype))
        scope[f"type{i}"] = np.dtype(dtype).type
        words = [f"block[{size + k}]" for k in range(1 + ndim)]
        shape = f"({', '.join(words[1:])},)"
        arguments.append(
            f"array_at({words[0]}, type{i}, {shape})" if ndim else f"type{i}({words[0]})"
        )
        signature.append(numba.types.Array(number, ndim, "C") if ndim else number)
        size += 1 + ndim
    kernel.compile(tuple(signature))
    num_results = _NUM_RESULTS[str(kernel.overloads[tuple(signature)].signature.return_type)]
    results = ("", "block[2] = ", "block[2], block[3] = ")[num_results]
    # Another process may number this function as this one numbers a function for other types.
    unique = "_".join([name, *map(str, types)])
    source = f"""
def {unique}(address):
    block = array_at(address, int64, ({size},))
    {results}call({", ".join(arguments)})
    block[1] = 0
"""
    exec(source, scope)
    function = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)(scope[unique])
    function.compile((numba.int64,))
    (compiled,) = function.overloads.values()
    _, _, (code, _) = compiled.library.serialize_using_object_code()
    return f"{compiled.fndesc.llvm_func_name} {num_results}", code


@functools.cache
def _linker() -> tuple[Any, Any]:
    """Return llvmlite's binding module and this process's engine, which links object files."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    return binding, binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def raw(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as contiguous and unsigned, so that few kernels have to be compiled."""
    return np.ascontiguousarray(array).view(f"u{array.itemsize}")


def address_of(array: NDArray[Any]) -> int:
    """Return the address of the first element of a contiguous array.

    Raises
    ------
    TypeError
        If the array is not contiguous.
    """
    if not array.flags.c_contiguous:
        message = "the array is not contiguous"
        raise TypeError(message)
    return _word_at(id(array) + _ADDRESS).value


class _Memory:
    """All words of this process, from address 8 on."""

    __array_interface__ = {  # noqa: RUF012
        "version": 3,
        "typestr": np.dtype(np.int64).str,
        "shape": (2**59,),
        "data": (8, True),
    }


_memory = np.asarray(_Memory())


class Columns(NamedTuple):
    """Arrays of one dimension, and for each its address, its length, and the place of its dtype."""

    arrays: NDArray[Any]
    address: NDArray[np.int64]
    length: NDArray[np.int64]
    dtype: NDArray[np.int64]
    are_contiguous: bool

    def dtypes(self, first: int, step: int) -> dict[int, np.dtype[Any]]:
        """Return the dtypes of every `step`-th array from the `first` one on, by their places."""
        places, arrays = self.dtype[first::step], self.arrays[first::step]
        if (places == places[0]).all():
            return {int(places[0]): arrays[0].dtype}
        return {place: array.dtype for place, array in zip(places.tolist(), arrays, strict=True)}


def columns_of(objects: Iterable[Any], count: int) -> Columns | None:
    """Return the facts about objects, or None if not all are NumPy arrays of one dimension.

    They are read from memory for all arrays at once, which takes a quarter of the time of asking
    each array.
    """
    arrays = np.fromiter(objects, object, count)
    return _read_columns(arrays) if _IS_KNOWN else _asked_columns(arrays)


def _asked_columns(arrays: NDArray[Any]) -> Columns | None:
    each = arrays.tolist()
    if not all(type(array) is np.ndarray and array.ndim == 1 for array in each):
        return None
    facts = [(array.ctypes.data, len(array), id(array.dtype)) for array in each]
    address, length, dtype = np.array(facts, np.int64).T
    return Columns(arrays, address, length, dtype, all(a.flags.contiguous for a in each))


def _read_columns(arrays: NDArray[Any]) -> Columns | None:
    first = address_of(arrays) // 8 - 1
    place = _memory[first : first + len(arrays)] // 8 - 1
    if (_memory.take(place + _TYPE) != id(np.ndarray)).any():
        return None
    if (_memory.take(place + _NDIM) & _HALF != 1).any():
        return None
    length = _memory.take(_memory.take(place + _SHAPE) // 8 - 1)
    are_contiguous = bool((_memory.take(place + _FLAGS) & _IS_CONTIGUOUS).all())
    address, dtype = _memory.take(place + _DATA), _memory.take(place + _DTYPE)
    return Columns(arrays, address, length, dtype, are_contiguous)
