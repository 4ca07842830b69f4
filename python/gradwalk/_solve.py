# SPDX-License-Identifier: MIT
"""minimize(), fit() and root() of Python functions, of one point or of one row. docs/solve.md describes them."""

from typing import Any, Callable, List, Optional, Tuple

from . import _core
from ._forms import Form, callable_or_refuse, flat, object_array, refuse

Progress = Optional[Callable[[int, float], Any]]


def _begin(call: str, f: Any, rows: Any, start: Any, args: Any) -> Tuple[Callable[..., Any], Any, Form]:
    """Returns the function as the solvers call it, the rows as an array of two dimensions or None, and the form of the start.

    solve(f, start) gives the start in place of the rows.
    """
    callable_or_refuse(call, f)
    if start is None:
        rows, start = None, rows
    if start is None:
        refuse(call, "a start", "none", "give a number to start from for each parameter", TypeError)
    form = Form(call, "the start", start)
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    if rows is None:
        return lambda x: flat(f(form.values(x), *args)), None, form
    table, row_of = _rows(call, rows)
    form.is_array = form.is_array or not isinstance(rows, (list, tuple))
    return lambda x, row: flat(f(form.values(x), row_of(row), *args)), table, form


def _rows(call: str, rows: Any) -> Tuple[Any, Callable[[List[Any]], Any]]:
    """Returns rows as an array of two dimensions, and the function that gives the Values of a row their form.

    The rows of a list are lists, those of an array are arrays, and those of one dimension are single Values.
    """
    import numpy

    try:
        table = numpy.ascontiguousarray(rows, dtype=float)
    except (TypeError, ValueError):
        refuse(call, "rows of numbers, equally long", f"{type(rows).__name__} of other things", "give an array with one row per sample", TypeError)
    if table.ndim not in (1, 2) or table.size == 0:
        refuse(call, "rows as an array of one or two dimensions", f"an array of shape {table.shape}", "give one row per sample")
    if table.ndim == 1:
        return table.reshape(-1, 1), lambda row: row[0]
    if isinstance(rows, (list, tuple)):
        return table, lambda row: row
    return table, lambda row: object_array(row, (len(row),))


def _bounds(call: str, bounds: Any, form: Form) -> Tuple[List[float], List[float]]:
    """Returns the lower and upper bounds of pairs such as [(0, None), (-1, 1)], or of an object with lb and ub, as SciPy's."""
    if bounds is None:
        return [], []
    count = len(form.numbers)
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        import numpy

        return tuple(numpy.broadcast_to(bound, count).astype(float).tolist() for bound in (bounds.lb, bounds.ub))  # type: ignore[return-value]
    try:
        pairs = [tuple(pair) for pair in ([bounds] if form.shape is None and not hasattr(bounds[0], "__len__") else bounds)]
        ends = [(float("-inf") if low is None else float(low), float("inf") if high is None else float(high)) for low, high in pairs]
    except (TypeError, ValueError, IndexError):
        refuse(call, "bounds as one pair (low, high) per parameter", repr(bounds), "write None where there is no bound", TypeError)
    if len(ends) != count:
        refuse(call, f"one pair of bounds per parameter: {count}", str(len(ends)), "write (None, None) where there are no bounds")
    return [low for low, _ in ends], [high for _, high in ends]


def _number(call: str, name: str, number: Any) -> float:
    try:
        return float(number)
    except (TypeError, ValueError):
        refuse(call, f"a number as {name}", type(number).__name__, "give a float", TypeError)


def _count(call: str, name: str, number: Any) -> int:
    if not isinstance(number, int) or number < 0:
        refuse(call, f"{name} as a whole number, 0 or more", repr(number), "give an int", TypeError)
    return number


def minimize(f: Callable[..., Any], rows: Any = None, start: Any = None, *, method: str = "lbfgs", args: Any = (), bounds: Any = None, tol: Optional[float] = None,
             iterations: int = 1000, gradient_tolerance: float = 1e-10, step_tolerance: float = 0.0, value_tolerance: float = 0.0, compile: bool = True,
             progress: Progress = None) -> _core.Minimum:
    """Finds a local minimum near the start: minimize(f, start), or minimize(loss_of_one_row, rows, start).

    f takes the parameters in the form of the start: one Value for a number, a list for a list, an array for an array. The
    row form minimizes the sum of f(parameters, row) over the rows. It calls f on a few rows and compiles it. Both pass
    args on. bounds has a pair (low, high) per parameter; tol sets the tolerances of gradient and value. method is
    'lbfgs', 'bfgs', 'newton' or 'gradient_descent'. progress is called with the number and the value of each iteration.

    >>> best = minimize(lambda x: (x[0] - 3) ** 2 + (x[1] + 1) ** 2, [0.0, 0.0])
    >>> best.stop, [f"{v:.4f}" for v in best.x]
    ('converged on gradient', ['3.0000', '-1.0000'])
    >>> f"{minimize(lambda centre, x: abs(x - centre) ** 1.5, [1.0, 2.0, 9.0], 0.0).x:.4f}"
    '3.0335'
    """
    call = "minimize"
    function, table, form = _begin(call, f, rows, start, args)
    if tol is not None:
        gradient_tolerance = value_tolerance = _number(call, "tol", tol)
    lower, upper = _bounds(call, bounds, form)
    return _core._minimize(function, table, form.numbers, form, str(method), _count(call, "iterations", iterations),
                           _number(call, "gradient_tolerance", gradient_tolerance), _number(call, "step_tolerance", step_tolerance),
                           _number(call, "value_tolerance", value_tolerance), lower, upper, bool(compile), progress)


def fit(residuals: Callable[..., Any], rows: Any = None, start: Any = None, *, args: Any = (), bounds: Any = None, tol: Optional[float] = None,
        iterations: int = 1000, gradient_tolerance: float = 1e-13, step_tolerance: float = 1e-15, value_tolerance: float = 1e-24, known_errors: bool = False,
        compile: bool = True, progress: Progress = None) -> _core.Fit:
    """Finds the parameters with the least sum of squared residuals, and their standard errors.

    fit(residuals, start) takes a function that returns all residuals. fit(residual_of_one_row, rows, start) takes a
    function of the parameters and one row, which returns one residual or several; it is called on a few rows and compiled.
    With known_errors, the residuals are in units of their standard deviation. bounds has a pair (low, high) per parameter;
    tol sets all tolerances.

    >>> points = [(0, 1.0), (1, 3.1), (2, 4.9), (3, 7.0)]
    >>> line = fit(lambda p, row: p[0] + p[1] * row[0] - row[1], points, [0.0, 0.0])
    >>> [f"{v:.2f} +- {e:.2f}" for v, e in zip(line.x, line.standard_errors)]
    ['1.03 +- 0.08', '1.98 +- 0.04']
    """
    call = "fit"
    function, table, form = _begin(call, residuals, rows, start, args)
    if tol is not None:
        gradient_tolerance = step_tolerance = value_tolerance = _number(call, "tol", tol)
    lower, upper = _bounds(call, bounds, form)
    return _core._fit(function, table, form.numbers, form, _count(call, "iterations", iterations), _number(call, "gradient_tolerance", gradient_tolerance),
                      _number(call, "step_tolerance", step_tolerance), _number(call, "value_tolerance", value_tolerance), lower, upper, bool(known_errors),
                      bool(compile), progress)


def root(f: Callable[..., Any], start: Any, *, args: Any = (), tol: Optional[float] = None, iterations: int = 200, value_tolerance: float = 1e-13,
         step_tolerance: float = 1e-15, compile: bool = True, progress: Progress = None) -> _core.Root:
    """Finds where f is 0. f returns one Value, or as many Values as there are parameters. tol sets both tolerances.

    >>> root(lambda x: x * x - 2, 1.0).x
    1.4142135623730951
    """
    call = "root"
    function, _, form = _begin(call, f, None, start, args)
    if tol is not None:
        value_tolerance = step_tolerance = _number(call, "tol", tol)
    return _core._root(function, form.numbers, form, _count(call, "iterations", iterations), _number(call, "value_tolerance", value_tolerance),
                       _number(call, "step_tolerance", step_tolerance), bool(compile), progress)
