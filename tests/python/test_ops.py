# SPDX-License-Identifier: MIT
"""Compares every op of the table, value and derivatives, with PyTorch in float64 and with central differences.

The ops come from the engine, and torch_ops.TORCH has their PyTorch counterparts. EXCEPTIONS lists where PyTorch differs
from our semantics, what we expect there, and why. For a NaN operand only the value is compared.
"""
import itertools
import math
import random
from fractions import Fraction
from typing import Callable, NamedTuple

import pytest
import scipy.special
import torch

from oracle import ask, evaluate, numbers, op_table
from torch_ops import KINKS, TORCH

LARGEST = 1.7976931348623157e308
MAGNITUDES = [0.0, 5e-324, 1e-310, 1e-200, 1e-8, 0.5, 1.0, 2.0, 3.0, 25.0, 710.0,
              1e8, 1e154, 1e200, 1e300, LARGEST, math.inf]
EDGES = [sign * x for x in MAGNITUDES for sign in (1, -1)] + [math.nan]
PARTS = ["value", "dx", "dy"]


class Except(NamedTuple):
    op: str
    parts: tuple
    where: Callable  # takes the operands, returns whether the exception applies
    expected: Callable  # takes the operands and the index of value or derivative; returns None if it is undecided
    reason: str


def are_squares_out_of_range(x, y):
    return not 1e-300 < x * x + y * y < 1e300


def is_rounded_to_whole(x, y):
    return math.isfinite(x) and y != 0 and 1 <= abs(x / y) < 2**53 and (x / y).is_integer() and math.fmod(x, y) != 0


def digamma(x):
    """PyTorch's loses digits near the negative whole numbers, where it has poles."""
    part = x - round(x)
    return math.nan if part == 0 else float(scipy.special.digamma(1 - x)) - math.pi / math.tan(math.pi * part)


def trigamma(x):
    """The derivative of digamma. PyTorch's has ten digits."""
    if x < 0.5:
        part = x - round(x)
        return math.inf if abs(part) < 1e-160 else (math.pi / math.sin(math.pi * part)) ** 2 - trigamma(1 - x)
    return float(scipy.special.polygamma(1, x))


EXCEPTIONS = [
    Except("pow", ("dy",), lambda x, y: x == 0 and y < 0, lambda x, y: 0.0,
           "docs/semantics.md: the exponent's derivative is 0 where the base is 0; PyTorch has it infinite for y < 0"),
    Except("pow", ("value",), lambda x, y: abs(x) == LARGEST and y == 1, lambda x, y: x,
           "x**1 is x; PyTorch's pow overflows"),
    Except("sinh", ("value",), lambda x: 709.7 < abs(x) < 710.4, math.sinh, "PyTorch's sinh overflows too early"),
    Except("sinh", ("dx",), lambda x: 709.7 < abs(x) < 710.4, math.cosh, "PyTorch's cosh overflows too early"),
    Except("cosh", ("value",), lambda x: 709.7 < abs(x) < 710.4, math.cosh, "PyTorch's cosh overflows too early"),
    Except("cosh", ("dx",), lambda x: 709.7 < abs(x) < 710.4, math.sinh, "PyTorch's sinh overflows too early"),
    Except("log1p", ("value",), lambda x: 1e308 < x < math.inf, math.log1p, "PyTorch's log1p overflows"),
    Except("hypot", ("dx", "dy"), lambda x, y: x == 0 and y == 0, lambda x, y: 0.0,
           "no direction at the origin: 0, as for the other kinks; PyTorch has NaN"),
    Except("atan2", ("dx", "dy"), lambda x, y: x == 0 and y == 0, lambda x, y: 0.0,
           "no direction at the origin: 0, as for the other kinks; PyTorch has NaN"),
    Except("atan2", ("dx", "dy"), lambda x, y: math.isinf(x) or math.isinf(y), None,
           "PyTorch has NaN from inf * 0; nothing is decided"),
    Except("atan2", ("dx",), are_squares_out_of_range, lambda x, y: y / math.hypot(x, y) / math.hypot(x, y),
           "the derivative is an ordinary number where PyTorch's x*x + y*y is 0 or infinite"),
    Except("atan2", ("dy",), are_squares_out_of_range, lambda x, y: -x / math.hypot(x, y) / math.hypot(x, y),
           "as for dx"),
    Except("cbrt", ("dx",), lambda x: x == 0, lambda x: math.inf, "as of sqrt; PyTorch has no cbrt, and 0 times infinity"),
    Except("acosh", ("dx",), lambda x: 1 < x < 1.1, lambda x: 1 / math.sqrt((x - 1) * (x + 1)),
           "PyTorch's x*x - 1 loses digits near 1"),
    Except("acosh", ("dx",), lambda x: x <= -1, lambda x: math.nan, "NaN, as its value; PyTorch has a number"),
    Except("acosh", ("dx",), lambda x: 1e150 < x < math.inf, lambda x: 1 / x, "PyTorch's x*x overflows"),
    Except("atanh", ("dx",), lambda x: 0.9 < abs(x) < 1.1 and abs(x) != 1, lambda x: 1 / ((1 - x) * (1 + x)),
           "PyTorch's 1 - x*x loses digits near 1"),
    Except("copysign", ("dx",), lambda x, y: math.isinf(x), lambda x, y: math.copysign(1, x) * math.copysign(1, y),
           "PyTorch's result / x is NaN"),
    Except("gelu", ("value",), lambda x: -math.inf < x < -1, lambda x: 0.5 * x * math.erfc(-0.7071067811865476 * x),
           "PyTorch's 1 + erf(x) loses digits below 0"),
    Except("gelu", ("dx",), lambda x: -math.inf < x < -1,
           lambda x: 0.5 * math.erfc(-0.7071067811865476 * x) + 0.3989422804014327 * x * math.exp(-0.5 * x * x), "as for the value"),
    Except("fmod", ("dy",), lambda x, y: math.isinf(x) or y == 0, lambda x, y: math.nan,
           "NaN, as its value; PyTorch has infinity"),
    Except("fmod", ("value",), lambda x, y: math.isfinite(x) and y != 0 and math.isinf(x / y), math.fmod, "PyTorch's x / y overflows"),
    Except("fmod", ("dy",), is_rounded_to_whole, lambda x, y: -float(math.trunc(Fraction(x) / Fraction(y))),
           "PyTorch's x / y is rounded up to a whole number"),
    Except("lgamma", ("dx",), lambda x: -1e15 < x < 0, digamma, "PyTorch's digamma loses digits near whole numbers"),
    Except("digamma", ("value",), lambda x: -1e15 < x < 0, digamma, "PyTorch's loses digits near whole numbers"),
    Except("digamma", ("dx",), lambda x: -1e15 < x < math.inf, trigamma, "PyTorch's derivative has ten digits"),
    Except("digamma", ("dx",), lambda x: x <= -1e15, None, "whole numbers, where digamma has a pole"),
    Except("lgamma", ("dx",), lambda x: x == -math.inf, None, "nothing is decided"),
    Except("fmax", ("dx", "dy"), lambda x, y: x == y, lambda x, y: 0.5, "as of max; PyTorch gives all to the first"),
    Except("fmin", ("dx", "dy"), lambda x, y: x == y, lambda x, y: 0.5, "as of min; PyTorch gives all to the first"),
]

# Both engines compute these as a difference of numbers near 1, so their error is absolute, not relative.
CANCELLATION = {("tanh", "dx"): 4e-16, ("lgamma", "dx"): 4e-15, ("digamma", "value"): 4e-15}

OPS = sorted(op_table())


def points(op):
    """Returns all combinations of edge cases, and random points at several scales."""
    rng = random.Random(op)
    scales = [lambda: rng.gauss(0, 1), lambda: rng.uniform(-20, 20), lambda: rng.uniform(-720, 720), rng.random]
    operands = range(op_table()[op])
    return list(itertools.product(EDGES, repeat=len(operands))) + [
        tuple(rng.choice(scales)() for _ in operands) for _ in range(2000)]


def torch_answers(op, at):
    """Returns the value and the derivative by each operand for each point, in the form of evaluate()."""
    operands = [torch.tensor(column, requires_grad=True) for column in zip(*at)]
    result = TORCH[op](*operands)
    result.sum().backward()
    return list(zip(result.tolist(), *(operand.grad.tolist() for operand in operands)))


def is_same(got, want, absolute):
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    return math.isclose(got, want, rel_tol=2e-13, abs_tol=absolute)


def exception(op, part, point):
    for exception in EXCEPTIONS:
        if exception.op == op and part in exception.parts and exception.where(*point):
            return exception
    return None


def test_every_op_of_the_table_has_a_pytorch_counterpart():
    assert sorted(TORCH) == OPS


@pytest.mark.parametrize("op", OPS)
def test_value_and_derivatives_equal_pytorch(op):
    at = points(op)
    used, wrong = set(), []
    for point, got, want in zip(at, evaluate(op, at), torch_answers(op, at)):
        for part, mine, theirs in zip(PARTS, got, want):
            if part != "value" and any(map(math.isnan, point)):
                continue
            absolute = max(1e-307, CANCELLATION.get((op, part), 0))
            rule = exception(op, part, point) if not any(map(math.isnan, point)) else None
            if rule is not None:
                used.add(rule)
                if rule.expected is None:
                    continue
                theirs = rule.expected(*point)
            if not is_same(mine, theirs, absolute):
                wrong.append(f"{part} of {op}{point}: {mine}, expected {theirs}")
    assert not wrong, f"{len(wrong)} of {len(at)} points, the first: " + "; ".join(wrong[:10])
    assert used == {exception for exception in EXCEPTIONS if exception.op == op}, "an exception that no point uses"


def shifted(point, i, by):
    return point[:i] + (point[i] + by,) + point[i + 1:]


@pytest.mark.parametrize("op", [op for op in OPS if op != "stop"])
def test_derivatives_equal_central_differences(op):
    """Compares only where two step sizes agree, rounding is small, and no kink or huge operand is near."""
    at = [p for p in points(op) if all(abs(x) < 1e3 for x in p) and KINKS.get(op, lambda *_: 1)(*p) > 1e-2]
    operands = range(op_table()[op])
    steps = [[6e-6 * max(1, abs(x)) for x in point] for point in at]
    asked = [shifted(point, i, by) for point, step in zip(at, steps) for i in operands
             for by in (step[i], -step[i], step[i] / 2, -step[i] / 2)]
    values = iter(evaluate(op, asked))
    compared = 0
    for point, got, step in zip(at, evaluate(op, at), steps):
        for i in operands:
            above, below, near_above, near_below = (next(values)[0] for _ in range(4))
            width = (point[i] + step[i]) - (point[i] - step[i])
            wide, narrow = (above - below) / width, 2 * (near_above - near_below) / width
            scale = max(1, abs(wide))
            rounding = 4e-16 * max(abs(above), abs(below)) / width
            if not abs(wide - narrow) <= 1e-7 * scale or rounding > 1e-7 * scale or not math.isfinite(got[0]):
                continue
            compared += 1
            assert abs(got[1 + i] - wide) <= 1e-6 * scale, f"{PARTS[1 + i]} of {op}{point}: {got[1 + i]}, not {wide}"
    assert compared >= 200


@pytest.mark.parametrize("op", [op for op in OPS if op_table()[op] == 2])
@pytest.mark.parametrize("constant", [0, 1])
def test_a_constant_operand_gives_the_same_result(op, constant):
    at = list(itertools.product(EDGES, repeat=2))
    commands = []
    for point in at:
        operands = ["0", "0"]
        operands[constant] = "=" + point[constant].hex()
        commands += ["graph", f"leaf {point[1 - constant].hex()}", f"{op} f {operands[0]} {operands[1]}"]
        commands += ["backward 1 1", "read"]
    lines = ask(commands)
    for point, both, leaf, result in zip(at, evaluate(op, at), lines[0::2], lines[1::2]):
        got = [numbers(result)[0], numbers(leaf)[1]]
        want = [both[0], both[2 - constant]]
        assert [x.hex() for x in got] == [x.hex() for x in want], f"{op}{point}: {got}, not {want}"
