# SPDX-License-Identifier: MIT
"""compile() of Values and of functions, also as a decorator, and Programs as functions. docs/compile.md describes programs."""

import functools
import inspect
from typing import Any, Callable, List, Optional, Tuple

from . import _core
from ._core import Condition, Program, Trainer, Value
from ._forms import flat_and_shape, is_array, object_array, refuse

_MOST_SAMPLES = 16


def _take_apart(call: str, returned: Any) -> Tuple[List[Value], Callable[[List[Any]], Any]]:
    """Returns the Values in nested lists, tuples, dicts and arrays, and a function that puts columns of numbers in their places."""
    if isinstance(returned, Value):
        return [returned], lambda columns: columns[0]
    if is_array(returned):
        import numpy

        items, shape = flat_and_shape(returned)
        return ([_as_value(call, item) for item in items],
                lambda columns: numpy.stack(columns, axis=-1).reshape(numpy.shape(columns[0]) + shape))
    if isinstance(returned, (list, tuple, dict)):
        keys = list(returned) if isinstance(returned, dict) else None
        parts = [_take_apart(call, item) for item in (returned.values() if isinstance(returned, dict) else returned)]
        kind = type(returned)

        def put_together(columns: List[Any]) -> Any:
            items, start = [], 0
            for values, put in parts:
                items.append(put(columns[start:start + len(values)]))
                start += len(values)
            if keys is not None:
                return dict(zip(keys, items))
            return kind(*items) if hasattr(kind, "_fields") else kind(items)

        return [value for values, _ in parts for value in values], put_together
    return [_as_value(call, returned)], lambda columns: columns[0]


def _as_value(call: str, item: Any) -> Value:
    if isinstance(item, Value):
        return item
    if isinstance(item, Condition):
        return item.node
    try:
        return Value(item)
    except TypeError:
        refuse(call, "Values, or lists, tuples, dicts and arrays of them", type(item).__name__, "return Values", TypeError)


def _call_program(self: Program, rows: Any = None) -> Any:
    """Returns the outputs in the form that the function returns them: an array per Value, with one number per row.

    A single row, of one dimension, returns numbers.
    """
    put_together = getattr(self, "_put_together", None)
    single = rows is None
    if not single:
        rows = _core._array(rows, "Program", "rows")
        single = rows.ndim == 0 or (rows.ndim == 1 and self.inputs != 1)
        rows = rows.reshape(1, -1) if single else rows
    outputs = self.evaluate(rows)
    columns = outputs[0].tolist() if single else list(outputs.T)
    if put_together is None:
        return columns[0] if len(columns) == 1 else columns
    return put_together(columns)


def _reduce_program(self: Program) -> Any:
    """Pickles a program of a function: the function is recorded once more, and its graph is pickled and compiled again."""
    source = getattr(self, "_source", None)
    if source is None:
        refuse("pickle", "a program of a function, which can be recorded again", "one of Values", "give compile() a function and rows", TypeError)
    function, row, options = source
    inputs = [Value(x) for x in row]
    returned, branched = _core._record(function, inputs)
    if branched:
        refuse("pickle", "a function without branches on Values", "one that branches", "write select(condition, x, y)")
    return _compile_again, (returned, inputs, *options)


def _compile_again(outputs: Any, inputs: Any, parameters: Any, precision: str, threads: int) -> Program:
    """Restores a pickled Program."""
    return compile(outputs, inputs=inputs, parameters=parameters, precision=precision, threads=threads)


def _reduce_trainer(self: Trainer) -> Any:
    """Pickles a Trainer with its programs, and so with their parameters, and with the state of its optimizer."""
    return _train_again, self._parts()


def _train_again(made_of: Any, state: Any, most: Optional[float], hook: Any) -> Trainer:
    """Restores a pickled Trainer."""
    trainer = Trainer(*made_of)
    trainer.load_state_dict(state)
    if most is not None:
        trainer.clip_norm(most)
    if hook is not None:
        trainer.before_update(hook)
    return trainer


Program.__call__ = _call_program  # type: ignore[method-assign,assignment]
Program.__reduce__ = _reduce_program  # type: ignore[method-assign,assignment]
Trainer.__reduce__ = _reduce_trainer  # type: ignore[method-assign,assignment]


def _samples(rows: Any, call: str) -> Any:
    """Returns rows as an array, for the compiler to call the function on."""
    rows = _core._array(rows, call, "rows")
    if rows.ndim != 2:
        refuse(call, "sample rows as an array of two dimensions", f"{rows.ndim} dimensions", "give at least two rows, each with one number per input")
    return rows


class CompiledFunction:
    """A function of one row that is compiled when it is first given rows. @compile makes one.

    It is called with an array of rows, or, if the function has several parameters, with one array or number for each.
    run(), gradients() and evaluate() take rows as a Program does. A function that does not branch becomes a Program when
    it has been given two different rows; program is that Program. A function that branches on a comparison of Values,
    as `if`, `while`, sorted() and max() do, is compiled path by path and is right for every row; program stays None.

    >>> @compile
    ... def area(width, height):
    ...     return width * height
    >>> area([1.0, 2.0], 3.0).tolist(), type(area).__name__
    ([3.0, 6.0], 'CompiledFunction')
    >>> @compile
    ... def halvings(x, limit):
    ...     rounds = 0
    ...     while x > limit:
    ...         x, rounds = x / 2, rounds + 1
    ...     return x + rounds
    >>> halvings([0.5, 3.0, 20.0], 1.0).tolist()
    [0.5, 2.75, 5.625]
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.function = function
        self.program: Optional[Program] = None
        self._function: Optional[_core._Function] = None  # of a function that branches
        self._outputs = 0  # the number of its outputs
        self._put_together: Any = None
        self._options = options
        self._seen: List[List[float]] = []
        self._takes_arrays = False  # whether rows were given as an array
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._count = sum(p.kind in positional and p.default is p.empty for p in inspect.signature(function).parameters.values())
        functools.update_wrapper(self, function)

    def _of_row(self, row: List[Value]) -> Any:
        if self._count > 1:
            return self.function(*row)
        return self.function(object_array(row, (len(row),)) if self._takes_arrays else row)

    def _rows(self, arguments: Tuple[Any, ...]) -> Tuple[Any, bool]:
        """Returns the rows of a call, and whether they are a single row."""
        import numpy

        name = self.function.__name__
        if self._count > 1 and len(arguments) != self._count:
            refuse(name, f"{self._count} arguments", str(len(arguments)), "give an array or a number for each")
        if self._count <= 1 and len(arguments) != 1:
            refuse(name, "one argument, the rows", str(len(arguments)), "give an array with one row per sample")
        self._takes_arrays = is_array(arguments[0])
        columns = [_core._array(argument, name, "an argument") for argument in arguments]
        if self._count > 1:
            try:
                rows = numpy.stack(numpy.broadcast_arrays(*columns), axis=-1)
            except ValueError:
                refuse(name, "arrays of one length", " and ".join(str(column.shape) for column in columns), "give one number per row")
            return rows.reshape(-1, self._count), rows.ndim == 1
        if columns[0].ndim not in (1, 2):
            refuse(name, "rows as an array of two dimensions", f"{columns[0].ndim} dimensions", "give one row per sample and one column per input")
        return numpy.atleast_2d(columns[0]), columns[0].ndim == 1

    def _values_of_row(self, row: List[Value]) -> List[Value]:
        values, self._put_together = _take_apart("compile", self._of_row(row))
        return values

    def _branches(self, rows: Any) -> bool:
        """Finds out whether the function branches, at the first row: a path without comparisons is the only one."""
        if self._function is not None or self.program is not None or self._seen or len(rows) == 0:
            return self._function is not None
        inputs = [Value(x) for x in rows[0].tolist()]
        values, branched = _core._record(self._values_of_row, inputs)
        if branched:
            self._outputs = len(values)
            options = self._options
            self._function = _core._Function(self._values_of_row, len(inputs), list(options["parameters"]), options["precision"], options["threads"])
        return branched

    def _trainable(self) -> Any:
        """Returns what a Trainer trains."""
        if self._function is None and self.program is None:
            refuse("Trainer", "a function that was called with rows", "one that was not called yet", "call it with some rows first")
        return self._function or self.program

    def _compiled(self, rows: Any) -> Optional[Program]:
        if self.program is None:
            step = max(1, len(rows) // _MOST_SAMPLES)
            for row in rows[::step].tolist():
                if row not in self._seen:
                    self._seen.append(row)
            if len(self._seen) > 1:
                self.program = _compile_function(self._of_row, self._seen, **self._options)
        return self.program

    def __call__(self, *arguments: Any) -> Any:
        rows, single = self._rows(arguments)
        if self._branches(rows):
            assert self._function is not None
            outputs = self._function.evaluate(rows, self._outputs)
            return self._put_together(outputs[0].tolist() if single else list(outputs.T))
        program = self._compiled(rows)
        if program is None:  # there was only one row so far
            values, put_together = _take_apart("compile", self._of_row([Value(x) for x in rows[0].tolist()]))
            numbers = [value.data for value in values]
            if single:
                return put_together(numbers)
            import numpy

            return put_together([numpy.array([number]) for number in numbers])
        return program(rows[0] if single and program.inputs > 1 else rows[0, 0] if single else rows)

    def _with_rows(self, call: str, rows: Any) -> Any:
        self._takes_arrays = is_array(rows)
        samples = _samples(rows, call)
        if self._branches(samples):
            return self._function
        program = self._compiled(samples)
        if program is None:
            refuse(call, "two different rows at the first call, to see what differs", "one", "call it with more rows")
        return program

    def run(self, rows: Any, **options: Any) -> float:
        """Program.run(rows): the sum of the output, whose gradients are added to the parameters.

        >>> compile(lambda row: row[0] * row[1]).run([[1.0, 2.0], [3.0, 4.0]])
        14.0
        """
        return self._with_rows("run", rows).run(rows, **options)

    def gradients(self, rows: Any, **options: Any) -> Any:
        """Program.gradients(rows): the sum of the output, and the gradients as an array.

        >>> w = Value(2.0)
        >>> compile(lambda row: w * row[0], parameters=[w]).gradients([[1.0], [3.0]])
        (8.0, array([4.]))
        """
        return self._with_rows("gradients", rows).gradients(rows, **options)

    def evaluate(self, rows: Any) -> Any:
        """Program.evaluate(rows): all outputs of each row, as an array.

        >>> compile(lambda row: row[0] * row[1]).evaluate([[1.0, 2.0], [3.0, 4.0]]).tolist()
        [[2.0], [12.0]]
        """
        compiled = self._with_rows("evaluate", rows)
        return compiled.evaluate(rows, self._outputs) if compiled is self._function else compiled.evaluate(rows)

    def describe(self) -> Any:
        """Returns a dict that describes what was compiled: that of the Program, or the paths of a function that branches.

        >>> step = compile(lambda row: row[0] if row[0] > 0 else 0)
        >>> step.run([[-1.0], [2.0], [3.0]]), step.describe()["paths"]
        (5.0, 2)
        """
        return self._trainable().describe()


def _with_rows_of(rows: Any, function: Callable[[Any], Any]) -> Callable[[List[Value]], Any]:
    """Returns the function with its row in the form of the rows: an array if they are one, else a list."""
    return (lambda row: function(object_array(row, (len(row),)))) if is_array(rows) else function


def _compile_function(function: Callable[[Any], Any], rows: Any, parameters: Any, precision: str, threads: int) -> Program:
    put: List[Any] = []
    of_row = _with_rows_of(rows, function)

    def outputs(row: List[Value]) -> List[Value]:
        values, put_together = _take_apart("compile", of_row(row))
        put.append(put_together)
        return values

    samples, parameters = _samples(rows, "compile"), list(parameters)
    program = _core._compile(outputs, samples, (), parameters, precision, threads, False)
    program._put_together = put[0]
    program._source = of_row, samples[0].tolist(), (parameters, precision, threads)
    return program


def _checked_options(call: str, parameters: Any, precision: Any, threads: Any) -> Any:
    if not isinstance(precision, str):
        refuse(call, "precision 'float64' or 'float32'", repr(precision), "choose one of them", TypeError)
    if isinstance(threads, bool) or not isinstance(threads, int) or not 0 <= threads < 2**16:
        refuse(call, "threads as a whole number, 0 or more", repr(threads), "give 0 for all cores", TypeError)
    return parameters, precision, threads


def compile(outputs: Any = None, rows: Any = None, *, inputs: Any = (), parameters: Any = (), precision: str = "float64", threads: int = 1, ignore_comparisons: bool = False, device: str = "cpu") -> Any:
    """Compiles a recorded Value, a list, tuple, dict or array of Values, or a function of a row.

    With sample rows, at least two, a function becomes one Program, which raises ValueError for a row that branches
    otherwise. Without rows, as a decorator, it becomes a CompiledFunction, which may branch and is right for every row.
    A row is a list of Values, or an array if the rows are an array. precision is 'float64' or 'float32'; threads=0 uses
    all cores. A graph that was recorded while a comparison of Values became a bool, as in `if x < y`, raises ValueError,
    because the branch is not part of the graph; ignore_comparisons=True compiles it all the same. device is 'cpu', 'cuda'
    or 'cuda:1'; a GPU runs Values and functions with sample rows, and gradwalk.gpu.compile() has more options for it.

    >>> w = Value(2.0)
    >>> program = compile(lambda row: (w * row[0] - row[1]) ** 2, [[1, 1], [2, 2]], parameters=[w])
    >>> program.run([[1.0, 1.0], [2.0, 5.0]]), w.grad
    (2.0, -2.0)
    >>> @compile
    ... def polar(x, y):
    ...     return {"r": (x * x + y * y).sqrt(), "angle": y.atan2(x)}
    >>> polar([3.0, 0.0], [4.0, 2.0])["r"].tolist()
    [5.0, 2.0]
    """
    options = _checked_options("compile", parameters, precision, threads)
    if device != "cpu":
        return _compile_for_gpu(outputs, rows, device, threads, dict(inputs=inputs, parameters=parameters, precision=precision, ignore_comparisons=ignore_comparisons))
    if outputs is None:
        return lambda function: compile(function, parameters=parameters, precision=precision, threads=threads)
    if not isinstance(outputs, Value) and callable(outputs):
        if len(list(inputs)) > 0:
            refuse("compile", "no inputs: a function is called with its own", "inputs", "leave inputs out")
        if rows is None:
            return CompiledFunction(outputs, parameters=parameters, precision=precision, threads=threads)
        return _compile_function(outputs, rows, *options)
    if rows is not None:
        refuse("compile", "a function, if rows are given", type(outputs).__name__, "name the leaves of a Value in inputs", TypeError)
    values, put_together = _take_apart("compile", outputs)
    program = _core._compile(values, None, inputs, parameters, precision, threads, ignore_comparisons)
    program._put_together = put_together
    return program


def _compile_for_gpu(outputs: Any, rows: Any, device: Any, threads: int, options: Any) -> Any:
    from . import gpu

    kind, _, index = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind != "cuda" or not (index.isdecimal() and index.isascii() if ":" in device else True):
        refuse("compile", "device 'cpu', 'cuda' or 'cuda:N'", repr(device), "choose one of them", ValueError if isinstance(device, str) else TypeError)
    if threads != 1:
        refuse("compile", "threads=1 for a GPU", str(threads), "leave threads out")
    if outputs is None:
        refuse("compile", "Values, or a function with sample rows, for a GPU", "a decorator", "give the function and rows to compile()")
    return gpu.compile(outputs, rows, device=int(index or 0), **options)


def compile_derivatives(output: Value, *, inputs: Any = (), parameters: Any = (), precision: str = "float64", threads: int = 1, ignore_comparisons: bool = False) -> Program:
    """Compiles a program whose outputs are the derivatives of the output with respect to each parameter.

    ignore_comparisons is that of compile().

    >>> x, w = Value(3.0), Value(2.0)
    >>> compile_derivatives((w * x) ** 2, inputs=[x], parameters=[w]).evaluate([[1.0], [3.0]]).tolist()
    [[4.0], [36.0]]
    """
    if not isinstance(output, Value):
        refuse("compile_derivatives", "a Value", type(output).__name__, "give the recorded output", TypeError)
    _checked_options("compile_derivatives", parameters, precision, threads)
    return _core._compile_derivatives(output, inputs, parameters, precision, threads, ignore_comparisons)
