# SPDX-License-Identifier: MIT
"""Random programs over every op of the table: Python's Values agree with PyTorch, and equal the command line bit by bit."""

import json
import os
import pathlib
import subprocess
import sys

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import gradwalk
from gradwalk import Value

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from torch_ops import KINKS, TORCH  # noqa: E402

LONG = "GRADWALK_LONG" in os.environ
OPS = {name: 1 + (f" {name}(x: Value, y:" in (pathlib.Path(gradwalk.__file__).parent / "_core.pyi").read_text()) for name in gradwalk._core._op_names}
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}
TAME = 1e3  # programs avoid larger values and local derivatives, and results that rounding may have changed by more than LOUD
LOUD = 1e-10

NUMBERS = st.floats(-2, 2, allow_subnormal=False)
STEPS = st.tuples(st.sampled_from(sorted(OPS)), st.integers(0, 30), st.one_of(st.integers(0, 30), NUMBERS), st.booleans())
PROGRAMS = st.tuples(st.lists(NUMBERS, min_size=1, max_size=4), st.lists(STEPS, min_size=10, max_size=30))


def tensors_of(numbers):
    return [torch.tensor(number, requires_grad=True) for number in numbers]


def slopes_of(op, operands):
    """Returns the result and the sizes of its derivatives. None near a kink or the end of a domain, or if they are large."""
    if op != "stop" and KINKS.get(op, lambda *_: 1)(*operands) < 1e-6:
        return None
    again = tensors_of(operands)
    result = TORCH[op](*again)
    slopes = [abs(float(x)) for x in torch.autograd.grad(result, again)]
    return slopes if all(x < TAME for x in (abs(float(result)), *slopes)) else None


class Program:
    """A program of leaves and steps with moderate numbers. A step is (op, operands); an operand is the number of a node, or a float."""

    def __init__(self, leaves, steps):
        self.leaves, self.steps, self.slopes = leaves, [], []
        self.tensors, self.noise = tensors_of(leaves), [0.0] * len(leaves)
        for op, first, second, is_turned in steps:
            operands = [first % len(self.tensors), second if isinstance(second, float) else second % len(self.tensors)][:OPS[op]]
            if is_turned:
                operands.reverse()
            given = [self.tensors[one] if isinstance(one, int) else torch.tensor(one) for one in operands]
            self.take(op, operands, given, slopes_of(op, [float(x) for x in given]))
        self.root = sum(self.tensors[1:], self.tensors[0])

    def take(self, op, operands, given, slopes):
        if slopes is None:
            return
        result = TORCH[op](*given)
        noise = 1e-15 * max(1, abs(float(result))) + sum(slope * self.noise[one] for slope, one in zip(slopes, operands) if isinstance(one, int))
        if noise < LOUD:
            self.steps.append((op, operands))
            self.slopes.append(slopes)
            self.tensors.append(result)
            self.noise.append(noise)

    def build(self, spelling):
        """Runs the program with Values, by methods, functions or operators."""
        nodes = [Value(number) for number in self.leaves]
        for op, operands in self.steps:
            x, *y = (nodes[one] if isinstance(one, int) else one for one in operands)
            if spelling == "operators" and op in OPERATORS:
                nodes.append(eval(f"x {OPERATORS[op]} y", {"x": x, "y": y[0]}))
            elif spelling == "methods" and isinstance(x, Value):
                nodes.append(getattr(x, op)(*y))
            else:
                nodes.append(getattr(gradwalk, op)(x, *y))
        return nodes, sum(nodes[1:], nodes[0])

    def text(self):
        """Returns the program as an expression for the command line, where each float is a leaf. That changes no number."""
        lines = [f"v{i}={number!r}" for i, number in enumerate(self.leaves)]
        for i, (op, operands) in enumerate(self.steps, len(self.leaves)):
            lines.append(f"v{i}={op}({', '.join(f'v{one}' if isinstance(one, int) else repr(one) for one in operands)})")
        return ";".join(lines + ["root=" + "+".join(f"v{i}" for i in range(len(self.tensors)))])


def scales(program):
    """Returns for each leaf the size of its gradient if nothing cancelled."""
    sizes = [1.0] * len(program.tensors)
    for i in reversed(range(len(program.steps))):
        for one, slope in zip(program.steps[i][1], program.slopes[i]):
            if isinstance(one, int):
                sizes[one] += sizes[len(program.leaves) + i] * slope
    return sizes[:len(program.leaves)]


@settings(max_examples=2000 if LONG else 150, deadline=None)
@given(PROGRAMS, st.sampled_from(["operators", "methods", "functions"]))
def test_random_programs_agree_with_pytorch(drawn, spelling):
    program = Program(*drawn)
    nodes, root = program.build(spelling)
    root.backward()
    program.root.backward()
    for node, tensor, noise in zip(nodes, program.tensors, program.noise):
        assert abs(node.data - float(tensor)) <= 10 * noise
    for node, tensor, scale in zip(nodes, program.tensors[:len(program.leaves)], scales(program)):
        assert abs(node.grad - float(tensor.grad)) <= 1e-6 * scale


@settings(max_examples=300 if LONG else 30, deadline=None)
@given(PROGRAMS)
def test_random_programs_equal_the_command_line_bit_by_bit(drawn):
    program = Program(*drawn)
    nodes, root = program.build("functions")
    root.backward()
    done = subprocess.run([sys.executable, "-m", "gradwalk", "eval", "--json", "-"], input=program.text(), capture_output=True, text=True, check=True)
    by_name = {node["name"]: node for node in json.loads(done.stdout)["nodes"]}
    assert by_name["root"]["data"] == root.data
    for i, node in enumerate(nodes):
        assert (by_name[f"v{i}"]["data"], by_name[f"v{i}"]["grad"]) == (node.data, node.grad), f"v{i}"


def test_random_programs_use_every_op():
    assert set(OPS) == set(TORCH) and set(OPS.values()) == {1, 2}
