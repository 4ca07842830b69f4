# SPDX-License-Identifier: MIT
"""emit_c() and emit_cuda(): graphs, functions, programs and models as C files and CUDA kernels. docs/emit-c.md and docs/gpu.md describe the text."""

import inspect
import os
from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional, Union

from . import _core
from ._compile import CompiledFunction, _compile_function, _take_apart
from ._core import Condition, Program, Value
from ._forms import is_array, refuse
from .nn import MLP, Layer, Module, Neuron


def _write(folder: Union[str, "os.PathLike[str]"], name: str, text: str) -> str:
    path = os.path.join(os.fspath(folder), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


@dataclass(frozen=True)
class CSource:
    """A C file and its header, as emit_c() returns them. print() shows the file.

    >>> x = Value(3.0)
    >>> source = emit_c(x * x, name="square", parameters=[x])
    >>> source.name, "double square_value(" in source.text, "#ifndef SQUARE_H" in source.header
    ('square', True, True)
    """

    name: str  # the first part of every name in both files
    text: str  # NAME.c
    header: str  # NAME.h, for C and C++

    def __str__(self) -> str:
        return self.text

    def write(self, folder: Union[str, "os.PathLike[str]"] = ".") -> List[str]:
        """Writes NAME.c and NAME.h to a folder that exists. Returns their paths.

        >>> import os, tempfile
        >>> x = Value(3.0)
        >>> [os.path.basename(path) for path in emit_c(x * x, name="square", parameters=[x]).write(tempfile.mkdtemp())]
        ['square.c', 'square.h']
        """
        return [_write(folder, self.name + ".c", self.text), _write(folder, self.name + ".h", self.header)]


@dataclass(frozen=True)
class CudaSource:
    """CUDA kernels, as emit_cuda() returns them, with what a program needs to launch them. print() shows the text.

    >>> x, w = Value(1.0), Value(2.0)
    >>> source = emit_cuda(w * x, inputs=[x], parameters=[w])
    >>> source.inputs, source.parameters, source.outputs, source.precision, "model_rows(" in source.text
    (1, 1, 1, 'float32', True)
    """

    name: str  # the first part of the kernels' names
    text: str  # CUDA C++, without includes
    precision: str  # the number type of all arrays
    inputs: int  # numbers per row
    parameters: int  # numbers of the parameters
    outputs: int  # numbers per row that NAME_values writes
    fronts: int  # numbers that NAME_uniform writes and NAME_rows reads
    has_uniform: bool  # whether NAME_uniform and NAME_finish exist
    has_input_gradients: bool  # whether NAME_rows writes them
    sums: int  # results of NAME_rows for each block
    most_blocks: int  # of NAME_rows; 0: there is no limit
    about: str  # how it is computed, in one line
    normals: int = 0  # random inputs, whose numbers the kernels make: normally distributed ones
    uniforms: int = 0  # and uniformly distributed ones

    def __str__(self) -> str:
        return self.text

    def blocks(self, rows: int) -> int:
        """Returns how many blocks of 128 threads NAME_rows needs for this many rows.

        >>> x = Value(1.0)
        >>> emit_cuda(x * x, inputs=[x]).blocks(1000)
        8
        """
        blocks = (rows + 127) // 128
        return min(blocks, self.most_blocks) if self.most_blocks else blocks

    def write(self, folder: Union[str, "os.PathLike[str]"] = ".") -> List[str]:
        """Writes NAME.cu to a folder that exists. Returns its path, in a list.

        >>> import os, tempfile
        >>> x = Value(1.0)
        >>> [os.path.basename(path) for path in emit_cuda(x * x, inputs=[x]).write(tempfile.mkdtemp())]
        ['model.cu']
        """
        return [_write(folder, self.name + ".cu", self.text)]


class _Graph(NamedTuple):
    """A recorded graph: its outputs, the leaves that stand for the numbers of a row, and the leaves with gradients."""

    outputs: List[Value]
    inputs: List[Value]
    parameters: Any
    precision: Optional[str]  # that of a program
    is_model: bool
    put_together: Any


def _graph_of(call: str, what: Any, rows: Any, inputs: Any, parameters: Any) -> _Graph:
    """Returns the graph of Values, of a function with sample rows, of a program of a function, or of a model."""
    if isinstance(what, Module):
        return _graph_of_module(call, what, rows, inputs, parameters)
    if isinstance(what, CompiledFunction):
        return _graph_of_program(call, _program_of(call, what, rows), inputs, parameters, _names_of(what))
    if isinstance(what, Program):
        return _graph_of_program(call, what, inputs, parameters)
    if callable(what) and not isinstance(what, (Value, Condition)):
        if rows is None:
            refuse(call, "sample rows for a function", "none", "give at least two rows, each with one number per input")
        _no_inputs(call, inputs)
        return _graph_of_program(call, _compile_function(what, rows, parameters, "float64", 1), (), ())
    if rows is not None:
        refuse(call, "a function, if rows are given", type(what).__name__, "name the leaves of a Value in inputs", TypeError)
    outputs, put_together = _take_apart(call, what)
    return _Graph(outputs, inputs, parameters, None, False, put_together)


def _no_inputs(call: str, inputs: Any) -> None:
    if len(list(inputs)) > 0:
        refuse(call, "no inputs: a function is called with its own", "inputs", "leave inputs out")


def _program_of(call: str, function: CompiledFunction, rows: Any) -> Program:
    """Returns the program of a function of @compile, which one that branches does not have."""
    if rows is not None:
        function.evaluate(rows)
    if function.program is None:
        branches = function._function is not None
        refuse(call, "a function that records the same graph for every row" if branches else "a function that was called with rows",
               "one that branches" if branches else "one that was not",
               "write select(condition, x, y)" if branches else "call it with some rows first, or give rows")
    return function.program


def _names_of(function: CompiledFunction) -> List[str]:
    """The names of the parameters of a function that takes one number each."""
    names = list(inspect.signature(function.function).parameters)[:function._count]
    return names if function._count > 1 else []


def _graph_of_program(call: str, program: Program, inputs: Any, parameters: Any, names: Any = ()) -> _Graph:
    source = getattr(program, "_source", None)
    if source is None:
        refuse(call, "a program of a function, which can be recorded again", "one of Values", "give the Values themselves", TypeError)
    _no_inputs(call, inputs)
    function, row, (own_parameters, precision, _) = source
    if len(list(parameters)) > 0:
        refuse(call, "no parameters: a program has its own", "parameters", "leave parameters out")
    leaves = [Value(x) for x in row]
    for leaf, name in zip(leaves, names):
        leaf.label = name
    outputs, put_together = _take_apart(call, function(leaves))
    return _Graph(outputs, leaves, own_parameters, precision, False, put_together)


def _graph_of_module(call: str, model: Module, rows: Any, inputs: Any, parameters: Any) -> _Graph:
    """Returns the outputs of a network for one row, with all its parameters."""
    if rows is not None or len(list(inputs)) > 0 or len(list(parameters)) > 0:
        refuse(call, "a model alone", "rows, inputs or parameters, too", "give the graph of a row instead: model(inputs)")
    first: Any = model
    if isinstance(first, MLP) and first.layers:
        first = first.layers[0]
    if isinstance(first, Layer) and first.neurons:
        first = first.neurons[0]
    if not isinstance(first, Neuron) or not callable(model):
        refuse(call, "an MLP, a Layer or a Neuron, whose number of inputs is known", type(model).__name__,
               "give the graph of a row instead: model(inputs), with inputs=inputs", TypeError)
    leaves = [Value(0.0) for _ in first.w]
    outputs, put_together = _take_apart(call, model(leaves))  # type: ignore[operator]
    return _Graph(outputs, leaves, model.parameters(), None, True, put_together)


def _only(call: str, given: Any, allowed: Any) -> Any:
    """Returns the options of a trained model. Others than these must have their defaults."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(emit_c).parameters.items()}
    for name, value in given.items():
        if name not in allowed and value is not defaults[name] and value != defaults[name]:
            refuse(call, f"the options {', '.join(allowed)} alone for a trained model", name, "leave it out")
    return {name: given[name] for name in allowed if name != "precision"}


def emit_c(what: Any, samples: Any = None, *, name: str = "model", inputs: Any = (), parameters: Any = (), precision: Optional[str] = None,
           gradient: Optional[bool] = None, input_gradients: bool = False, rows: bool = False, step: bool = False, jacobian: bool = False,
           hessian: bool = False, sparse: bool = False, guard_zeros: bool = True, parameter_values: Optional[bool] = None, main: bool = False,
           straight: int = 160, max_bytes: int = 8 << 20, about: str = "", ignore_comparisons: bool = False) -> CSource:
    """Returns C99 files that need only <math.h>: a value, its gradient, and on request a Jacobian, a Hessian or a training step.

    what is a recorded Value, or a list, tuple, dict or array of Values, with inputs and parameters; a function of a row, with
    sample rows, as compile() takes them; a program of a function; an MLP; an estimator of gradwalk.sklearn that was fitted; or the
    name of a model file of the command line. The last two take only name, precision, step and main.

    Each call of the C function is given the inputs and the parameters, and returns derivatives by the parameters. Every other
    leaf is a constant. An MLP has its parameters as a table (parameter_values) and no gradient, unless you ask for one.
    rows adds NAME_rows(), the sum over rows with its gradient. precision is 'float64', 'float32' or that of the program.
    docs/emit-c.md describes the functions of the file and all options.

    >>> angle, gain = Value(0.3, label="angle"), Value(2.0, label="gain")
    >>> source = emit_c(gain * angle.sin(), name="drive", inputs=[angle], parameters=[gain], gradient=False)
    >>> print(source.text[source.text.index("double drive"):].rstrip())
    double drive_value(const double *restrict parameters, const double *restrict inputs, double *restrict work) {
      (void)work;
      const double gain = parameters[0];
      const double angle = inputs[0];
      const double t0 = sin(angle);
      return gain * t0;
    }
    >>> "model_parameters[13]" in emit_c(MLP(2, [3, 1])).header
    True
    """
    given = dict(samples=samples, name=name, inputs=inputs, parameters=parameters, precision=precision, gradient=gradient, input_gradients=input_gradients,
                 rows=rows, step=step, jacobian=jacobian, hessian=hessian, sparse=sparse, guard_zeros=guard_zeros,
                 parameter_values=parameter_values, main=main, straight=straight, max_bytes=max_bytes, about=about, ignore_comparisons=ignore_comparisons)
    if isinstance(what, (str, os.PathLike)) or hasattr(type(what), "_emit"):
        options = _only("emit_c", given, ("name", "precision", "step", "main"))
        as_precision = "float64" if precision is None else precision
        if not isinstance(what, (str, os.PathLike)):
            made = what._emit(as_precision, options)
        else:
            path = os.path.abspath(os.fsdecode(what))
            open(path, "rb").close()  # raises FileNotFoundError or another OSError if it cannot be read
            made = _core._emit_file(path, as_precision, options)
    else:
        graph = _graph_of("emit_c", what, samples, inputs, parameters)
        given["gradient"] = (not graph.is_model or step or rows) if gradient is None else gradient
        given["parameter_values"] = graph.is_model if parameter_values is None else parameter_values
        made = _core._emit_c(graph.outputs, graph.inputs, graph.parameters, precision or graph.precision or "float64", given)
    return CSource(*made)


def emit_cuda(what: Any, samples: Any = None, *, name: str = "model", inputs: Any = (), parameters: Any = (), precision: str = "float32", exact: bool = True,
              input_gradients: bool = False, guard_zeros: bool = False, derivatives: str = "automatic", loops: bool = True,
              ignore_comparisons: bool = False, normals: Any = (), uniforms: Any = ()) -> CudaSource:
    """Returns CUDA kernels that run many rows at once: the sum of the first output over the rows, and its gradient.

    what is a graph, a function with sample rows, a program of a function or an MLP, as for emit_c(). derivatives is
    'automatic', 'tangents' or 'reverse'. normals and uniforms are leaves whose numbers the kernels make, from a seed and the
    number of the row. docs/gpu.md describes the kernels and all options. gradwalk.gpu runs such kernels.

    >>> x, y, w = Value(1.0), Value(2.0), Value(0.5)
    >>> source = emit_cuda((w * x - y) ** 2, name="line", inputs=[x, y], parameters=[w])
    >>> source.inputs, source.about
    (2, 'one row per thread')
    """
    graph = _graph_of("emit_cuda", what, samples, inputs, parameters)
    options = dict(name=name, exact=exact, input_gradients=input_gradients, guard_zeros=guard_zeros, loops=loops, ignore_comparisons=ignore_comparisons)
    return CudaSource(**_core._emit_cuda(graph.outputs, graph.inputs, graph.parameters, normals, uniforms, precision, derivatives, options))
