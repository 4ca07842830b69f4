# SPDX-License-Identifier: MIT
"""gradwalk: a scalar autograd engine, fast and visible.

>>> from gradwalk import Value
>>> a, b = Value(2.0), Value(-3.0)
>>> c = (a * b + 10).relu()
>>> c.backward()
>>> c.data, a.grad, b.grad
(4.0, -3.0, 2.0)

Every operation is a function of this module and a method of Value: gradwalk.tanh(a), a.tanh().
gradwalk.micrograd runs unmodified micrograd programs. docs/python.md describes the package.
"""

import builtins as _builtins
import copyreg as _copyreg
import os as _os
import typing as _typing

from . import _core
from ._core import *  # noqa: F403 (exports the operations by their names)
from ._core import Condition, Value, __version__, _snapshot
from . import gpu, nn
from ._functions import _clip, clip, isfinite, isinf, isnan, leaky_relu, logsumexp, no_grad, softmax, where
from ._show import Shown, show
from .nn import MLP, Layer, Module, Neuron
from ._compile import CompiledFunction, compile, compile_derivatives
from ._emit import CSource, CudaSource, emit_c, emit_cuda
from ._derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad

_os.register_at_fork(before=_core._before_fork)


def _drawing() -> _typing.Any:
    """Returns the module that draws. Its libraries are the only ones that the package does not contain."""
    try:
        from . import _draw
    except ImportError as error:
        raise RuntimeError(f"draw: needs the libraries of Graphviz, cairo and WebP, got an error ({error}); "
                           "install them (Debian: libgvc6 libcairo2 libwebpmux3)") from None
    return _draw


def _draw_with(call: str, root: Value, digits: int, hide_constants: bool, limit: int) -> _typing.Any:
    snapshot = _snapshot(root, call)
    _core.draw_dot(Value(0.0), digits=digits, hide_constants=hide_constants, limit=limit)  # refuses wrong options
    return getattr(_drawing(), call)(snapshot, digits, hide_constants, limit)


def draw_svg(root: Value, *, digits: int = 4, hide_constants: bool = False, limit: int = 400) -> str:
    """Returns a drawing of the graph as SVG text. Needs the Graphviz library.

    limit is the maximum number of nodes; those nearest the root are drawn.

    >>> draw_svg(Value(1.0) + 2)[:5]
    '<svg '
    """
    return _draw_with("draw_svg", root, digits, hide_constants, limit)


def draw_png(root: Value, *, digits: int = 4, hide_constants: bool = False, limit: int = 400) -> bytes:
    """Returns a drawing of the graph as the bytes of a PNG file. Needs the Graphviz library.

    >>> draw_png(Value(1.0) + 2)[1:4]
    b'PNG'
    """
    return _draw_with("draw_png", root, digits, hide_constants, limit)


_Path = _typing.Union[str, _os.PathLike]
_Model = _typing.Union[Module, _typing.Iterable[Value]]


def _parameters_of(model: _Model, call: str) -> _typing.List[Value]:
    parameters = model.parameters() if isinstance(model, Module) else model
    try:
        parameters = list(parameters)
    except TypeError:
        raise TypeError(f"{call}: needs a model or a list of Values, got {type(model).__name__}; give one of them") from None
    for parameter in parameters:
        if not isinstance(parameter, Value):
            raise TypeError(f"{call}: needs a model or a list of Values, got {type(parameter).__name__} in the list; give Values")
    return parameters


def save(path: _Path, model: _Model) -> None:
    """Saves the parameters of a model, or the data of a list of Values, to a safetensors file.

    >>> import os, tempfile
    >>> save(os.path.join(tempfile.mkdtemp(), "model.safetensors"), [Value(1.0), Value(2.0)])
    """
    path = _os.path.abspath(_os.fsdecode(path))
    _os.stat(_os.path.dirname(path))  # raises FileNotFoundError if there is no such folder
    _core._save(path, _parameters_of(model, "save"))


def load(path: _Path, model: _Model) -> None:
    """Loads a file that save() wrote into the parameters of a model, or into a list of Values.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save(path, [Value(1.0), Value(2.0)])
    >>> a, b = Value(0.0), Value(0.0)
    >>> load(path, [a, b])
    >>> a.data, b.data
    (1.0, 2.0)
    """
    path = _os.path.abspath(_os.fsdecode(path))
    open(path, "rb").close()  # raises FileNotFoundError or another OSError if it cannot be read
    _core._load(path, _parameters_of(model, "load"))


def _repr_svg_(self: Value) -> _typing.Optional[str]:
    """Draws a Value at the end of a notebook cell, no wider than the cell. A large graph is limited to 100 nodes.

    Without Graphviz the cell shows the Value as text.
    """
    try:
        _drawing()
    except RuntimeError:
        return None
    return draw_svg(self, limit=100).replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)


def _array_function_(self: _typing.Any, function: _typing.Any, types: _typing.Any, arguments: _typing.Any, keywords: _typing.Any) -> _typing.Any:
    """NumPy calls this for its functions that are no ufuncs, such as numpy.where()."""
    from . import _numpy

    return _numpy.array_function(function, arguments, keywords)


def _reduce_(self: _typing.Any) -> _typing.Any:
    """Pickles an object of a bound class by its state. pybind11's own way ends the process with protocols 0 and 1."""
    get_state = getattr(type(self), "__getstate__", None)
    if get_state is None or get_state is getattr(object, "__getstate__", None):
        raise TypeError(f"pickle: needs an object that can be stored, got {type(self).__name__}; store what it was made of")
    return _copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]


for _class in vars(_core).values():
    if isinstance(_class, type) and type(_class) is not type and "__reduce__" not in vars(_class):
        _class.__reduce__ = _reduce_  # type: ignore[method-assign,assignment]

Value._repr_svg_ = _repr_svg_  # type: ignore[method-assign,assignment]
Value.clip = _clip  # type: ignore[method-assign,assignment]
Value.__array_function__ = Condition.__array_function__ = _array_function_  # type: ignore[attr-defined]

# `from gradwalk import *` exports no name that would hide a builtin, such as max or compile.
__all__ = sorted(name for name in globals() if not name.startswith("_") and not hasattr(_builtins, name))
