# SPDX-License-Identifier: MIT
"""minimize, fit and root of Python functions. tests/{fit,minimize,root}_test.cpp test what docs/solve.md promises."""

import signal

import numpy
import pytest
import scipy.optimize

import gradwalk


def valley(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


@pytest.mark.parametrize("method", ["lbfgs", "bfgs", "newton", "gradient_descent"])
def test_minimize_finds_a_minimum(method):
    reported = []
    best = gradwalk.minimize(valley, numpy.array([-1.2, 1.0]), method=method, iterations=20000, gradient_tolerance=1e-6, progress=lambda k, value: reported.append((k, value)))
    assert best.converged and best.compiled and best.x == pytest.approx([1, 1], abs=1e-4) and best.value < 1e-9 and len(best.gradient) == 2
    assert [k for k, _ in reported] == list(range(1, best.iterations + 1)) and reported[0][1] == pytest.approx(24.2) and reported[-1][1] < 1e-6
    assert best.recordings < 10 < best.evaluations and repr(best).startswith(f"<Minimum x={best.x}, {best.stop} after ")


def test_solvers_take_a_function_of_one_value():
    best = gradwalk.minimize(lambda x: (x - 3) ** 2 + 1, 0.0)
    assert best.x == pytest.approx(3) and best.value == pytest.approx(1)
    assert gradwalk.root(lambda x: x.cos() - x, 1).x == pytest.approx(0.7390851332151607)


def test_fit_agrees_with_scipy():
    random = numpy.random.default_rng(0)
    t = numpy.linspace(0, 4, 30)
    y = 2.5 * numpy.exp(-1.3 * t) + 0.5 + random.normal(0, 0.02, 30)
    ours = gradwalk.fit(lambda p: [p[0] * (-p[1] * ti).exp() + p[2] - yi for ti, yi in zip(t, y)], [1.0, 1.0, 0.0])
    theirs, covariance = scipy.optimize.curve_fit(lambda t, a, b, c: a * numpy.exp(-b * t) + c, t, y, [1.0, 1.0, 0.0])
    assert ours.converged and ours.x == pytest.approx(theirs, rel=1e-6) and ours.rank == 3
    assert numpy.array(ours.covariance) == pytest.approx(covariance, rel=1e-4) and ours.standard_errors == pytest.approx(covariance.diagonal() ** 0.5, rel=1e-4)
    assert ours.sum_of_squares == pytest.approx(sum(r * r for r in ours.residuals)) and ours.deviation == pytest.approx(0.02, rel=0.5)


def test_root_solves_a_system_of_equations():
    found = gradwalk.root(lambda x: [x[0] ** 2 + x[1] ** 2 - 4, x[0] - x[1]], [1.0, 0.5])
    assert found.converged and found.x == pytest.approx([2**0.5, 2**0.5]) and found.values == pytest.approx([0, 0], abs=1e-12)


def test_results_state_why_they_stopped():
    assert gradwalk.minimize(lambda x: 3 * x, 0.0).stop == "unbounded" and not gradwalk.minimize(lambda x: 3 * x, 0.0).converged
    uncompiled = gradwalk.minimize(valley, [-1.2, 1.0], compile=False)
    assert not uncompiled.compiled and uncompiled.recordings >= uncompiled.evaluations
    with pytest.raises(ValueError, match="minimize: needs method 'lbfgs', 'bfgs', 'newton' or 'gradient_descent', got 'sgd'; choose one of them"):
        gradwalk.minimize(valley, [0.0, 0.0], method="sgd")
    with pytest.raises(ValueError, match="^root: needs as many values as parameters: 2, got 1;"):
        gradwalk.root(lambda x: [x[0] + x[1]], [0.0, 0.0])
    with pytest.raises(ZeroDivisionError):
        gradwalk.minimize(lambda x: x * (1 / 0), 0.0)
    with pytest.raises(RuntimeError, match="enough"):
        gradwalk.minimize(valley, [-1.2, 1.0], progress=stop_at_five)


def stop_at_five(iteration, _):
    if iteration == 5:
        raise RuntimeError("enough")


def test_a_signal_stops_minimize():
    """Compiled code calls no Python, so the signal is noticed between iterations. Without it this search takes minutes."""
    def long_valley(x):
        return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(len(x) - 1))

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            gradwalk.minimize(long_valley, [-1.2, 1.0] * 2000, method="gradient_descent", iterations=10**9, gradient_tolerance=0)
    finally:
        signal.signal(signal.SIGALRM, before)
