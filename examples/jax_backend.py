"""Run mstflow on JAX: an array module of your own, checked and then used. Needs the package jax."""

import jax
import jax.numpy as jnp
import numpy as np

import mstflow
from mstflow.primitives.numpy_arrays import NumpyArrays
from mstflow.primitives.vocabulary import ArrayModule
from mstflow.testing import check_backend

jax.config.update("jax_enable_x64", True)


def on_host(function):
    """Return a function on JAX's arrays that computes on the host."""
    return staticmethod(
        lambda x, *args, **named: jnp.asarray(function(np.asarray(x), *args, **named))
    )


class JaxArrays(ArrayModule):
    """The primitives that the vocabulary does not define by others."""

    name, threads = "jax", 1
    index_dtype = staticmethod(NumpyArrays.index_dtype)
    largest = staticmethod(NumpyArrays.largest)
    concat = staticmethod(jnp.concatenate)
    where, minimum, maximum = map(staticmethod, (jnp.where, jnp.minimum, jnp.maximum))
    asarray, to_host, empty = map(staticmethod, (jnp.asarray, np.asarray, jnp.zeros))
    sort = staticmethod(jnp.sort)
    count = staticmethod(lambda mask: int(jnp.count_nonzero(mask)))
    any_signed = staticmethod(lambda weights: NumpyArrays.any_signed(np.asarray(weights)))
    order_key, weights_of = map(on_host, (NumpyArrays().order_key, NumpyArrays.weights_of))

    def full(self, size, value, /, dtype):
        return jnp.full(size, np.array(value, dtype))

    def arange(self, size, /, dtype):
        return jnp.arange(size, dtype=dtype)

    def argsort(self, values, /):
        return jnp.argsort(values, stable=True).astype(self.index_dtype(len(values)))

    def searchsorted(self, ascending, values, /, *, side="left"):
        place = jnp.searchsorted(ascending, values, side=side)
        return place.astype(self.index_dtype(len(ascending)))

    def gather(self, values, index, /, fill=None):
        if not len(values):
            return jnp.full(len(index), 0 if fill is None else fill, values.dtype)
        taken = jnp.take(values, index, mode="clip")
        fill = taken if fill is None else jnp.asarray(fill, values.dtype)
        return jnp.where(index < len(values), taken, fill)

    def compact(self, mask, /, *arrays):
        kept = jnp.flatnonzero(mask)
        return tuple(array[kept] for array in arrays)

    def scan(self, values, /, dtype, *, exclusive=False):
        sums = jnp.cumsum(values.astype(dtype), dtype=dtype)
        return sums - values.astype(dtype) if exclusive else sums

    def segmented_broadcast(self, values, offsets, /):
        return jnp.repeat(values, jnp.diff(offsets))

    def segmented_reduce(self, values, offsets, op, initial, /):
        values = values.astype(self.index_dtype(len(values))) if values.dtype == bool else values
        segment = self.segmented_broadcast(jnp.arange(len(offsets) - 1), offsets)
        largest, kind = self.largest(values.dtype), values.dtype.kind
        smallest = -largest if kind == "f" else np.iinfo(values.dtype).min
        start = {"min": largest, "max": smallest, "sum": 0}[op]
        found = self.scatter_reduce(segment, values, len(offsets) - 1, op, start)
        return jnp.where(jnp.diff(offsets) > 0, found, np.array(initial).astype(values.dtype))

    def scatter(self, index, values, size, fill, /, dtype):
        return self.full(size, fill, dtype).at[index].set(values)

    def scatter_reduce(self, index, values, size, op, initial, /):
        target = self.full(size, initial, values.dtype).at[index]
        return {"min": target.min, "max": target.max, "sum": target.add}[op](values)

    def scatter_argmin(self, indices, values, size, /):
        none, index = len(values), jnp.concatenate(indices)
        position = jnp.tile(self.arange(none, self.index_dtype(none)), len(indices))
        values = jnp.tile(values, len(indices))
        smallest = self.scatter_reduce(index, values, size, "min", self.largest(values.dtype))
        position = jnp.where(values == smallest[index], position, none)
        return self.scatter_reduce(index, position, size, "min", none)


if __name__ == "__main__":
    check_backend(JaxArrays(), examples=2)
    random = np.random.default_rng(0)
    graph = (*random.integers(0, 100, (2, 400)), random.random(400))
    forest = mstflow.minimum_spanning_forest(graph, backend=JaxArrays())
    assert (forest.edge_ids == mstflow.minimum_spanning_forest(graph).edge_ids).all()
    print(forest)
