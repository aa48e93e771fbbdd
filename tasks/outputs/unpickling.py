"""A loader for pickles of float64 arrays that runs nothing from the pickle.

Loading a pickle calls what it names. Here every name a published or own pickle
holds stands for a harmless double that checks and keeps its arguments; NumPy and
pandas themselves are never called with them, and any other name is refused.
Known forms: NumPy's own array pickles (protocol 4 and below), the portable form
of `tasks.outputs.pickles`, and pandas 1 Series, of which only the values are kept.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from schemas.errors import UntrustedPickle

FloatArray = NDArray[np.float64]

_CODES = ("f8", "i8")
_HINT = "Only lists of float64 arrays are loaded; ask the author for CSV or Parquet."


def load_pairs(data: bytes) -> list[FloatArray]:
    """The arrays of a pickled list [x1, y1, x2, y2, …]: 1-D, float64, writable, each its own memory.

    Raises:
        UntrustedPickle: the pickle names a global outside the known forms (the message
            says which), is damaged, or holds something other than a list of float64 arrays.
    """
    try:
        content = _Restricted(io.BytesIO(data)).load()
    except UntrustedPickle:
        raise
    # Damaged bytes may raise nearly anything, from UnpicklingError to MemoryError.
    except Exception as error:
        raise UntrustedPickle(
            f"The pickle cannot be read: {type(error).__name__} {error}.", hint=_HINT
        ) from error
    if type(content) is not list:
        raise UntrustedPickle(
            f"The pickle holds a {type(content).__name__.strip('_')}, not a list.", hint=_HINT
        )
    return [_values(item, place) for place, item in enumerate(content)]


class _Restricted(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        try:
            return _DOUBLES[module, name]
        except KeyError:
            raise UntrustedPickle(
                f"The pickle names the forbidden global {module}.{name}.", hint=_HINT
            ) from None


# A pickle can also hand state to the doubles themselves (opcode BUILD). Each has a
# __setstate__, without which pickle would write into their attributes.


class _Dtype:
    """numpy.dtype: its code and, set afterwards, its byte order."""

    def __init__(self, code: str, align: bool = False, copy: bool = False) -> None:
        self.code = str(code).lstrip("<>")
        self.order = str(code)[0] if str(code)[0] in "<>" else "<"
        if self.code not in _CODES:
            raise UntrustedPickle(f"The pickle holds an array of {code!r}, not of float64.", hint=_HINT)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = "<>"["<>".index(state[1])]


class _Array:
    """numpy.ndarray: `values` once its bytes are known."""

    values: NDArray[Any] | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, _, raw = state
        if len(shape) != 1 or not isinstance(dtype, _Dtype) or not isinstance(raw, bytes):
            raise UntrustedPickle(
                f"The pickle holds an array of shape {shape!r} in an unknown form.", hint=_HINT
            )
        self._fill(raw, dtype)
        if self.values is None or self.values.shape != shape:
            raise UntrustedPickle(
                f"The pickle holds an array whose shape {shape!r} is not that of its bytes."
            )

    def _fill(self, raw: bytes, dtype: _Dtype) -> _Array:
        # A copy in native order: frombuffer's view of bytes is read-only.
        self.values = np.frombuffer(raw, dtype.order + dtype.code).astype(dtype.code)
        return self


class _Series:
    """A pandas Series, or the block manager in it; `values` are those of its only block."""

    values: NDArray[Any] | None = None

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.values = state["_mgr"].values
        else:
            (block,) = state[1]
            self.values = block.values


class _Unused:
    """A name that only tells a kind (an index class); it cannot be built or changed."""

    def __setstate__(self, state: object) -> NoReturn:
        raise UntrustedPickle("The pickle changes a class.", hint=_HINT)

    def __init__(self) -> None:
        raise UntrustedPickle("The pickle builds an object that is not an array.", hint=_HINT)


@dataclass(frozen=True)
class _Function:
    """A function of NumPy or pandas: `call` is what stands for it."""

    call: Callable[..., object]

    def __call__(self, *arguments: object) -> object:
        return self.call(*arguments)

    def __setstate__(self, state: object) -> NoReturn:
        raise UntrustedPickle("The pickle changes a function.", hint=_HINT)


def _reconstruct(kind: object, shape: object, code: object) -> _Array:
    if kind is not _Array:
        raise UntrustedPickle("The pickle holds an array of an unknown class.", hint=_HINT)
    return _Array()


def _frombuffer(raw: bytes, code: str) -> _Array:
    return _Array()._fill(raw, _Dtype(code))


def _array(source: _Array, code: str) -> _Array:
    if not isinstance(source, _Array) or source.values is None or _Dtype(code).code != "f8":
        raise UntrustedPickle("The pickle holds an array in an unknown form.", hint=_HINT)
    return source


def _nothing(*arguments: object) -> None:
    """What an index or a slice becomes: not needed for the values."""


_RECONSTRUCT = _Function(_reconstruct)
_DOUBLES: Mapping[tuple[str, str], object] = MappingProxyType(
    {
        ("numpy", "array"): _Function(_array),
        ("numpy", "frombuffer"): _Function(_frombuffer),
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Dtype,
        ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
        ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
        ("pandas.core.series", "Series"): _Series,
        ("pandas.core.internals.managers", "SingleBlockManager"): _Series,
        ("pandas.core.indexes.base", "_new_Index"): _Function(_nothing),
        ("pandas.core.indexes.numeric", "Int64Index"): _Unused,
        ("builtins", "slice"): _Function(_nothing),
    }
)


def _values(item: object, place: int) -> FloatArray:
    values = item.values if isinstance(item, _Array | _Series) else None
    if not isinstance(values, np.ndarray) or values.dtype != np.float64:
        kind = (
            f"an array of {values.dtype}"
            if isinstance(values, np.ndarray)
            else type(item).__name__.strip("_")
        )
        raise UntrustedPickle(f"Item {place} of the pickled list is {kind}, not a float64 array.", hint=_HINT)
    return np.array(values, dtype=np.float64)
