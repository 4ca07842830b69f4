# SPDX-License-Identifier: MIT
"""gradwalk: a scalar autograd engine, fast and visible. micrograd's programs run as they are (gradwalk.micrograd).

>>> from gradwalk import Value
>>> a, b = Value(2.0), Value(-3.0)
>>> c = (a * b + 10).relu()
>>> c.backward()
>>> c.data, a.grad, b.grad
(4.0, -3.0, 2.0)

Every op of the engine is a function here and a method of Value: gradwalk.tanh(a), a.tanh(). docs/python.md tells the rest.
"""

import builtins as _builtins
import os as _os
import typing as _typing

from . import _core
from ._core import *  # noqa: F403 (the ops of the table, by their names)
from ._core import Value, _snapshot
from . import nn
from ._show import show
from .nn import MLP, Layer, Module, Neuron

_os.register_at_fork(before=_core._before_fork)


def draw_svg(root: Value, *, digits: int = 4, hide_constants: bool = False, limit: int = 400) -> str:
    """The graph's picture as SVG text; needs the Graphviz library on the machine.

    >>> draw_svg(Value(1.0) + 2)[:5]
    '<svg '
    """
    from . import _draw

    return _draw.draw_svg(_snapshot(root), digits, hide_constants, limit)


def draw_png(root: Value, *, digits: int = 4, hide_constants: bool = False, limit: int = 400) -> bytes:
    """The graph's picture as the bytes of a PNG file; needs the Graphviz library on the machine."""
    from . import _draw

    return _draw.draw_png(_snapshot(root), digits, hide_constants, limit)


_Path = _typing.Union[str, _os.PathLike]
_Model = _typing.Union[Module, _typing.Iterable[Value]]


def _parameters_of(model: _Model) -> _typing.List[Value]:
    return list(model.parameters() if isinstance(model, Module) else model)


def save(path: _Path, model: _Model) -> None:
    """Writes the numbers of a model's parameters, or of a list of Values, to a safetensors file."""
    _core._save(_os.fspath(path), _parameters_of(model))


def load(path: _Path, model: _Model) -> None:
    """Sets the parameters of a model, or a list of Values, to the numbers of a file that save() wrote."""
    _core._load(_os.fspath(path), _parameters_of(model))


def _repr_svg_(self: Value) -> str:
    """What a notebook shows for a Value at the end of a cell, no wider than the cell; of a larger graph, the part next to the root."""
    return draw_svg(self, limit=100).replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)


Value._repr_svg_ = _repr_svg_  # type: ignore[method-assign,assignment]

# What `from gradwalk import *` gives: nothing that hides a builtin, as max and compile would.
__all__ = sorted(name for name in globals() if not name.startswith("_") and not hasattr(_builtins, name))
