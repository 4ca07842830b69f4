#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures gradwalk in Python against SciPy, PyTorch and scikit-learn, on the work that users bring from them.
usage: bench/python/compare.py [--check] [REPEATS]
Needs gradwalk installed, or PYTHONPATH set to python/ of a build. Prints milliseconds of processor time and ratios of
minima, measured in turns in one process with one thread each. --check exits with 1 if a bar is missed. Without torch or
scikit-learn, their lines are left out.
"""

import os

os.environ.update({name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})

import math
import sys
import time
import warnings

import numpy
import scipy.optimize

import gradwalk
from gradwalk import Value


def minima(ours, theirs, repeats):
    """Measures both in turns, so that a busy machine affects both."""
    times = [[], []]
    for _ in range(repeats):
        for work, found in zip((ours, theirs), times):
            start = time.process_time()
            work()
            found.append(time.process_time() - start)
    return min(times[0]), min(times[1])


def fit_of_rows():
    """A decay with three parameters, 20,000 residuals: SciPy's curve_fit."""
    random = numpy.random.default_rng(0)
    t = numpy.linspace(0, 4, 20000)
    y = 2.5 * numpy.exp(-1.3 * t) + 0.5 + random.normal(0, 0.02, len(t))
    rows = numpy.column_stack([t, y])

    def ours():
        return gradwalk.fit(lambda p, row: p[0] * (-p[1] * row[0]).exp() + p[2] - row[1], rows, [1.0, 1.0, 0.0]).x

    def theirs():
        return scipy.optimize.curve_fit(lambda t, a, b, c: a * numpy.exp(-b * t) + c, t, y, [1.0, 1.0, 0.0])[0]

    assert numpy.allclose(ours(), theirs(), rtol=1e-5)
    return ours, theirs


def likelihood_of_rows():
    """A logistic likelihood with six parameters over 2,000 rows: SciPy's minimize, without a gradient."""
    random = numpy.random.default_rng(1)
    X = random.normal(size=(2000, 5))
    labels = (X @ random.normal(size=5) + 0.3 + random.logistic(size=2000) > 0).astype(float)
    rows = numpy.column_stack([X, labels])

    def loss(p, row):
        score = sum((p[k + 1] * row[k] for k in range(5)), p[0])
        return score.softplus() - row[5] * score

    def total(p):
        score = p[0] + X @ p[1:]
        return (numpy.logaddexp(0, score) - labels * score).sum()

    def ours():
        return gradwalk.minimize(loss, rows, [0.0] * 6).x

    def theirs():
        return scipy.optimize.minimize(total, numpy.zeros(6)).x

    assert numpy.allclose(ours(), theirs(), atol=1e-4)
    return ours, theirs


def greeks(torch):
    """Black-Scholes with five greeks of 1,000 options: a program of the price and its derivatives, and torch's autograd."""
    random = numpy.random.default_rng(2)
    rows = numpy.column_stack([random.uniform(80, 120, 1000), random.uniform(80, 120, 1000), random.uniform(0.1, 2, 1000), random.uniform(0, 0.05, 1000),
                               random.uniform(0.1, 0.5, 1000)])
    inputs = [Value(x) for x in rows[0]]

    def price(spot, strike, years, rate, volatility, log, sqrt, exp, normal):
        d1 = (log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * sqrt(years))
        return spot * normal(d1) - strike * exp(-rate * years) * normal(d1 - volatility * sqrt(years))

    recorded = price(*inputs, gradwalk.log, gradwalk.sqrt, gradwalk.exp, lambda x: (1 + (x * math.sqrt(0.5)).erf()) / 2)
    program = gradwalk.compile([recorded, *gradwalk.derivatives(recorded, inputs)], inputs=inputs)

    def ours():
        return program.evaluate(rows)

    def theirs():
        columns = [torch.tensor(column, requires_grad=True) for column in rows.T]
        value = price(*columns, torch.log, torch.sqrt, torch.exp, lambda x: (1 + torch.erf(x * math.sqrt(0.5))) / 2)
        return torch.stack([value.detach(), *torch.autograd.grad(value.sum(), columns)], 1).numpy()

    assert numpy.allclose(ours(), theirs(), atol=1e-6)
    return ours, theirs


def epoch(torch):
    """An epoch of moons, MLP 2-16-16-1, 1,000 rows in batches of 50, Adam."""
    X, y = gradwalk.make_moons(1000, 0.1, 1)
    rows = numpy.column_stack([X, 2.0 * y - 1])
    model = gradwalk.MLP(2, [16, 16, 1], seed=1)
    program = gradwalk.compile(lambda row: (1 - row[2] * model(row[:2])).relu(), rows[:8], parameters=model.parameters())
    trainer = gradwalk.Trainer(program, gradwalk.Adam(lr=0.01))
    layers = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).double()
    optimizer, data = torch.optim.Adam(layers.parameters(), 0.01), torch.tensor(rows)

    def ours():
        for start in range(0, 1000, 50):
            trainer.step(rows[start:start + 50], mean=True)

    def theirs():
        for start in range(0, 1000, 50):
            batch = data[start:start + 50]
            optimizer.zero_grad()
            (1 - batch[:, 2] * layers(batch[:, :2])[:, 0]).relu().mean().backward()
            optimizer.step()

    return ours, theirs


def pendulum(torch):
    """The angle of a pendulum after 500 steps, and its derivatives by the first angle, the speed and the length."""
    start = [0.5, 0.1, 1.3]

    def swing(state, sin):
        angle, speed, length = state
        for _ in range(500):
            speed = speed - 0.01 * 9.81 / length * sin(angle)
            angle = angle + 0.01 * speed
        return angle

    def ours():
        return gradwalk.value_and_gradient(lambda x: swing(x, gradwalk.sin), start)[1]

    def theirs():
        leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in start]
        return [float(slope) for slope in torch.autograd.grad(swing(leaves, torch.sin), leaves)]

    assert numpy.allclose(ours(), theirs())
    return ours, theirs


def scalars():
    """Products of a NumPy number and a Value, with the Value on the right and on the left."""
    number, value = numpy.float64(2.0), Value(3.0)

    def on_the_right():
        for _ in range(10000):
            number * value

    def on_the_left():
        for _ in range(10000):
            value * number

    return on_the_right, on_the_left


def digits():
    """MLPClassifier on scikit-learn's digits, 20 passes, 100 hidden neurons."""
    import sklearn.neural_network
    from sklearn.datasets import load_digits

    import gradwalk.sklearn

    X, y = load_digits(return_X_y=True)
    settings = {"random_state": 0, "max_iter": 20}
    return (lambda: gradwalk.sklearn.MLPClassifier(**settings).fit(X / 16, y)), (lambda: sklearn.neural_network.MLPClassifier(**settings).fit(X / 16, y))


def main(arguments):
    checks = "--check" in arguments
    repeats = int(next((argument for argument in arguments if argument.isdigit()), 9))
    warnings.simplefilter("ignore")
    cases = [("fit of 20,000 rows", "SciPy", fit_of_rows, repeats, 1.0), ("likelihood of 2,000 rows", "SciPy", likelihood_of_rows, repeats, 1.0),
             ("float64 * Value", "Value * float64", scalars, repeats, None)]
    try:
        import torch

        torch.set_num_threads(1)
        cases += [("price and five greeks", "torch", lambda: greeks(torch), repeats, None), ("epoch of moons", "torch", lambda: epoch(torch), repeats, None),
                  ("pendulum, three derivatives", "torch", lambda: pendulum(torch), repeats, None)]
    except ImportError:
        print("torch is not installed")
    try:
        import sklearn  # noqa: F401

        cases.append(("digits, MLPClassifier", "sklearn", digits, 3, None))
    except ImportError:
        print("scikit-learn is not installed")
    missed = False
    for name, other, case, count, bar in cases:
        ours, theirs = minima(*case(), count)
        missed = missed or (bar is not None and ours > bar * theirs)
        print(f"{name:28} gradwalk {ours * 1e3:9.3f} ms  {other} {theirs * 1e3:9.3f} ms  ratio {ours / theirs:6.3f}" + (f", bar {bar}" if bar else ""))
    return int(checks and missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
