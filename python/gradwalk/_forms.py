# SPDX-License-Identifier: MIT
"""The forms in which functions take their arguments: one number, a list of numbers, or a NumPy array of any shape.

A function gets Values in the form that its numbers were given in, and results have that form, too.
"""

from typing import Any, Callable, List, NoReturn, Sequence, Tuple

from ._core import Value


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


class Form:
    """Takes an argument apart into numbers, and gives Values and results its form."""

    def __init__(self, call: str, what: str, x: Any) -> None:
        self.shape: Any = None  # None: one number; a tuple: the shape of an array; []: a list
        self.is_array = is_array(x)
        if self.is_array:
            import numpy

            x = numpy.asarray(x)
            self.shape = x.shape
            try:
                self.numbers = x.astype(float).ravel().tolist()
            except (TypeError, ValueError):
                refuse(call, f"numbers as {what}", f"an array of {x.dtype}", "give an array of floats", TypeError)
        elif isinstance(x, (list, tuple, range)):
            self.shape = []
            self.numbers = [self._number(call, what, number) for number in x]
        else:
            self.numbers = [self._number(call, what, x)]

    @staticmethod
    def _number(call: str, what: str, x: Any) -> float:
        if isinstance(x, (list, tuple)) or is_array(x):
            refuse(call, f"a flat list of numbers as {what}", "a list of lists", "give an array, numpy.array(...), to keep its shape", TypeError)
        if isinstance(x, Value):
            refuse(call, f"numbers as {what}", "a Value", "give its .data", TypeError)
        try:
            return float(x)
        except (TypeError, ValueError, OverflowError):
            refuse(call, f"a number, a list of numbers or an array as {what}", type(x).__name__, "give floats", TypeError)

    def values(self, values: List[Value]) -> Any:
        """Returns the Values in this form, for the user's function."""
        if self.shape is None:
            return values[0]
        return list(values) if self.shape == [] else object_array(values, self.shape)

    def result(self, numbers: List[float]) -> Any:
        """Returns numbers, one per number of the argument, in this form."""
        if self.shape is None:
            return numbers[0]
        if self.shape == []:
            return list(numbers)
        import numpy

        return numpy.array(numbers, dtype=float).reshape(self.shape)


def flat(returned: Any) -> Any:
    """Returns what a user's function returned as one Value or number, or as a list of them."""
    if isinstance(returned, Value):
        return returned
    if hasattr(returned, "__array__"):
        return returned.ravel().tolist() if getattr(returned, "ndim", 1) else returned.item()
    return list(returned) if isinstance(returned, (list, tuple)) else returned


def callable_or_refuse(call: str, f: Any) -> Callable[..., Any]:
    if not callable(f):
        refuse(call, "a function", type(f).__name__, "give a function of Values", TypeError)
    return f
