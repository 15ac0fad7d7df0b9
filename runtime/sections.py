"""Kernels of teams: wait for a section, run its shares, sleep and wake; and two over columns.

A section is one call of a kernel for each thread. The threads share an array of words, the board,
with a cache line for each thread. The line of the calling thread has the present section:

- the number of shares, the address of the first block (see `native`), the bytes between two blocks,
- how often a thread looks for work before it sleeps,
- the address of the function `syscall`, and the number of the system call `futex`.

The line of each other thread has the thread's state. The calling thread wakes two threads, each of
which wakes two others, and so on. The states order all other reads and writes.
"""

import platform

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .intrinsics import BLOCK, LINE, array_at, compare_and_swap, exchange, helper, kernel, load

#: A thread is idle and looks for work, is asleep, runs its share, or runs it while the calling
#: thread sleeps until it has finished.
IDLE, ASLEEP, BUSY, AWAITED = np.arange(4, dtype=np.uint64)
COUNT, BLOCKS, STRIDE, LOOKS, SYSCALL, FUTEX = np.arange(6, dtype=np.uint64)
#: The operations of the system call.
_WAIT, _WAKE = np.uint64(128), np.uint64(129)

_ZERO, _ONE, _TWO = np.arange(3, dtype=np.uint64)
_WORD, _INT = ir.IntType(64), ir.IntType(32)


@intrinsic
def pause(_):
    """Hint to the processor that this thread polls memory in a loop."""

    def generate(context, builder, _, __):
        if platform.machine() in ("x86_64", "AMD64"):
            function = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse2.pause"
            builder.call(cgutils.get_or_insert_function(builder.module, function, name), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def call_block(_, block):
    """Call the function of the block at an address."""

    def generate(context, builder, _, arguments):
        (block,) = arguments
        entry = ir.FunctionType(_INT, [_WORD, _WORD, _WORD]).as_pointer()
        function = builder.load(builder.inttoptr(block, entry.as_pointer()))
        unused = builder.add(block, _WORD(32))
        builder.call(function, [unused, unused, block])
        return context.get_dummy_value()

    return types.void(block), generate


@intrinsic
def futex(_, board, index, operation, value):
    """Call the system call `futex` on the lower half of a word of the board."""
    signature = types.void(board, types.uint64, types.uint64, types.uint64)

    def generate(context, builder, signature, arguments):
        array, index, operation, value = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        syscall, number = (builder.load(builder.gep(data, [_WORD(k)])) for k in (SYSCALL, FUTEX))
        pointer = ir.FunctionType(_WORD, [_WORD], var_arg=True).as_pointer()
        word = builder.ptrtoint(builder.gep(data, [index]), _WORD)
        forever = _WORD(0)
        builder.call(builder.inttoptr(syscall, pointer), [number, word, operation, value, forever])
        return context.get_dummy_value()

    return signature, generate


@helper
def wait_while(board, place, state, asleep):
    """Wait while a word is `state`; set it to `asleep` before sleeping."""
    looks = board[LOOKS]
    while load(board, place) == state:
        if looks:
            looks -= _ONE
            pause()
        elif compare_and_swap(board, place, state, asleep):
            while load(board, place) == asleep:
                futex(board, place, _WAIT, asleep)


@helper
def change(board, place, state, asleep):
    """Set a word to `state`; if it was `asleep`, wake the thread that sleeps."""
    if exchange(board, place, state) == asleep:
        futex(board, place, _WAKE, _ONE)


@helper
def run_share(thread, board):
    """Wake two other threads if the section has shares for them, and run the share of this one."""
    for other in range(_TWO * thread + _ONE, min(_TWO * thread + _TWO + _ONE, board[COUNT])):
        change(board, other * LINE, BUSY, ASLEEP)
    call_block(board[BLOCKS] + thread * board[STRIDE])


@helper
def has_failed(block):
    """Return whether the function of a block has raised an exception, after it was called."""
    return array_at(block, np.int64, (2,))[1] != 0


@kernel([0] * 8, [[0] * 3] * 2)
def run_sections(board, sections):
    """Run each section: one share in this thread and each other share in another one.

    A section begins when all shares of the one before have ended. Stop if a share failed.
    """
    for section in range(len(sections)):
        count, blocks, stride = sections[section, 0], sections[section, 1], sections[section, 2]
        board[COUNT], board[BLOCKS], board[STRIDE] = count, blocks, stride
        if count:
            run_share(_ZERO, board)
        failed = False
        for thread in range(count):
            if thread:
                wait_while(board, thread * LINE, BUSY, AWAITED)
            failed |= has_failed(blocks + thread * stride)
        if failed:
            return


@kernel(1, [0] * 16)
def serve(thread, board):
    """Run the shares of a thread in all sections, forever; return at once without a futex."""
    place = np.uint64(thread) * LINE
    while board[FUTEX]:
        wait_while(board, place, IDLE, ASLEEP)
        run_share(np.uint64(thread), board)
        change(board, place, IDLE, AWAITED)


@helper
def largest(start, stop, values, most):
    """Return the largest value in a range, at least `most`; the array may be shorter."""
    for i in range(np.uint64(start), np.uint64(min(stop, len(values)))):  # signed: 10 times slower
        most = max(most, values[i])
    return most


@kernel(0, 3, [0, 1, 5], [1, 2, 0], [9, 4, 7], [9, 4, 7], [0] * 4)
def find_largest(start, stop, u, v, bits, signed, out):
    """Write the largest value of each column; `signed` are the values of `bits` with a sign."""
    most, other, unsigned, top = u[0], v[0], bits[0], signed[0]
    for first in range(start, stop, BLOCK):
        end = min(first + BLOCK, stop)
        most = largest(first, end, u, most)
        other = largest(first, end, v, other)
        unsigned = largest(first, end, bits, unsigned)
        top = largest(first, end, signed, top)
    out[0], out[1], out[2], out[3] = most, other, unsigned, top


@kernel(0, 2, [1, 2, 2], [0] * 3)
def copy_in_order(start, stop, values, out):
    """Copy values; return whether each of them is less than the next one."""
    descents, last = np.uint64(0), np.uint64(len(values) - 1)
    for i in range(np.uint64(start), min(np.uint64(stop), last)):
        descents += np.uint64(values[i] >= values[i + _ONE])
        out[i] = values[i]
    if np.uint64(stop) > last:
        out[last] = values[last]
    return descents == 0
