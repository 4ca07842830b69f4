# SPDX-License-Identifier: MIT
"""Eager arithmetic is plain IEEE: equal to Python's floats bit by bit, also when built for this processor.

The program is gradwalk_oracle_native: the engine and the expressions, built with -march=native -O3 and the flags that
the CMake target gives to its users. A compiler that fuses a product and a sum would round once instead of twice, and
fail here.
"""
import math
import random

import pytest

from oracle import NATIVE, PROGRAM, ask, numbers

PROGRAMS = pytest.mark.parametrize("program", [PROGRAM, NATIVE], ids=["shipped", "native"])


def power(x, y):
    """Returns what C's pow returns: math.pow, except for the two cases where Python raises an exception."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf if x > 0 or y % 2 == 0 else -math.inf
    except ValueError:
        return math.nan


PYTHON = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": power,
    "neg": lambda x: -x,
}


def operand(rng):
    return rng.choice([rng.gauss(0, 1), rng.uniform(-10, 10), rng.gauss(0, 1) * 10.0 ** rng.randint(-9, 9)])


@PROGRAMS
def test_expressions_equal_python_bit_by_bit(program):
    rng = random.Random(1)
    texts = ask(["expressions"], program)
    assert len(texts) >= 20
    commands, expected = [], []
    for k, text in enumerate(texts):
        code = compile(text, text, "eval")
        for _ in range(500):
            a, b, c, d = (operand(rng) for _ in range(4))
            commands.append(f"expression {k} {a.hex()} {b.hex()} {c.hex()} {d.hex()}")
            expected.append((text, eval(code, {"a": a, "b": b, "c": c, "d": d, "pow": power})))
    for line, (text, value), command in zip(ask(commands, program), expected, commands):
        eager, again = numbers(line)
        assert eager.hex() == value.hex(), f"{text}, {command}"
        assert again.hex() == value.hex(), f"recompute of {text}, {command}"


class Expression:
    """A long random expression: its steps for the oracle, and its evaluation with Python's floats."""

    def __init__(self, rng, leaves, length):
        self.rng, self.steps, self.leaves, self.live = rng, [], leaves, list(range(leaves))
        while len(self.steps) < length:
            rng.choice([self.single, self.product_and_sum, self.sum_of_products])()

    def step(self, op, spelling, *operands):
        """Adds a step. An operand is a number, or a pair of a step and whether its handle is consumed."""
        for operand in operands:
            if isinstance(operand, tuple) and operand[1] and operand[0] in self.live:
                self.live.remove(operand[0])
        self.steps.append((op, spelling, operands))
        self.live.append(self.leaves + len(self.steps) - 1)
        return self.live[-1]

    def some(self, may_die=False):
        node = self.rng.choice(self.live[-12:]) if self.rng.random() < 0.7 else self.rng.choice(self.live)
        return node, may_die and node >= self.leaves and self.rng.random() < 0.5

    def any_operand(self):
        return operand(self.rng) if self.rng.random() < 0.2 else self.some()

    def single(self):
        op = self.rng.choice(["add", "sub", "mul", "div", "pow", "neg"])
        if op == "neg":
            self.step(op, "o", self.some())
        elif op == "pow":
            self.step(op, "f", self.some(), float(self.rng.choice([2, 3, 0.5, -1, -2])))
        else:
            self.step(op, self.rng.choice("fo"), self.some(True), self.any_operand())

    def product(self):
        return self.step("mul", "o", self.some(), self.any_operand())

    def product_and_sum(self):
        addend = self.some()
        product = (self.product(), True)
        self.step("add", "o", *self.rng.choice([(product, addend), (addend, product)]))

    def sum_of_products(self):
        total = self.product()
        for _ in range(self.rng.randint(1, 12)):
            term = self.any_operand() if self.rng.random() < 0.25 else (self.product(), True)
            if term != (total, False):
                total = self.step("add", self.rng.choice("oc"), (total, True), term)

    def values(self, data):
        """Returns the value of every step, or None where Python refuses to divide by zero."""
        values = list(data)
        for op, _, operands in self.steps:
            try:
                values.append(PYTHON[op](*(values[operand[0]] if isinstance(operand, tuple) else operand for operand in operands)))
            except ZeroDivisionError:
                return None
        return values

    def commands(self, data):
        lines = ["graph"] + [f"leaf {x.hex()}" for x in data]
        for op, spelling, operands in self.steps:
            words = [f"{operand[0]}{'!' * operand[1]}" if isinstance(operand, tuple) else "=" + operand.hex() for operand in operands]
            lines.append(" ".join([op, spelling, *words]))
        return lines


def compare(lines, values, what):
    for i, (line, value) in enumerate(zip(lines, values)):
        if line != "-":
            got = numbers(line)[0]
            assert got == value or (got != got and value != value), f"{what}, step {i}: {got.hex()}, not {value.hex()}"


@PROGRAMS
def test_long_random_expressions_equal_python_bit_by_bit(program):
    """Compares every reachable node, as recorded, and after recompute() with other data in the leaves."""
    rng = random.Random(2)
    commands, expected = [], []
    while len(expected) < 400:
        data, other = ([operand(rng) for _ in range(8)] for _ in range(2))
        expression = Expression(rng, len(data), rng.choice([5, 20, 100, 400]))
        values, again = expression.values(data), expression.values(other)
        if values is None or again is None:
            continue
        commands += expression.commands(data) + ["read"]
        commands += expression.commands(data) + [f"set {i} {x.hex()}" for i, x in enumerate(other)]
        commands += [f"recompute {node}" for node in expression.live if node >= len(data)] + ["read"]
        expected += [(values, "recorded"), (again, "recomputed")]
    lines = iter(ask(commands, program))
    for values, what in expected:
        compare([next(lines) for _ in values], values, what)
    assert next(lines, None) is None
