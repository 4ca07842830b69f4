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
from typing import Any, List, Sequence, Union

from ._core import Value

Inputs = Sequence[Union[Value, float]]


class Module:
    """Base class of everything with parameters. A subclass overrides parameters()."""

    def zero_grad(self) -> None:
        """Sets the gradient of each parameter to 0."""
        for p in self.parameters():
            p.grad = 0

    def parameters(self) -> List[Value]:
        """Returns the list of parameters."""
        return []


class Neuron(Module):
    """A neuron: relu(b + w[0] * x[0] + ...), or without relu if nonlin is False."""

    def __init__(self, nin: int, nonlin: bool = True) -> None:
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.nonlin = nonlin

    def __call__(self, x: Inputs) -> Value:
        act = sum((wi * xi for wi, xi in zip(self.w, x)), self.b)
        return act.relu() if self.nonlin else act

    def parameters(self) -> List[Value]:
        return self.w + [self.b]

    def __repr__(self) -> str:
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """A layer of neurons. Returns a list of outputs, or a single Value if there is only one neuron."""

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
    """A multi-layer perceptron: hidden layers with relu, then a linear layer. MLP(2, [16, 16, 1]) has two inputs."""

    def __init__(self, nin: int, nouts: Sequence[int]) -> None:
        sizes = [nin] + list(nouts)
        self.layers = [Layer(sizes[i], sizes[i + 1], nonlin=i != len(nouts) - 1) for i in range(len(nouts))]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> List[Value]:
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"
