"""A strict double of CuPy over NumPy: arrays of a device that only explicit copies bring back.

The module itself stands for the library: `strict_device.asarray`, `.where`, and so on. It refuses
everything that CuPy refuses, and also the few silent copies that CuPy allows: NumPy arrays as
indices, arguments or right-hand sides, lists in place of arrays, pickling. `transfers` records the
size of each copy, so that tests can assert that only scalars were copied. `calls` records the
functions and kernels that a device would run.
"""

import functools
import types

import numpy as np

#: The sizes of the arrays that were copied to the host, and of those copied from it.
transfers = types.SimpleNamespace(to_host=[], to_device=[])

#: The names of functions that run on the device, and of kernels, in order.
calls = []

#: No thread can select a device.
cuda = types.SimpleNamespace(is_available=lambda: False)

#: Types of scalar arguments.
_SCALARS = (bool, int, float, complex, np.generic)


class DeviceArray:
    """An array on the device; `get` copies its values to the host."""

    __slots__ = ("_host", "base")
    __hash__ = None
    __array_priority__ = 100

    def __init__(self, host, base=None):
        self._host, self.base = host, base

    # Metadata, known without asking the device.

    dtype = property(lambda self: self._host.dtype)
    shape = property(lambda self: self._host.shape)
    strides = property(lambda self: self._host.strides)
    flags = property(lambda self: self._host.flags)
    size = property(lambda self: self._host.size)
    ndim = property(lambda self: self._host.ndim)
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)

    @property
    def data(self):
        address = self._host.__array_interface__["data"][0]
        return types.SimpleNamespace(ptr=address, mem=self._host, device_id=0)

    @property
    def device(self):
        return types.SimpleNamespace(id=0)

    @property
    def __cuda_array_interface__(self):
        described = dict(self._host.__array_interface__)
        address, _ = described.pop("data")
        return {**described, "data": (address, False), "version": 3, "stream": 1}

    def __len__(self):
        if not self.ndim:
            message = "len() of unsized object"
            raise TypeError(message)
        return len(self._host)

    # Copies to the host, all of them explicit.

    def get(self):
        """Return a copy in host memory, the only way to read the values."""
        transfers.to_host.append(self.size)
        return self._host.copy()

    def set(self, values):
        """Copy values of the host into this array."""
        if type(values) is not np.ndarray:
            message = "Only numpy.ndarray can be set to cupy.ndarray"
            raise TypeError(message)
        if values.dtype != self.dtype or values.shape != self.shape:
            message = f"{values.dtype} {values.shape} are not set to {self.dtype} {self.shape}"
            raise ValueError(message)
        transfers.to_device.append(values.size)
        self._host[...] = values
        _set_written(self._host)

    def item(self, *place):
        return self.get().item(*place)

    def tolist(self):
        return self.get().tolist()

    def __bool__(self):
        if self.size != 1:  # CuPy will refuse empty ones, too
            message = "The truth value of an array with more than one element is ambiguous"
            raise ValueError(message)
        return bool(self.get())

    def __int__(self):
        return int(self.get())

    def __float__(self):
        return float(self.get())

    def __str__(self):
        return str(self.get())

    def __repr__(self):
        return f"DeviceArray({self})"

    def __format__(self, form):
        return format(self.get(), form)

    def __iter__(self):
        if not self.ndim:
            message = "iteration over a 0-d array"
            raise TypeError(message)
        return (self[place] for place in range(len(self)))

    # Implicit conversions, all of them refused.

    def __array__(self, dtype=None, copy=None):
        message = (
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )
        raise TypeError(message)

    def __reduce__(self):
        message = "a device array is not pickled: copy it to the host first"
        raise TypeError(message)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        message = "the host cannot see what lies on a device"
        raise BufferError(message)

    # Arithmetic, by ufuncs, as NumPy's scalars come to it.

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return _on_host(ufunc, *inputs, **options) if method == "__call__" else NotImplemented

    def __array_function__(self, function, types_, args, options):
        own = globals().get(function.__name__)
        if own is None or not set(types_) <= {DeviceArray, np.ndarray}:
            return NotImplemented
        return own(*args, **options)

    # Parts.

    def __getitem__(self, place):
        return _wrapped(self._host[_index(place)], self)

    def __setitem__(self, place, values):
        calls.append("copy")
        self._host[_index(place)] = _filler(_unwrapped(values))
        _set_written(self._host, _index(place))

    # Methods.

    def astype(self, dtype, copy=True):
        if not copy and self.dtype == dtype:
            return self
        calls.append("astype")
        return DeviceArray(self._host.astype(dtype))

    def view(self, dtype):
        return DeviceArray(self._host.view(dtype), self)

    def copy(self):
        calls.append("copy")
        return DeviceArray(self._host.copy())

    def ravel(self):
        return _wrapped(self._host.ravel(), self)

    def reshape(self, *shape):
        return _wrapped(self._host.reshape(*shape), self)

    def fill(self, value):
        calls.append("fill")
        self._host.fill(_filler(_scalar(value)))
        _set_written(self._host)

    def sort(self, axis=-1, kind=None):
        _check_sort(kind)
        calls.append("sort")
        self._host.sort(axis=axis, kind="stable")

    def partition(self, kth, axis=-1):
        calls.append("partition")
        self._host.partition(_scalar(kth), axis=axis)


def _unwrapped(value):
    """Return the NumPy argument of a value; refuse host arrays, but not scalars and dtypes."""
    if isinstance(value, DeviceArray):
        return value._host
    if value is None or isinstance(value, (*_SCALARS, type, np.dtype)):
        return value
    if isinstance(value, tuple) and not set(map(type, value)) - {int}:
        return value
    message = f"Unsupported type {type(value)}"
    raise TypeError(message)


def _filler(value):
    """Return the value that CuPy writes if it repeats `value`: any zero becomes +0.0."""
    is_zero = isinstance(value, float | np.floating) and value == 0
    return type(value)(0) if is_zero else value


def _scalar(value):
    """Return a value of the host."""
    if isinstance(value, _SCALARS):
        return value
    message = f"expected a scalar of the host, not {type(value)}"
    raise TypeError(message)


def _wrapped(result, base=None):
    """Return an array of the device for a NumPy array or scalar."""
    if isinstance(result, tuple):
        return tuple(map(_wrapped, result))
    return DeviceArray(np.asarray(result), base)


def _index(place):
    """Return an index of integers, slices or device arrays; refuse lists and NumPy arrays."""
    if isinstance(place, tuple):
        return tuple(map(_index, place))
    if place is Ellipsis or isinstance(place, int | np.integer):
        return place
    if isinstance(place, slice):
        return place  # NumPy asks its bounds for __index__, which an array of the device has not
    if isinstance(place, DeviceArray):
        return place._host
    message = f"Unsupported type {type(place)} as an index"
    raise TypeError(message)


def _check_sort(kind):
    if kind not in (None, "stable"):
        message = f"kind {kind!r} is not supported: sorts are stable"
        raise ValueError(message)


def _check_integers(inputs):
    """Refuse Python integers that the dtype of an array cannot represent."""
    kinds = [value.dtype for value in inputs if isinstance(value, DeviceArray)]
    for value in inputs:
        for kind in kinds:
            if type(value) is int and kind.kind in "iu":
                kind.type(value)  # raises OverflowError


def _on_host(function, *inputs, out=None, **options):
    """Call a NumPy function on arrays of the device, and return arrays of the device."""
    _check_integers(inputs)
    calls.append(function.__name__)
    out = out[0] if isinstance(out, tuple) else out
    if out is not None:
        if not isinstance(out, DeviceArray):
            message = "return arrays must be arrays of the device"
            raise TypeError(message)
        function(*map(_unwrapped, inputs), out=out._host, **options)
        return out
    with np.errstate(all="ignore"):  # a device warns of nothing
        named = {
            name: _unwrapped(one) if name == "weights" else one for name, one in options.items()
        }
        return _wrapped(function(*map(_unwrapped, inputs), **named))


def _device_function(function):
    """Convert a NumPy function to one of the device, whose first argument is on the device."""

    @functools.wraps(function)
    def called(first, *rest, **options):
        if not isinstance(first, DeviceArray):
            message = f"{function.__name__} takes an array of the device, not {type(first)}"
            raise TypeError(message)
        if "kind" in options:
            _check_sort(options["kind"])
        return _on_host(function, first, *rest, **options)

    return called


def _elementwise(function):
    """Convert a NumPy ufunc to one of the device."""
    return functools.partial(_on_host, function)


_DTYPES = (
    "bool_ int8 int16 int32 int64 intp uint8 uint16 uint32 uint64 float16 float32 float64 "
    "dtype iinfo finfo can_cast inf nan"
)
_ELEMENTWISE = (
    "abs add bitwise_and bitwise_or bitwise_xor divide equal floor_divide greater greater_equal "
    "invert isfinite isinf isnan left_shift less less_equal logical_and logical_not logical_or "
    "logical_xor maximum minimum multiply negative not_equal remainder right_shift sign signbit "
    "subtract where"
)
_METHODS = "all any argmax argmin argsort cumsum max min nonzero prod repeat sum take"
_FUNCTIONS = (
    "array_equal bincount broadcast_to count_nonzero diff flatnonzero partition ravel "
    "sort unique full_like zeros_like empty_like ones_like"
)
_own = globals()
_own |= {name: getattr(np, name) for name in _DTYPES.split()}
_own |= {name: _elementwise(getattr(np, name)) for name in _ELEMENTWISE.split()}
_own |= {name: _device_function(getattr(np, name)) for name in _FUNCTIONS.split()}
for _name in _METHODS.split():
    _own[_name] = _device_function(getattr(np, _name))
    setattr(DeviceArray, _name, _own[_name])


def _set_operator(name, function):
    """Add an operator to the arrays: forward, reflected and in place."""

    def forwards(self, other):
        return _on_host(function, self, other)

    def backwards(self, other):
        return _on_host(function, other, self)

    def in_place(self, other):
        return _on_host(function, self, other, out=self)

    setattr(DeviceArray, f"__{name}__", forwards)
    setattr(DeviceArray, f"__r{name}__", backwards)
    setattr(DeviceArray, f"__i{name}__", in_place)


for _name, _function in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}.items():  # fmt: skip
    _set_operator(_name, _function)

DeviceArray.__invert__ = lambda self: _on_host(np.invert, self)
DeviceArray.__neg__ = lambda self: _on_host(np.negative, self)

ndarray = DeviceArray


def asarray(values, dtype=None):
    """Return values of the host or the device as an array of the device; copy those of the host."""
    if isinstance(values, DeviceArray):
        return values if dtype is None else values.astype(dtype, copy=False)
    if isinstance(values, list | tuple) and DeviceArray in map(type, values):
        message = "stack arrays of the device by concatenate"
        raise TypeError(message)
    if hasattr(values, "__cuda_array_interface__"):  # another library's: its memory is shared
        described = types.SimpleNamespace(__array_interface__=values.__cuda_array_interface__)
        return asarray(DeviceArray(np.asarray(described), values), dtype)
    host = np.array(values, dtype)
    if host.dtype.kind not in "biufc":
        message = f"Unsupported dtype {host.dtype}"
        raise ValueError(message)
    transfers.to_device.append(host.size)
    return DeviceArray(host)


def array(values, dtype=None, copy=True):
    """Return a copy as `asarray` does."""
    made = asarray(values, dtype)
    return made.copy() if copy and made is values else made


def asnumpy(values):
    """Return values of the device as a NumPy array."""
    return values.get() if isinstance(values, DeviceArray) else np.asarray(values)


def ascontiguousarray(values, dtype=None):
    """Return an array of the device without gaps."""
    if _device(values).flags.c_contiguous and dtype in (None, values.dtype):
        return values
    calls.append("copy")
    return DeviceArray(np.ascontiguousarray(values._host, dtype))


def _device(values):
    if not isinstance(values, DeviceArray):
        message = f"expected an array of the device, not {type(values)}"
        raise TypeError(message)
    return values


class _Memory(bytearray):
    """Uninitialised bytes, and after them a flag for each: not 0 if it was written."""


def empty(shape, dtype=float):
    """Return an array of unspecified values that remembers which bytes are written."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = _Memory(b"\xa5" * size + bytes(size))
    return DeviceArray(np.ndarray(shape, dtype, memory))


def written(array):
    """Return the flags of an array's bytes, as an array of its shape; None if all are written."""
    return _written(array._host)


def _written(host):
    memory = host
    while isinstance(memory, np.ndarray):
        memory = memory.base
    if not isinstance(memory, _Memory):
        return None
    size, start = len(memory) // 2, np.frombuffer(memory, np.uint8)
    first = host.__array_interface__["data"][0] - start.__array_interface__["data"][0]
    flags = np.ndarray(host.shape, host.dtype, memory, size + first, host.strides)
    return flags.view(f"u{host.itemsize}")


def _set_written(host, place=...):
    flags = _written(host)
    if flags is not None:
        flags[place] = np.iinfo(flags.dtype).max


def zeros(shape, dtype=float):
    """Return an array of zeros."""
    calls.append("fill")
    return DeviceArray(np.zeros(shape, dtype))


def ones(shape, dtype=float):
    """Return an array of ones."""
    calls.append("fill")
    return DeviceArray(np.ones(shape, dtype))


def full(shape, fill_value, dtype=None):
    """Return an array of one value."""
    calls.append("fill")
    return DeviceArray(np.full(shape, _filler(_unwrapped(fill_value)), dtype))


def arange(*bounds, dtype=None):
    """Return consecutive numbers."""
    calls.append("arange")
    return DeviceArray(np.arange(*map(_scalar, bounds), dtype=dtype))


def concatenate(arrays, axis=0, out=None, *, dtype=None):
    """Return arrays of the device one after another."""
    calls.append("concatenate")
    hosts = [_device(one)._host for one in arrays]
    if out is not None:
        np.concatenate(hosts, axis, out=_device(out)._host)
        return out
    return DeviceArray(np.concatenate(hosts, axis, dtype=dtype))


def result_type(*values):
    """Return the result dtype, without reading values."""
    return np.result_type(*(getattr(value, "dtype", value) for value in values))


def ndim(values):
    """Return the number of dimensions of an array or a single value."""
    return getattr(values, "ndim", 0)


def searchsorted(values, sought, side="left"):
    """Return insertion positions for arrays of the device; refuse single values, as CuPy does."""
    calls.append("searchsorted")
    return DeviceArray(np.searchsorted(_device(values)._host, _device(sought)._host, side))


def copyto(target, values):
    """Write values of the device, or one of the host, over an array of the device."""
    calls.append("copy")
    _device(target)._host[...] = _unwrapped(values)
