# SPDX-License-Identifier: MIT
"""Arrays of Values, and refusals. _core._Form has the forms in which functions take their arguments."""

from typing import Any, Callable, List, NoReturn, Sequence, Tuple


def object_array(values: Sequence[Any], shape: Tuple[int, ...]) -> Any:
    """Returns Values as an array of objects, so that `(x ** 2).sum()` works."""
    import numpy

    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def is_array(x: Any) -> bool:
    """Whether x is an array of at least one dimension, also one of another library."""
    return hasattr(x, "__array__") and getattr(x, "ndim", 1) != 0


def flat_and_shape(array: Any) -> Tuple[List[Any], Tuple[int, ...]]:
    """Returns the items of an array, also of one of another library, row after row, and its shape."""
    import numpy

    converted = numpy.asarray(array)
    return converted.ravel().tolist(), converted.shape


def refuse(call: str, needs: str, got: str, advice: str, error: Any = ValueError) -> NoReturn:
    raise error(f"{call}: needs {needs}, got {got}; {advice}") from None


def callable_or_refuse(call: str, f: Any) -> Callable[..., Any]:
    if not callable(f):
        refuse(call, "a function", type(f).__name__, "give a function of Values", TypeError)
    return f
