"""Many bytes at a time: loads and tricks that the compiled parsers share.

SWAR ("SIMD within a register") treats a 64-bit word as eight bytes. The caller
guarantees that the eight, or 64, bytes can be read at the offset; buffers of the
scan are padded for that (`PADDING`). Formulas: Warren, Hacker's Delight, 2nd ed., 6-1
(zero byte), and the pairwise digit sum by multiplication.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

PADDING = 64

U8 = np.uint64(8)
ONES = np.uint64(0x0101010101010101)
HIGHS = np.uint64(0x8080808080808080)
ZEROS = np.uint64(0x3030303030303030)
_ABOVE_NINE = np.uint64(0x7676767676767676)
_PAIRS = np.uint64(0x000000FF000000FF)
_MUL1 = np.uint64(0x000F424000000064)
_MUL2 = np.uint64(0x0000271000000001)


@intrinsic
def _load64(typingctx: Any, array: Any, offset: Any) -> Any:

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.gep(data, [args[1]])
        word = builder.bitcast(place, ir.IntType(64).as_pointer())
        loaded = builder.load(word)
        loaded.align = 1
        return loaded

    return types.uint64(array, types.int64), codegen


@intrinsic
def _store64(typingctx: Any, array: Any, offset: Any, word: Any) -> Any:

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())
        builder.store(args[2], place).align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), codegen


@intrinsic
def _trailing_zeros(typingctx: Any, word: Any) -> Any:

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def _leading_zeros(typingctx: Any, word: Any) -> Any:

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def _bits_set(typingctx: Any, word: Any) -> Any:

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def _masks_of(typingctx: Any, array: Any, offset: Any, first: Any, second: Any) -> Any:

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 64)
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), vector.as_pointer())
        text = builder.load(place)
        text.align = 1

        def mask_of(byte: Any) -> Any:
            lane = builder.trunc(byte, ir.IntType(8))
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), lane, ir.IntType(32)(0))
            all_lanes = ir.Constant(ir.VectorType(ir.IntType(32), 64), [ir.IntType(32)(0)] * 64)
            wanted = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), all_lanes)
            return builder.bitcast(builder.icmp_unsigned("==", text, wanted), ir.IntType(64))

        masks = [mask_of(args[2]), mask_of(args[3])]
        return context.make_tuple(builder, signature.return_type, masks)

    pair = cast(Any, types.Tuple)((types.uint64, types.uint64))
    return pair(array, types.int64, types.int64, types.int64), codegen


@njit(nogil=True, cache=True)
def load64(array: NDArray[np.uint8], offset: int) -> np.uint64:
    """The eight bytes at `offset` as a little-endian uint64, any alignment."""
    return _load64(array, offset)  # type: ignore[call-arg]


@njit(nogil=True, cache=True)
def store64(array: NDArray[np.uint8], offset: int, word: np.uint64) -> None:
    """Write the eight bytes of `word` to `offset`, the lowest first, any alignment."""
    _store64(array, offset, word)  # type: ignore[call-arg]


@njit(nogil=True, cache=True)
def trailing_zeros(word: np.uint64) -> int:
    """The number of zero bits below the lowest one bit of a word; 64 of zero."""
    return _trailing_zeros(word)  # type: ignore[call-arg]


@njit(nogil=True, cache=True)
def leading_zeros(word: np.uint64) -> int:
    """The number of zero bits above the highest one bit of a word; 64 of zero."""
    return _leading_zeros(word)  # type: ignore[call-arg]


@njit(nogil=True, cache=True)
def bits_set(word: np.uint64) -> int:
    """The number of one bits."""
    return _bits_set(word)  # type: ignore[call-arg]


@njit(nogil=True, cache=True)
def masks_of(array: NDArray[np.uint8], offset: int, first: int, second: int) -> tuple[np.uint64, np.uint64]:
    """Which of the 64 bytes at `offset` are `first` and which are `second`: bit i for byte i."""
    return _masks_of(array, offset, first, second)  # type: ignore[call-arg]


@njit(nogil=True, cache=True)
def zero_bytes(word: np.uint64) -> np.uint64:
    """Non-zero where `word` has a zero byte; the lowest set bit is the top bit of the first one."""
    return (word - ONES) & ~word & HIGHS


@njit(nogil=True, cache=True)
def not_digits(values: np.uint64) -> np.uint64:
    """Non-zero where a byte of `values` (characters XOR '0') is above nine."""
    return ((values + _ABOVE_NINE) | values) & HIGHS


@njit(nogil=True, cache=True)
def eight_digits(values: np.uint64) -> np.uint64:
    """The number whose decimal digits are the bytes of `values`, the first digit in the lowest byte."""
    pairs = values * np.uint64(10) + (values >> U8)
    upper = (pairs & _PAIRS) * _MUL1
    lower = ((pairs >> np.uint64(16)) & _PAIRS) * _MUL2
    return (upper + lower) >> np.uint64(32)
