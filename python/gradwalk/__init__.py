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
import os as _os
import typing as _typing

from . import _core
from ._core import *  # noqa: F403 (exports the operations by their names)
from ._core import Value, __version__, _snapshot
from . import nn
from ._show import show
from .nn import MLP, Layer, Module, Neuron
from ._compile import CompiledFunction, compile, compile_derivatives
from ._derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad
from ._solve import fit, minimize, root

_os.register_at_fork(before=_core._before_fork)


def _drawing() -> _typing.Any:
    """Returns the module that draws. Its libraries are the only ones that the package does not contain."""
    try:
        from . import _draw
    except ImportError as error:
        raise RuntimeError(f"draw: needs the libraries of Graphviz, cairo and WebP, got an error ({error}); "
                           "install them (Debian: libgvc6 libcairo2 libwebpmux3)") from None
    return _draw


def draw_svg(root: Value, *, digits: int = 4, hide_constants: bool = False, limit: int = 400) -> str:
    """Returns a drawing of the graph as SVG text. Needs the Graphviz library.

    limit is the maximum number of nodes; those nearest the root are drawn.

    >>> draw_svg(Value(1.0) + 2)[:5]
    '<svg '
    """
    return _drawing().draw_svg(_snapshot(root), digits, hide_constants, limit)


def draw_png(root: Value, *, digits: int = 4, hide_constants: bool = False, limit: int = 400) -> bytes:
    """Returns a drawing of the graph as the bytes of a PNG file. Needs the Graphviz library."""
    return _drawing().draw_png(_snapshot(root), digits, hide_constants, limit)


_Path = _typing.Union[str, _os.PathLike]
_Model = _typing.Union[Module, _typing.Iterable[Value]]


def _parameters_of(model: _Model) -> _typing.List[Value]:
    return list(model.parameters() if isinstance(model, Module) else model)


def save(path: _Path, model: _Model) -> None:
    """Saves the parameters of a model, or the data of a list of Values, to a safetensors file."""
    _core._save(_os.fspath(path), _parameters_of(model))


def load(path: _Path, model: _Model) -> None:
    """Loads a file that save() wrote into the parameters of a model, or into a list of Values."""
    _core._load(_os.fspath(path), _parameters_of(model))


def _repr_svg_(self: Value) -> _typing.Optional[str]:
    """Draws a Value at the end of a notebook cell, no wider than the cell. A large graph is limited to 100 nodes.

    Without Graphviz the cell shows the Value as text.
    """
    try:
        _drawing()
    except RuntimeError:
        return None
    return draw_svg(self, limit=100).replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)


Value._repr_svg_ = _repr_svg_  # type: ignore[method-assign,assignment]

# `from gradwalk import *` exports no name that would hide a builtin, such as max or compile.
__all__ = sorted(name for name in globals() if not name.startswith("_") and not hasattr(_builtins, name))
