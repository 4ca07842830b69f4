# SPDX-License-Identifier: MIT
"""gradient(), hessian(), jacobian() and check_gradient() of Python functions."""

import math

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
