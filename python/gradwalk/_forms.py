# SPDX-License-Identifier: MIT
"""Arrays of Values, and refusals. _core._Form has the forms in which functions take their arguments."""

from typing import Any, Callable, NoReturn, Sequence, Tuple


def object_array(values: Sequence[Any], shape: Tuple[int, ...]) -> Any:
    """Returns Values as an array of objects, so that `(x ** 2).sum()` works."""
    import numpy

    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def is_array(x: Any) -> bool:
    """Whether x is an array of at least one dimension, also one of another library."""
    return hasattr(x, "__array__") and getattr(x, "ndim", 1) != 0


def refuse(call: str, needs: str, got: str, advice: str, error: Any = ValueError) -> NoReturn:
    raise error(f"{call}: needs {needs}, got {got}; {advice}") from None


def callable_or_refuse(call: str, f: Any) -> Callable[..., Any]:
    if not callable(f):
        refuse(call, "a function", type(f).__name__, "give a function of Values", TypeError)
    return f
