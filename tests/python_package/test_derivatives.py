# SPDX-License-Identifier: MIT
"""Derivatives of Python functions: gradient(f, x) and its kin, and grad(f) and its kin, which return functions."""

import math

import numpy
import pytest

import gradwalk
from gradwalk import Value


def test_derivatives_of_functions_are_right():
    f = lambda x: x[0] ** 2 * x[1].sin()  # noqa: E731
    x = [2.0, 0.5]
    assert gradwalk.gradient(f, x) == pytest.approx([4 * math.sin(0.5), 4 * math.cos(0.5)])
    assert gradwalk.hessian(f, x)[0][1] == pytest.approx(4 * math.cos(0.5))
    assert gradwalk.jacobian(lambda x: [x[0] * x[1], x[0] + x[1]], x) == [[0.5, 2.0], [1.0, 1.0]]
    assert gradwalk.check_gradient(f, x) and gradwalk.check_gradient(f, x).error < 1e-6
    value, gradient = gradwalk.value_and_gradient(f, x)
    assert value == f([Value(v) for v in x]).data and gradient == gradwalk.gradient(f, x)


def test_an_exception_in_a_function_is_propagated():
    with pytest.raises(ZeroDivisionError):
        gradwalk.gradient(lambda x: x[0] * (1 / 0), [1.0])


def polynomial(x):
    return x[0] ** 2 * x[1] + x[1].sin()


def test_grad_and_the_others_return_functions():
    assert gradwalk.grad(lambda x: x**3)(2.0) == 12 and gradwalk.value_and_grad(lambda x: x**3)(2.0) == (8, 12)
    assert gradwalk.grad(polynomial)([3.0, 5.0]) == pytest.approx([30, 9 + math.cos(5)])
    assert gradwalk.jacobian(lambda x: [x[0] * x[1], x[0] + x[1]])([2.0, 3.0]) == [[3, 2], [1, 1]]
    assert gradwalk.jacobian(lambda x: [x, x * x])(3.0) == [1, 6] and gradwalk.jacobian(polynomial)([3.0, 5.0]) == gradwalk.grad(polynomial)([3.0, 5.0])
    assert gradwalk.hessian(polynomial)([3.0, 5.0])[0] == [10, 6] and gradwalk.hessian(lambda x: x**3)(2.0) == 12
    assert gradwalk.jvp(lambda x: [x[0] * x[1], x[0] + x[1]])([2.0, 3.0], [1.0, 0.0]) == [3, 1]
    assert gradwalk.hvp(polynomial)([3.0, 5.0], [1.0, 0.0]) == [10, 6]


def test_a_second_argument_computes_at_once():
    for of in (gradwalk.jacobian, gradwalk.hessian):
        f = (lambda x: [x[0] * x[1], x[0] + x[1]]) if of is gradwalk.jacobian else polynomial
        assert of(f, [2.0, 3.0]) == of(f)([2.0, 3.0]) and of(f, x=[2.0, 3.0]) == of(f, [2.0, 3.0])
        assert of(f, numpy.array([2.0, 3.0])).tolist() == of(f)(numpy.array([2.0, 3.0])).tolist()


def test_they_take_arrays_and_return_arrays():
    x = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    assert (gradwalk.grad(lambda x: (x**2).sum())(x) == 2 * x).all()
    assert gradwalk.jacobian(lambda x: x.sum(axis=0))(x).tolist() == [[[1, 0], [1, 0]], [[0, 1], [0, 1]]]
    assert gradwalk.jacobian(lambda x: x.sum(axis=0)).__call__(x).shape == (2, 2, 2)
    assert gradwalk.hessian(lambda x: (x**2).sum())(x).shape == (2, 2, 2, 2)
    assert (gradwalk.hvp(lambda x: (x**3).sum())(x, x) == 6 * x * x).all()
    assert gradwalk.jvp(lambda x: x * x)(x, x).tolist() == (2 * x * x).tolist()


def test_they_can_be_nested():
    assert gradwalk.grad(gradwalk.grad(lambda x: x**4))(2.0) == 48
    assert gradwalk.grad(gradwalk.grad(gradwalk.grad(lambda x: x**4)))(2.0) == 48
    x = Value(2.0)
    (gradwalk.grad(lambda x: x**3)(x) * 2).backward()
    y = Value(2.0)
    gradwalk.grad(lambda x: (x**3).sum())(numpy.array([y, 1.0], object))[0].backward()
    assert x.grad == 24 and y.grad == 12
    assert gradwalk.jacobian(gradwalk.grad(polynomial))([3.0, 5.0]) == gradwalk.hessian(polynomial)([3.0, 5.0])


def test_they_compile_after_a_few_calls():
    calls = [0]

    def counted(x, calls=calls):
        calls[0] += 1
        return (x[0] * x[1]).tanh()

    slope = gradwalk.grad(counted, compile=True)
    found = [slope([0.1 * k, 0.5]) for k in range(20)]
    assert slope.compiled and slope.not_compiled == "" and calls[0] < 8
    assert found == [pytest.approx(gradwalk.gradient(counted, [0.1 * k, 0.5])) for k in range(20)]
    pure = gradwalk.grad(lambda x: x.sin() * math.pi)
    assert [pure(k) for k in range(5)] == [pytest.approx(math.pi * math.cos(k)) for k in range(5)] and pure.compiled
    never = gradwalk.grad(lambda x: x.sin(), compile=False)
    assert [never(k) for k in range(5)] == [pytest.approx(math.cos(k)) for k in range(5)] and never.not_compiled == "compile is False"


def test_a_number_that_changes_is_noticed():
    scale, table, weight = 2.0, numpy.ones(2), Value(2.0)
    slope = gradwalk.grad(lambda x: scale * x * table[0])
    assert [slope(k) for k in range(5)] == [2] * 5 and slope.compiled
    scale = 5.0
    assert [slope(k) for k in range(5)] == [5] * 5
    table[0] = 3.0
    assert slope(1.0) == 15
    other = gradwalk.grad(lambda x: weight * x)
    assert [other(k) for k in range(5)] == [2] * 5 and not other.compiled and other.not_compiled.startswith("the function uses Value, whose numbers may change")
    weight.data = 7.0
    assert other(1.0) == 7
    third = gradwalk.grad(lambda x, factor: x * factor)
    assert [third(1.0, k) for k in range(5)] == [0, 1, 2, 3, 4] and [third(k, 4) for k in range(5)] == [4] * 5


def test_a_branch_is_followed():
    for function in (lambda x: 2 * x if x > 0 else 3 * x, lambda x: 2 * x if x.data > 0 else 3 * x, lambda x: 2 * x if float(x) > 0 else 3 * x):
        slope = gradwalk.grad(function)
        assert [slope(float(k)) for k in range(1, 6)] == [2] * 5 and slope(-1.0) == 3 and slope(1.0) == 2
    reading = gradwalk.grad(lambda x: 2 * x if x.data > 0 else 3 * x)
    assert [reading(float(k)) for k in range(1, 6)] == [2] * 5 and reading.not_compiled.startswith("the function reads .data")


@pytest.mark.parametrize("work, message", [
    (lambda: gradwalk.grad(3), "grad: needs a function, got int; give a function of Values"),
    (lambda: gradwalk.grad(lambda x: [x, x])(1.0), "grad: needs a function that returns one Value, got one that returns several; use jacobian"),
    (lambda: gradwalk.grad(lambda x: x[0])([[1.0], [2.0]]), "grad: needs a list of numbers for x, got list at index 0; give one list without lists in it"),
    (lambda: gradwalk.grad(lambda x: "a")(1.0), "grad: needs a function that returns Values, got one that returns str; return a Value or a list of Values"),
    (lambda: gradwalk.grad(lambda x: x)("abc"), "grad: needs a list of numbers for x, got str; give a list"),
    (lambda: gradwalk.grad(lambda x: x)([]), "grad: needs at least one number as x, got none; give the point to differentiate at"),
    (lambda: gradwalk.hessian(lambda x: x)(Value(1.0)), r"hessian: needs numbers as x, got Values; only grad\(\) and value_and_grad\(\) take Values"),
    (lambda: gradwalk.hvp(lambda x: x[0])([1.0, 2.0], [1.0]), "hvp: needs a v like x, with 2 numbers, got 1; give one number per number of x"),
])
def test_wrong_arguments_are_refused_in_words(work, message):
    with pytest.raises((ValueError, TypeError), match=message):
        work()
