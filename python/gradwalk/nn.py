# SPDX-License-Identifier: MIT
"""Neural networks as in micrograd: Module, Neuron, Layer and MLP. Subclass Module for your own.

It follows the nn.py of micrograd (github.com/karpathy/micrograd, MIT, (c) 2020 Andrej Karpathy), so that micrograd's
programs work. Weights are drawn from Python's random module in micrograd's order, so the same seed gives the same
network.

>>> import random
>>> random.seed(1337)
>>> model = MLP(2, [3, 1])
>>> model
MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(3)]]
>>> len(model.parameters())
13
"""

import random
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._core import Optimizer, Value
from ._forms import flat_and_shape, is_array, object_array, refuse

Inputs = Sequence[Union[Value, float]]
Activation = Union[str, Callable[[Value], Value]]


class Module:
    """Base class of everything with parameters.

    Its parameters are the leaf Values among its attributes, in order: those of other modules, of lists, tuples, dicts and
    arrays, too. Attributes whose names begin with an underscore do not count. A subclass may override parameters().

    >>> class Line(Module):
    ...     def __init__(self):
    ...         self.slope, self.offsets = Value(2.0), [Value(0.0), Value(1.0)]
    >>> Line().state_dict()
    {'slope': 2.0, 'offsets.0': 0.0, 'offsets.1': 1.0}
    """

    def zero_grad(self) -> None:
        """Sets the gradient of each parameter to 0.

        >>> model = MLP(2, [1])
        >>> model([1.0, 2.0]).backward()
        >>> model.zero_grad()
        >>> [p.grad for p in model.parameters()]
        [0.0, 0.0, 0.0]
        """
        for p in self.parameters():
            p.grad = 0

    def parameters(self) -> List[Value]:
        """Returns the list of parameters.

        >>> len(MLP(2, [16, 16, 1]).parameters())
        337
        """
        return [value for _, value in _leaves("", self.__dict__, set())]

    def named_parameters(self) -> Iterator[Tuple[str, Value]]:
        """Yields the name and the Value of each parameter. A name is the path of attributes.

        >>> [name for name, value in MLP(1, [1]).named_parameters()]
        ['layers.0.neurons.0.w.0', 'layers.0.neurons.0.b']
        """
        names = {id(value): name for name, value in _leaves("", self.__dict__, set())}
        for k, value in enumerate(self.parameters()):
            yield names.get(id(value), f"parameters.{k}"), value

    def state_dict(self) -> Dict[str, float]:
        """Returns the number of each parameter by its name.

        >>> MLP(1, [1], seed=1).state_dict()
        {'layers.0.neurons.0.w.0': -0.7312715117751976, 'layers.0.neurons.0.b': 0.0}
        """
        return {name: value.data for name, value in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Sets each parameter to the number that state_dict() returned for it.

        >>> model, copy = MLP(2, [1], seed=1), MLP(2, [1], seed=2)
        >>> copy.load_state_dict(model.state_dict())
        >>> copy([1.0, 2.0]).data == model([1.0, 2.0]).data
        True
        """
        own = dict(self.named_parameters())
        if not isinstance(state, Mapping):
            refuse("load_state_dict", "a dict with a number for each parameter", type(state).__name__, "give one that state_dict() returned", TypeError)
        if own.keys() != state.keys():
            missing, others = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
            refuse("load_state_dict", f"a number for each of {len(own)} parameters", f"{len(missing)} missing {missing[:3]}, {len(others)} unknown {others[:3]}",
                   "give the state of a model of the same structure")
        for name, value in own.items():
            value.data = state[name]


def _leaves(path: str, thing: Any, seen: set) -> Iterator[Tuple[str, Value]]:
    """Yields the leaf Values inside modules, lists, tuples, dicts and arrays, each once."""
    if isinstance(thing, Value):
        if not thing.inputs and id(thing) not in seen:
            seen.add(id(thing))
            yield path, thing
        return
    if isinstance(thing, Module):
        if type(thing).parameters is Module.parameters:
            thing = thing.__dict__
        else:  # in the order of its own parameters()
            for name, value in thing.named_parameters():
                yield from _leaves(f"{path}.{name}", value, seen)
            return
    if is_array(thing) and getattr(thing, "dtype", None) == object:
        thing = flat_and_shape(thing)[0]
    if isinstance(thing, dict):
        items: Any = [(str(name), item) for name, item in thing.items() if not str(name).startswith("_")]
    elif isinstance(thing, (list, tuple)):
        items = [(str(k), item) for k, item in enumerate(thing)]
    else:
        return
    for name, item in items:
        yield from _leaves(f"{path}.{name}" if path else name, item, seen)


def _activation(call: str, activation: Activation) -> Tuple[str, Callable[[Value], Value]]:
    if callable(activation):
        return getattr(activation, "__name__", "").capitalize(), activation
    if activation in ("identity", "linear"):
        return "Linear", lambda x: x
    method = getattr(Value, activation, None) if isinstance(activation, str) and not activation.startswith("_") else None
    if not callable(method) or activation in ("backward", "propagate", "detach", "item"):
        refuse(call, "activation to be a function of a Value or the name of one, such as 'relu' or 'tanh'", repr(activation), "choose one of them")
    return {"relu": "ReLU"}.get(activation, activation.capitalize()), method


def _row(name: str, nin: int, x: Any) -> Any:
    """Returns the inputs of a network as a sequence of numbers and Values, as many as it has inputs."""
    if not hasattr(x, "__len__"):
        if isinstance(x, (Value, float, int)):
            refuse(name, f"a list of {nin} numbers", "one number", "put it into a list")
        x = list(x)
    if len(x) != nin:
        refuse(name, f"{nin} numbers", str(len(x)), "give one number per input")
    if nin and (isinstance(x[0], (list, tuple)) or is_array(x[0])):
        refuse(name, "the numbers of one row", "a list of rows", "give an array, numpy.array(rows), or call it for each row")
    return x


def _optimizer_with_state(parameters: List[Value], config: Any, state: Dict[str, Any]) -> Optimizer:
    """Restores a pickled Optimizer."""
    optimizer = Optimizer(parameters, config)
    optimizer.load_state_dict(state)
    return optimizer


class Neuron(Module):
    """A neuron: relu(b + w[0] * x[0] + ...), or without relu if nonlin is False. activation replaces relu.

    >>> Neuron(2), Neuron(2, nonlin=False), Neuron(2, activation="tanh")
    (ReLUNeuron(2), LinearNeuron(2), TanhNeuron(2))
    """

    def __init__(self, nin: int, nonlin: bool = True, activation: Activation = "relu", generator: Any = random) -> None:
        if not hasattr(generator, "uniform"):
            refuse("Neuron", "a generator of random numbers", type(generator).__name__, "give random.Random(seed)", TypeError)
        self.w = [Value(generator.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.nonlin = nonlin
        self.activation = activation
        if nonlin:
            _activation("Neuron", activation)

    def __call__(self, x: Inputs) -> Value:
        if type(x) is not list or len(x) != len(self.w):  # the common case first, for speed
            x = _row("Neuron", len(self.w), x)
        act = sum((wi * xi for wi, xi in zip(self.w, x)), self.b)
        if not self.nonlin:
            return act
        return act.relu() if self.activation == "relu" else _activation("Neuron", self.activation)[1](act)

    def parameters(self) -> List[Value]:
        return self.w + [self.b]

    def __repr__(self) -> str:
        return f"{_activation('Neuron', self.activation)[0] if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """A layer of neurons. Returns a list of outputs, or a single Value if there is only one neuron.

    >>> len(Layer(2, 3)([1.0, 2.0]))
    3
    """

    def __init__(self, nin: int, nout: int, **kwargs: Any) -> None:
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]

    def __call__(self, x: Inputs) -> Any:
        out = [n(x) for n in self.neurons]
        return out[0] if len(out) == 1 else out

    def parameters(self) -> List[Value]:
        return [p for n in self.neurons for p in n.parameters()]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(str(n) for n in self.neurons)}]"


class MLP(Module):
    """A multi-layer perceptron: hidden layers with relu, then a linear layer. MLP(2, [16, 16, 1]) has two inputs.

    activation is that of the hidden layers: the name of an operation, such as 'tanh', or a function of a Value. With a
    seed, the weights come from a generator of their own, not from Python's random module. Called with an array of rows,
    it returns an array of predictions.

    >>> MLP(2, [2, 1], activation="tanh", seed=1)
    MLP of [Layer of [TanhNeuron(2), TanhNeuron(2)], Layer of [LinearNeuron(2)]]
    """

    def __init__(self, nin: int, nouts: Sequence[int], *, activation: Activation = "relu", seed: Optional[int] = None) -> None:
        generator = random if seed is None else random.Random(seed)
        sizes = [nin] + list(nouts)
        self.layers = [Layer(sizes[i], sizes[i + 1], nonlin=i != len(nouts) - 1, activation=activation, generator=generator) for i in range(len(nouts))]

    def __call__(self, x: Any) -> Any:
        if getattr(x, "ndim", 1) == 2:
            rows = [self(row) for row in x]
            if not rows or isinstance(rows[0], Value):
                return object_array(rows, (len(rows),))
            return object_array([value for row in rows for value in row], (len(rows), len(rows[0])))
        if self.layers and self.layers[0].neurons:
            x = _row("MLP", len(self.layers[0].neurons[0].w), x)
        for layer in self.layers:
            x = layer([x] if isinstance(x, Value) else x)
        return x

    def parameters(self) -> List[Value]:
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"
