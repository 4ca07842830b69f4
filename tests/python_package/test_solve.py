# SPDX-License-Identifier: MIT
"""minimize, fit and root of Python functions. tests/{fit,minimize,root}_test.cpp test what docs/solve.md promises."""

import math
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


def decay(count):
    random = numpy.random.default_rng(0)
    t = numpy.linspace(0, 4, count)
    return numpy.column_stack([t, 2.5 * numpy.exp(-1.3 * t) + 0.5 + random.normal(0, 0.02, count)])


def decay_residual(p, row):
    return p[0] * (-p[1] * row[0]).exp() + p[2] - row[1]


def test_fit_of_one_row_agrees_with_scipy():
    rows = decay(3000)
    ours = gradwalk.fit(decay_residual, rows, numpy.array([1.0, 1.0, 0.0]))
    theirs, covariance = scipy.optimize.curve_fit(lambda t, a, b, c: a * numpy.exp(-b * t) + c, rows[:, 0], rows[:, 1], [1.0, 1.0, 0.0])
    assert ours.success and ours.compiled and ours.recordings < 30 and ours.x == pytest.approx(theirs, rel=1e-6)
    assert isinstance(ours.x, numpy.ndarray) and ours.covariance == pytest.approx(covariance, rel=1e-4) and ours.fun.shape == (3000,)
    assert ours.nit == ours.iterations > 0 and ours.message == f"{ours.stop} after {ours.nit} iterations, {ours.nfev} evaluations (compiled)"
    listed = gradwalk.fit(decay_residual, rows.tolist(), [1.0, 1.0, 0.0])
    assert isinstance(listed.x, list) and isinstance(listed.covariance, list) and listed.x == pytest.approx(theirs, rel=1e-6)


def test_minimize_of_one_row_agrees_with_scipy():
    random = numpy.random.default_rng(1)
    X = random.normal(size=(400, 2))
    labels = (X @ [2.0, -1.0] + 0.5 + random.logistic(size=400) > 0).astype(float)

    def loss(p, row):
        score = p[0] + p[1] * row[0] + p[2] * row[1]
        return score.softplus() - row[2] * score

    def likelihood(p):
        score = p[0] + X @ p[1:]
        return (numpy.logaddexp(0, score) - labels * score).sum()

    ours = gradwalk.minimize(loss, numpy.column_stack([X, labels]), [0.0, 0.0, 0.0])
    theirs = scipy.optimize.minimize(likelihood, numpy.zeros(3))
    assert ours.success and ours.compiled and ours.recordings < 40 and ours.x == pytest.approx(theirs.x, abs=1e-4) and ours.fun == pytest.approx(theirs.fun)


def test_rows_arrive_in_the_form_they_were_given_in():
    forms = []

    def of(p, row):
        forms.append(type(row))
        return (p - (sum(row) if isinstance(row, list) else row.sum() if isinstance(row, numpy.ndarray) else row)) ** 2

    assert gradwalk.minimize(of, [[1.0, 2.0], [3.0, 4.0]], 0.0).x == pytest.approx(5) and set(forms) == {list}
    forms.clear()
    assert gradwalk.minimize(of, numpy.array([[1.0, 2.0], [3.0, 4.0]]), 0.0).x == pytest.approx(5) and set(forms) == {numpy.ndarray}
    forms.clear()
    assert gradwalk.minimize(of, [1.0, 2.0, 6.0], 0.0).x == pytest.approx(3) and set(forms) == {gradwalk.Value}
    assert gradwalk.fit(lambda p, row: [p[0] - row[0], p[1] - row[1]], [[1.0, 2.0], [3.0, 6.0]], [0.0, 0.0]).x == pytest.approx([2, 4])


def test_starts_given_as_arrays_arrive_as_arrays():
    target = numpy.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    best = gradwalk.minimize(lambda w: ((w - target) ** 2).sum(), numpy.zeros((2, 3)))
    assert best.x.shape == best.gradient.shape == (2, 3) and best.x == pytest.approx(target)
    assert gradwalk.fit(lambda p: p * p - numpy.array([4.0, 9.0]), numpy.array([1.0, 1.0])).x == pytest.approx([2, 3])
    assert gradwalk.root(lambda x: x**2 - 2, numpy.array([1.0])).x == pytest.approx([2**0.5])


@pytest.mark.parametrize("method", ["lbfgs", "bfgs", "newton"])
def test_bounds_are_kept(method):
    best = gradwalk.minimize(valley, [-1.2, 1.0], method=method, bounds=[(None, 0.5), (-2, 2)], tol=1e-8)
    assert best.converged and best.x == pytest.approx([0.5, 0.25], abs=1e-5)
    assert gradwalk.minimize(lambda x: (x - 3) ** 2, 0.0, bounds=(-1, 1)).x == 1
    assert gradwalk.fit(decay_residual, decay(200), [1.0, 1.0, 0.0], bounds=scipy.optimize.Bounds([0, 0, 0], [2, 5, 5])).x[0] == 2
    for bounds, message in [([(0, 1)], "minimize: needs one pair of bounds per parameter: 2, got 1; "), ([1, 2], r"minimize: needs one pair \(low, high\) per parameter for bounds, got int; write None where there is no bound"),
                            ([(0, 1), (0, 1)], "minimize: needs parameter 0 to start within its bounds, 0 to 1, got -1.2; start inside the bounds, or widen them")]:
        with pytest.raises((ValueError, TypeError), match=message):
            gradwalk.minimize(valley, [-1.2, 1.0], bounds=bounds)


def test_args_and_tol_are_passed_on():
    assert gradwalk.minimize(lambda x, a, b: (x - a) ** 2 + b, 0.0, args=(3.0, 1.0)).fun == pytest.approx(1)
    assert gradwalk.fit(lambda p, row, scale: p * row - scale, [1.0, 2.0], 0.0, args=2.0).x == pytest.approx(6 / 5)
    strict, loose = gradwalk.minimize(valley, [-1.2, 1.0]), gradwalk.minimize(valley, [-1.2, 1.0], tol=1e-2)
    assert loose.nit < strict.nit and loose.success


def test_rows_that_take_different_branches_give_the_right_result():
    rows = [[-2.0, 1.0], [-1.0, 2.0], [1.0, 3.0], [2.0, 5.0], [3.0, 6.0]]
    for residual in (lambda p, row: (p[0] if row[0] < 0 else p[1]) * row[0] - row[1], lambda p, row: (p[0] if row[0].data < 0 else p[1]) * row[0] - row[1]):
        found = gradwalk.fit(residual, rows, [0.0, 0.0])
        assert found.converged and found.x == pytest.approx([-4 / 5, 31 / 14])


def test_a_function_that_casts_a_value_is_recorded_at_every_point():
    """A program would keep the number of the first points."""
    why = "the function casts a Value to a number, detaches it or uses no_grad(), so its graph may differ at other points"
    best = gradwalk.minimize(lambda x: (x - 3) ** 2 * (1 if float(x) < 2 else 2) + 0 * x.item(), 0.0)
    assert best.converged and best.x == pytest.approx(3) and not best.compiled and best.not_compiled == why
    rows = [0.4, 1.6, 2.3, 3.9]
    line = gradwalk.fit(lambda p, row: p * round(row) - row, rows, 1.0)
    assert line.x == pytest.approx(sum(round(x) * x for x in rows) / sum(round(x) ** 2 for x in rows))
    shrunk = gradwalk.fit(lambda p, row: (p - row) * (1 if float(p) < 2.5 else 3), rows, 3.0)
    assert shrunk.x == pytest.approx(sum(rows) / 4) and shrunk.not_compiled == why
    zero = gradwalk.root(lambda x: x * x - math.exp(x) / x.exp() * 2, 1.0)
    assert zero.x == pytest.approx(2**0.5, abs=1e-6) and not zero.compiled
    table = [1.0, 2.0]  # a number that depends on no parameter may be cast
    assert gradwalk.minimize(lambda x: (x[0] * x[1] - float(gradwalk.Value(table[0]))) ** 2 + (x[0] - 2) ** 2, [1.0, 1.0]).compiled


@pytest.mark.parametrize("work, message", [
    (lambda: gradwalk.minimize(lambda x: x[0], [[1.0, 2.0], [3.0, 4.0]]), "minimize: needs a list of numbers for start, got list at index 0; give one list without lists in it"),
    (lambda: gradwalk.minimize(lambda x: [x], 1.0), "minimize: needs a function that returns a Value, got one that returns list; return one Value"),
    (lambda: gradwalk.minimize(lambda x: "x", 1.0), "minimize: needs a function that returns a Value, got one that returns str; return one Value"),
    (lambda: gradwalk.fit(lambda x: None, [1.0]), "fit: needs a function that returns Values, got one that returns None; write return in it"),
    (lambda: gradwalk.root(lambda x: ["a"], [1.0]), "root: needs a list of Values for the result of the function, got str at index 0; convert it to a float"),
    (lambda: gradwalk.minimize(lambda x: x, "abc"), "minimize: needs a list of numbers for start, got str; give a list"),
    (lambda: gradwalk.minimize(lambda x: x, gradwalk.Value(1.0)), "minimize: needs numbers for start, got gradwalk.Value; use its .data"),
    (lambda: gradwalk.minimize(3, 1.0), "minimize: needs a function for f, got int; give a function"),
    (lambda: gradwalk.minimize(lambda x: x[0], [gradwalk.Value(1.0)]), "minimize: needs a list of numbers for start, got gradwalk.Value at index 0; use its .data"),
    (lambda: gradwalk.fit(lambda p, row: p, [[gradwalk.Value(1.0)]], 1.0), "fit: needs an array of numbers for rows, got gradwalk.Value; use its .data"),
    (lambda: gradwalk.minimize(lambda x: x, 1.0, progress=3), "minimize: needs a function for progress, got int; give a function"),
    (lambda: gradwalk.minimize(lambda x: x), "minimize: needs a start, got none; give a number to start from for each parameter"),
    (lambda: gradwalk.minimize(lambda p, row: p, "rows", 1.0), "minimize: needs an array of numbers for rows, got str; give numbers only"),
    (lambda: gradwalk.fit(lambda p, row: p, [], 1.0), r"fit: needs rows as an array of one or two dimensions, got an array of shape \(0,\); give one row per sample"),
    (lambda: gradwalk.minimize(lambda x: x, 1.0, iterations=-1), "minimize: needs a whole number of 0 or more for iterations, got -1; give one in this range"),
    (lambda: gradwalk.minimize(lambda x: x, 1.0, tol="a"), "minimize: needs a number for tol, got str; convert it to a float"),
])
def test_wrong_arguments_are_refused_in_words(work, message):
    with pytest.raises((ValueError, TypeError), match=message):
        work()


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
