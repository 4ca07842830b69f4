# SPDX-License-Identifier: MIT
"""A Value of micrograd's design in pure Python, for bench.py to compare with: closures, a set of children, a depth-first
sort. The sort does not recurse, so that graphs of any depth can be timed."""

import math


class Value:
    def __init__(self, data, children=(), op=""):
        self.data = data
        self.grad = 0
        self._backward = lambda: None
        self._prev = set(children)
        self._op = op

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, exponent):
        out = Value(self.data**exponent, (self,), f"**{exponent}")

        def _backward():
            self.grad += exponent * self.data ** (exponent - 1) * out.grad

        out._backward = _backward
        return out

    def unary(self, data, local, op):
        out = Value(data, (self,), op)

        def _backward():
            self.grad += local * out.grad

        out._backward = _backward
        return out

    def relu(self):
        return self.unary(0 if self.data < 0 else self.data, self.data > 0, "ReLU")

    def exp(self):
        data = math.exp(self.data)
        return self.unary(data, data, "exp")

    def log(self):
        return self.unary(math.log(self.data), 1 / self.data, "log")

    def backward(self):
        order, visited, stack = [], set(), [(self, False)]
        while stack:
            node, is_done = stack.pop()
            if is_done:
                order.append(node)
            elif node not in visited:
                visited.add(node)
                stack.append((node, True))
                stack.extend((child, False) for child in node._prev if child not in visited)
        self.grad = 1
        for node in reversed(order):
            node._backward()

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return other + (-self)

    def __truediv__(self, other):
        return self * other**-1

    def __rtruediv__(self, other):
        return other * self**-1

    __radd__ = __add__
    __rmul__ = __mul__
