# SPDX-License-Identifier: MIT
"""NumPy's functions of Values, and gradwalk's functions of arrays. Imported only when NumPy calls, or an array is given.

numpy.exp(v) of a Value calls call_ufunc(), which records the operation of that name. If it gets an array of Values, NumPy
calls a method of each item instead, such as v.arctan(). So Value has methods under NumPy's names, too.
"""

import operator
from typing import Any, Callable, Dict, Sequence, Tuple

import numpy

from . import _core, _functions

Condition, Value = _core.Condition, _core.Value


# The function that records each ufunc. Other ufuncs are refused, because they would take a Value out of its graph.
_RECORDED: Dict[str, Callable[..., Any]] = {
    **{name: getattr(_core, name) for name in _core._op_names if isinstance(getattr(numpy, name, None), numpy.ufunc)},
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv, "true_divide": operator.truediv,
    "power": operator.pow, "float_power": operator.pow, "remainder": operator.mod, "floor_divide": operator.floordiv,
    "negative": operator.neg, "positive": operator.pos, "absolute": _core.abs, "fabs": _core.abs, "conjugate": operator.pos,
    "square": lambda x: x * x, "reciprocal": lambda x: 1 / x, "sign": _core.sign,
    "maximum": _core.max, "minimum": _core.min, "clip": _functions.clip, "rint": Value.rint,
    "arcsin": _core.asin, "arccos": _core.acos, "arctan": _core.atan, "arcsinh": _core.asinh, "arccosh": _core.acosh,
    "arctanh": _core.atanh, "arctan2": _core.atan2, "degrees": Value.degrees, "rad2deg": Value.degrees, "radians": Value.radians,
    "deg2rad": Value.radians, "logaddexp": lambda x, y: _functions.logsumexp([x, y]),
    "isnan": _functions.isnan, "isinf": _functions.isinf, "isfinite": _functions.isfinite,
}
# NumPy's own loops over arrays of objects use these operators, and are fast.
_OPERATORS = {"add", "subtract", "multiply", "divide", "true_divide", "power", "remainder", "floor_divide", "negative", "positive", "absolute", "square", "reciprocal"}
# Comparisons are Conditions. If an array is among the operands, NumPy's own loops make an array of bools.
_COMPARISONS: Dict[str, Callable[..., Any]] = {
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": lambda x, y: _core.equal(x, y) != 0, "not_equal": lambda x, y: _core.not_equal(x, y) != 0,
    "logical_not": lambda x: ~_condition(x), "logical_and": lambda x, y: _condition(x) & _condition(y),
    "logical_or": lambda x, y: _condition(x) | _condition(y), "logical_xor": lambda x, y: _condition(x) ^ _condition(y),
}


def _condition(x: Any) -> Any:
    return x != 0 if isinstance(x, Value) else x if isinstance(x, Condition) else bool(x)


def _boxed(x: Any) -> Any:
    """Returns a Value in an array without dimensions, for which NumPy runs its own loops."""
    if not isinstance(x, (Value, Condition)):
        return x
    box = numpy.empty((), object)
    box[()] = x
    return box


def _is_array(x: Any) -> bool:
    return isinstance(x, (numpy.ndarray, list, tuple))


def _plain(x: Any, name: str) -> Any:
    """Returns a number of NumPy as a float, whose operators do not call back."""
    if isinstance(x, (numpy.floating, numpy.integer, numpy.bool_)):
        return float(x)
    if isinstance(x, numpy.generic):
        raise TypeError(f"numpy.{name}: needs a Value or a real number, got {type(x).__name__}; convert it to a float")
    return x


def call_ufunc(ufunc: Any, method: str, inputs: Tuple[Any, ...], keywords: Dict[str, Any]) -> Any:
    """Calls a ufunc of NumPy that has a Value among its inputs."""
    if not isinstance(ufunc, numpy.ufunc) or not isinstance(method, str):
        raise TypeError(f"__array_ufunc__: needs a ufunc of NumPy and a method, got {type(ufunc).__name__}; leave the call to NumPy")
    name = ufunc.__name__
    recorded = _COMPARISONS.get(name) or _RECORDED.get(name)
    if recorded is None and name != "matmul" and not name.endswith("(vectorized)"):
        raise TypeError(f"numpy.{name}: needs numbers, got a Value; use its .data, or an operation of gradwalk")
    if recorded is not None and method == "__call__" and not keywords:
        if not any(map(_is_array, inputs)):
            return recorded(*(_plain(x, name) for x in inputs))
        if name not in _OPERATORS and name not in _COMPARISONS:
            return numpy.frompyfunc(recorded, ufunc.nin, 1)(*map(_boxed, inputs))
    return getattr(ufunc, method)(*map(_boxed, inputs), **keywords)


def of_arrays(function: str, inputs: Sequence[Any]) -> Any:
    """Applies a function of gradwalk to each item of its arrays."""
    return each(getattr(_core, function), *inputs)


def each(function: Callable[..., Any], *inputs: Any) -> Any:
    """Applies a function to each item of its arrays. Returns an array: of Values, or of numbers if there is no Value."""
    result = numpy.frompyfunc(function, len(inputs), 1)(*map(_boxed, inputs))
    if not isinstance(result, numpy.ndarray) or any(isinstance(x, (Value, Condition)) for x in result.flat):
        return result
    return result.astype(float)


def array_function(function: Any, arguments: Tuple[Any, ...], keywords: Dict[str, Any]) -> Any:
    """Calls a function of NumPy, not a ufunc, that has a Value among its arguments."""
    if function is numpy.where and len(arguments) == 3:
        return _functions.where(*arguments)
    if not hasattr(function, "_implementation"):
        raise TypeError(f"__array_function__: needs a function of NumPy, got {type(function).__name__}; leave the call to NumPy")
    return function._implementation(*arguments, **keywords)
