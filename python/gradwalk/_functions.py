# SPDX-License-Identifier: MIT
"""Functions that are made of operations, and no_grad. All of them are in gradwalk itself."""

import contextlib
import functools
import inspect
import sys
from typing import Any, Callable, Iterable, List, Optional, TypeVar, Union

from . import _core
from ._core import Condition, Value

_Operand = Union[Value, Condition, float]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _has_array(*operands: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and any(isinstance(x, numpy.ndarray) for x in operands)


def _each(function: Callable[..., Any], *operands: Any) -> Any:
    from . import _numpy

    return _numpy.each(function, *operands)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Returns x where the condition holds, else y: select() for Values, and for each item of arrays.

    >>> a = Value(3.0)
    >>> where(a > 2, a * 10, 0.0)
    Value(data=30, grad=0)
    """
    if _has_array(condition, x, y):
        return _each(_core.select, condition, x, y)
    return _core.select(condition, x, y)


def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """Returns x, or the bound that it is beyond. None is no bound. At a bound the gradient passes to x, as in PyTorch.

    >>> clip(Value(3.0), 0, 2).data, clip(0.5, 0, 2)
    (2.0, 0.5)
    """
    if _has_array(x, low, high):
        return _each(clip, x, low, high)
    if low is not None:
        x = _core.select(_less(x, low), low, x)
    if high is not None:
        x = _core.select(_less(high, x), high, x)
    return x


def _less(x: Any, y: Any) -> Any:
    """Returns x < y as a Condition, or as a number if both are numbers. Operands of other types raise a TypeError."""
    is_less = _core.less(x, y)
    return is_less != 0 if isinstance(is_less, Value) else is_less


def _clip(self: Value, min: Any = None, max: Any = None, out: None = None) -> Value:
    """Returns the Value, or the bound that it is beyond, as gradwalk.clip() does. numpy.clip() calls it.

    >>> Value(3.0).clip(0, 2).data
    2.0
    """
    return clip(self, min, max)


def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    """Returns x if it is positive, else slope * x.

    >>> leaky_relu(Value(-2.0)).data, leaky_relu(Value(-2.0), 0.5).data
    (-0.02, -1.0)
    """
    if _has_array(x):
        return _each(lambda item: leaky_relu(item, slope), x)
    return _core.select(_less(0, x), x, slope * x)


def _items(call: str, scores: Iterable[Any]) -> List[Any]:
    if isinstance(scores, (str, bytes, dict, Value, Condition)):
        raise TypeError(f"{call}: needs a list of Values, got {type(scores).__name__}; give a list")
    try:
        items = list(scores)
    except TypeError:
        raise TypeError(f"{call}: needs a list of Values, got {type(scores).__name__}; give a list") from None
    if not items:
        raise ValueError(f"{call}: needs at least one Value, got an empty list; give one per class")
    for item in items:
        if not isinstance(item, (Value, Condition)):
            _core.stop(item)  # raises a TypeError unless it is a number
            if _has_array(item):
                raise TypeError(f"{call}: needs a list of Values, got an array of {item.ndim + 1} dimensions; call it for each row")
    return items


def logsumexp(scores: Iterable[Any]) -> Any:
    """Returns log(exp(scores[0]) + exp(scores[1]) + ...). Large scores do not overflow.

    >>> logsumexp([Value(1000.0), Value(1000.0)])
    Value(data=1000.6931471805599, grad=0)
    """
    items = _items("logsumexp", scores)
    largest = _core.stop(functools.reduce(_core.max, items))
    # If the largest score is infinite, so is the result.
    shift = _core.select(_less(_core.abs(largest), float("inf")), largest, 0.0)
    return shift + _core.log(sum(_core.exp(item - shift) for item in items))


def softmax(scores: Iterable[Any]) -> Any:
    """Returns exp(score) of each score, divided by their sum: probabilities. An array for an array, else a list.

    >>> [p.data for p in softmax([Value(0.0), Value(0.0)])]
    [0.5, 0.5]
    """
    items = _items("softmax", scores)
    largest = _core.stop(functools.reduce(_core.max, items))
    powers = [_core.exp(item - largest) for item in items]
    total = sum(powers)
    probabilities = [power / total for power in powers]
    if not _has_array(scores):
        return probabilities
    numpy = sys.modules["numpy"]
    array = numpy.empty(len(items), object if any(isinstance(p, Value) for p in probabilities) else float)
    array[:] = probabilities
    return array


def isnan(x: Any) -> Any:
    """Returns whether x is NaN: a Condition for a Value, a bool for a number.

    >>> bool(isnan(Value(1.0))), isnan(float('nan'))
    (False, True)
    """
    if _has_array(x):
        return _each(isnan, x)
    return _decided(_core.not_equal(x, x))


def isinf(x: Any) -> Any:
    """Returns whether x is infinite: a Condition for a Value, a bool for a number.

    >>> bool(isinf(Value(1.0))), isinf(float('inf'))
    (False, True)
    """
    if _has_array(x):
        return _each(isinf, x)
    return _decided(_core.equal(_core.abs(x), float("inf")))


def isfinite(x: Any) -> Any:
    """Returns whether x is neither infinite nor NaN: a Condition for a Value, a bool for a number.

    >>> bool(isfinite(Value(1.0))), isfinite(float('inf'))
    (True, False)
    """
    if _has_array(x):
        return _each(isfinite, x)
    return _decided(_core.less_equal(_core.abs(x), sys.float_info.max))


def _decided(holds: Any) -> Any:
    return holds != 0


class no_grad(contextlib.ContextDecorator):
    """Inside it, operations record nothing, and their results are plain leaves. A context manager and a decorator.

    >>> with no_grad():
    ...     a = Value(2.0) * 3
    >>> a.inputs
    ()
    >>> @no_grad()
    ... def double(x):
    ...     return x * 2
    >>> double(a).inputs
    ()
    """

    def __new__(cls, function: Any = None) -> Any:
        """Makes the context manager. @no_grad without parentheses decorates, too."""
        made = super().__new__(cls)
        return made if function is None else made(function)

    def __init__(self, function: None = None) -> None:
        pass

    def __enter__(self) -> None:
        """Begins the block."""
        _core._begin_no_grad()

    def __exit__(self, *arguments: Any) -> None:
        """Ends the block."""
        _core._end_no_grad()

    def __call__(self, function: _Function) -> _Function:
        """Returns the function, which then records nothing."""
        if not callable(function):
            raise TypeError(f"no_grad: needs a function to decorate, got {type(function).__name__}; write @no_grad() above a def")
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("no_grad: needs a function that returns, got one that yields or awaits; write with no_grad(): inside it")
        return super().__call__(function)
