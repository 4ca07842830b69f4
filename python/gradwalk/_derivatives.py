# SPDX-License-Identifier: MIT
"""grad(), value_and_grad(), jacobian(), hessian(), jvp() and hvp(): functions that return functions.

The function that they return is recorded at its first points and compiled when two of them gave the same graph. A program
keeps every number that the function takes from elsewhere, so a function is compiled only if its numbers can be compared
at each call: those in its closure, its globals and its defaults.
"""

import functools
import types
from typing import Any, Callable, Dict, List, Set, Tuple

from . import _core
from ._core import Value
from ._core import _Form as Form
from ._forms import callable_or_refuse, flat_and_shape, is_array, object_array, refuse


class _CannotCompare(Exception):
    """An object whose numbers may change without notice."""


def _print_of(thing: Any, depth: int = 0) -> Any:
    """Returns something that is equal as long as the numbers in an object are. Raises _CannotCompare if there is nothing."""
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes, type, types.BuiltinFunctionType)):
        return thing
    if depth > 4:
        raise _CannotCompare(type(thing).__name__)
    if isinstance(thing, (tuple, list)):
        return tuple([_print_of(item, depth + 1) for item in thing])
    if type(thing).__module__ == "numpy":
        if getattr(thing, "dtype", None) == object:
            raise _CannotCompare("an array of objects")
        return (thing.shape, thing.tobytes()) if hasattr(thing, "tobytes") else id(thing)
    if isinstance(thing, types.FunctionType):
        return _print_of_function(thing, depth + 1)
    if isinstance(thing, types.ModuleType):
        return id(thing)
    if isinstance(thing, functools.partial):
        return _print_of((thing.func, thing.args, tuple(thing.keywords.items())), depth + 1)
    if isinstance(thing, types.MethodDescriptorType):
        return thing
    if isinstance(thing, _Derivative):
        return _print_of(thing._function, depth + 1)
    raise _CannotCompare(type(thing).__name__)


def _names_in(code: types.CodeType) -> Set[str]:
    """Returns the globals and attributes that a function uses, also in lambdas and comprehensions inside it."""
    inner = [_names_in(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*inner)


def _print_of_function(function: types.FunctionType, depth: int) -> Any:
    code = function.__code__
    found: List[Any] = [code]
    names = _names_in(code)
    for name in sorted(names & function.__globals__.keys()):
        thing = function.__globals__[name]
        if thing is function:
            continue
        found.append(_print_of(thing, depth))
        if isinstance(thing, types.ModuleType):  # math.pi, or settings.rate
            found.append([(n, v) for n in sorted(names) for v in [getattr(thing, n, None)] if isinstance(v, (int, float))])
    for cell in function.__closure__ or ():
        thing = cell.cell_contents
        if thing is not function:
            found.append(_print_of(thing, depth))
    found.append(_print_of(function.__defaults__, depth))
    return found


class _Point:
    """A function at points of one form: its Differentiator, and the form of its result."""

    def __init__(self, call: str, function: Callable[..., Any], form: Form) -> None:
        self.function = function
        self.form = form
        self.arguments: Tuple[Any, ...] = ()  # those after x
        self.shape: Any = None  # of the result: None for one Value, [] for a list, a tuple for an array
        self.numbers: Any = None  # what the function uses
        self.differentiator = _core._Differentiator(self._record, call)

    def _record(self, values: List[Value]) -> Any:
        read = _core._numbers_read()
        returned = self.function(self.form.values(values), *self.arguments)
        self.shape = flat_and_shape(returned)[1] if is_array(returned) else [] if isinstance(returned, (list, tuple)) else None
        if _core._numbers_read() != read:
            self.differentiator.never_compile("the function reads .data, so its graph may differ at other points")
        return returned

    def check(self, arguments: Tuple[Any, ...], compile: Any) -> None:
        """Forgets the programs if a number has changed that the function uses."""
        self.arguments = arguments
        if compile is not None:
            if not compile:
                self.differentiator.never_compile("compile is False")
            return
        try:
            numbers = _print_of((self.function, arguments))
        except (_CannotCompare, ValueError) as error:
            self.differentiator.never_compile(f"the function uses {error}, whose numbers may change; give compile=True if they do not")
            return
        if numbers != self.numbers:
            if self.numbers is not None:
                self.differentiator.forget()
            self.numbers = numbers


class _Derivative:
    """The function that grad() and the others return. compiled says whether a program is in use, not_compiled why not."""

    _call = ""

    def __init__(self, function: Callable[..., Any], compile: Any) -> None:
        self._function = callable_or_refuse(self._call, function)
        self._compile = compile
        self._points: Dict[Any, _Point] = {}
        functools.update_wrapper(self, function, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())

    @property
    def compiled(self) -> bool:
        return any(point.differentiator.compiled for point in self._points.values())

    @property
    def not_compiled(self) -> str:
        return next((point.differentiator.not_compiled for point in self._points.values()), "it was not called yet")

    def _at(self, x: Any, arguments: Tuple[Any, ...]) -> Tuple[_Point, Form]:
        form = Form(x, self._call, "x")
        if not form.numbers:
            refuse(self._call, "at least one number as x", "none", "give the point to differentiate at")
        key = None if form.shape is None else (tuple(form.shape) or len(form.numbers))
        point = self._points.get(key)
        if point is None:
            point = self._points[key] = _Point(self._call, self._function, form)
        point.check(arguments, self._compile)
        return point, form


def _has_values(x: Any) -> bool:
    if isinstance(x, Value):
        return True
    if is_array(x):
        return getattr(x, "dtype", None) == object and any(isinstance(item, Value) for item in flat_and_shape(x)[0])
    return isinstance(x, (list, tuple)) and any(isinstance(item, Value) for item in x)


class _ValueAndGrad(_Derivative):
    _call = "value_and_grad"

    def __call__(self, x: Any, *arguments: Any) -> Tuple[Any, Any]:
        if _has_values(x):
            return self._recorded(x, arguments)
        point, form = self._at(x, arguments)
        value, slope = point.differentiator.value_and_gradient(form.numbers)
        if point.shape not in (None, ()):
            refuse(self._call, "a function that returns one Value", "one that returns several", "use jacobian()")
        return value, form.result(slope)

    def _recorded(self, x: Any, arguments: Tuple[Any, ...]) -> Any:
        """Differentiates at Values, so that the result is recorded and can be differentiated again."""
        items, shape = flat_and_shape(x) if is_array(x) else ([x] if isinstance(x, Value) else x, ())
        values = [item if isinstance(item, Value) else Value(item) for item in items]
        given = values[0] if isinstance(x, Value) else object_array(values, shape) if is_array(x) else values
        root = _core._returned_value(self._function(given, *arguments), self._call)
        slope = _core.derivatives(root, values)
        return root, slope[0] if isinstance(x, Value) else object_array(slope, shape) if is_array(x) else slope


class _Grad(_ValueAndGrad):
    _call = "grad"

    def __call__(self, x: Any, *arguments: Any) -> Any:
        return super().__call__(x, *arguments)[1]


class _Jacobian(_Derivative):
    _call = "jacobian"

    def __call__(self, x: Any, *arguments: Any) -> Any:
        point, form = self._at(_without_values(self._call, x), arguments)
        rows = point.differentiator.jacobian(form.numbers)
        if form.shape is None:
            return _shaped([row[0] for row in rows], point.shape)
        if point.shape is None:
            return form.result(rows[0])
        if form.shape == [] and point.shape == []:
            return rows
        import numpy

        outputs = (len(rows),) if point.shape == [] else point.shape
        inputs = (len(form.numbers),) if form.shape == [] else form.shape
        return numpy.array(rows).reshape(outputs + inputs)


class _Hessian(_Derivative):
    _call = "hessian"

    def __call__(self, x: Any, *arguments: Any) -> Any:
        point, form = self._at(_without_values(self._call, x), arguments)
        rows = point.differentiator.hessian(form.numbers)
        if form.shape is None:
            return rows[0][0]
        if form.shape == []:
            return rows
        import numpy

        return numpy.array(rows).reshape(form.shape + form.shape)


class _Jvp(_Derivative):
    _call = "jvp"

    def __call__(self, x: Any, v: Any, *arguments: Any) -> Any:
        point, form = self._at(_without_values(self._call, x), arguments)
        return _shaped(point.differentiator.jvp(form.numbers, _vector(self._call, v, form)), point.shape)


class _Hvp(_Derivative):
    _call = "hvp"

    def __call__(self, x: Any, v: Any, *arguments: Any) -> Any:
        point, form = self._at(_without_values(self._call, x), arguments)
        return form.result(point.differentiator.hvp(form.numbers, _vector(self._call, v, form)))


def _without_values(call: str, x: Any) -> Any:
    if _has_values(x):
        refuse(call, "numbers as x", "Values", "only grad() and value_and_grad() take Values", TypeError)
    return x


def _vector(call: str, v: Any, form: Form) -> List[float]:
    numbers = Form(v, call, "v").numbers
    if len(numbers) != len(form.numbers):
        refuse(call, f"a v like x, with {len(form.numbers)} numbers", str(len(numbers)), "give one number per number of x")
    return numbers


def _shaped(numbers: List[float], shape: Any) -> Any:
    """Returns numbers in the form of a function's result."""
    if shape is None:
        return numbers[0]
    if shape == []:
        return numbers
    import numpy

    return numpy.array(numbers).reshape(shape)


def grad(f: Callable[..., Any], *, compile: Any = None) -> Any:
    """Returns the function that computes the gradient of f at x, in the form of x: a number, a list or an array.

    f takes x, and further arguments that are passed on. The function is compiled after a few calls, if the numbers that f
    takes from elsewhere can be watched. compile=False never compiles it; compile=True does not watch. At Values, the
    result is recorded, so grad(grad(f)) is the second derivative.

    >>> slope = grad(lambda x: x ** 3)
    >>> slope(2.0), grad(slope)(2.0)
    (12.0, 12.0)
    >>> grad(lambda x: x[0] ** 2 * x[1])([3.0, 5.0])
    [30.0, 9.0]
    """
    return _Grad(f, compile)


def value_and_grad(f: Callable[..., Any], *, compile: Any = None) -> Any:
    """Returns the function that computes the value of f at x and its gradient there, as grad() does.

    >>> value_and_grad(lambda x: x ** 3)(2.0)
    (8.0, 12.0)
    """
    return _ValueAndGrad(f, compile)


_NONE: Any = object()


def jacobian(f: Callable[..., Any], x: Any = _NONE, *, compile: Any = None) -> Any:
    """Returns the function that computes the Jacobian of f at x; jacobian(f, x) computes it once.

    Its shape is that of the outputs, then that of x: one row per output.

    >>> jacobian(lambda x: [x[0] * x[1], x[0] + x[1]])([2.0, 3.0])
    [[3.0, 2.0], [1.0, 1.0]]
    """
    return _Jacobian(f, compile) if x is _NONE else _Jacobian(f, False)(x)


def hessian(f: Callable[..., Any], x: Any = _NONE, *, compile: Any = None) -> Any:
    """Returns the function that computes the matrix of second derivatives of f at x; hessian(f, x) computes it once.

    >>> hessian(lambda x: x[0] ** 2 * x[1], [3.0, 5.0])
    [[10.0, 6.0], [6.0, 0.0]]
    """
    return _Hessian(f, compile) if x is _NONE else _Hessian(f, False)(x)


def jvp(f: Callable[..., Any], *, compile: Any = None) -> Any:
    """Returns the function of x and v that computes the Jacobian of f at x times the vector v.

    >>> jvp(lambda x: [x[0] * x[1], x[0] + x[1]])([2.0, 3.0], [1.0, 0.0])
    [3.0, 1.0]
    """
    return _Jvp(f, compile)


def hvp(f: Callable[..., Any], *, compile: Any = None) -> Any:
    """Returns the function of x and v that computes the Hessian of f at x times the vector v.

    >>> hvp(lambda x: x[0] ** 2 * x[1])([3.0, 5.0], [1.0, 0.0])
    [10.0, 6.0]
    """
    return _Hvp(f, compile)
