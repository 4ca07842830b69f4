#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Times gradwalk in Python against a pure-Python Value of micrograd's design (reference.py), and gradwalk.sklearn against
scikit-learn. Prints ratios of minima, measured in one run.
usage: bench/python/bench.py [REPEATS [GRADWALK_BENCH]]
Needs gradwalk installed, or PYTHONPATH set to python/ of a build. With the path of gradwalk-bench, it also compares the
compiled step with that of C++.
"""

import gc
import json
import random
import subprocess
import sys
import time
import timeit

import numpy

import gradwalk
import reference

ROWS, SIZES = 100, (2, 16, 16, 1)


class Network:
    """micrograd's nn code, for any Value."""

    def __init__(self, value):
        random.seed(1337)
        self.layers = [[([value(random.uniform(-1, 1)) for _ in range(i)], value(0)) for _ in range(o)] for i, o in zip(SIZES, SIZES[1:])]

    def parameters(self):
        return [p for layer in self.layers for w, b in layer for p in w + [b]]

    def __call__(self, x):
        for k, layer in enumerate(self.layers):
            x = [sum((wi * xi for wi, xi in zip(w, x)), b) for w, b in layer]
            if k + 1 < len(self.layers):
                x = [v.relu() for v in x]
        return x[0]


def moons_step(value, X, y):
    model = Network(value)

    def step():
        scores = [model([value(x) for x in row]) for row in X]
        losses = [(1 + -yi * score).relu() for yi, score in zip(y, scores)]
        loss = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in model.parameters())
        for p in model.parameters():
            p.grad = 0
        loss.backward()
        for p in model.parameters():
            p.data -= 0.1 * p.grad
        return loss.data

    return step


def best(work, repeats, number=1):
    """Measures the CPU time of the process. timeit would turn the garbage collector off."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(number):
            work()
        times.append(time.process_time() - start)
    return min(times) / number


def compare(ours, theirs, repeats):
    """Measures both in turns, so that a busy machine affects both."""
    pairs = [(best(ours, 1), best(theirs, 1)) for _ in range(repeats)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def report(what, ours, other, name):
    print(f"{what:44} {ours * 1e6:12.3f} us {other / ours:10.2f} x  ({name} {other * 1e6:.3f} us)")


def with_collector(is_on, work, *arguments):
    gc.collect()
    (gc.enable if is_on else gc.disable)()
    try:
        return work(*arguments)
    finally:
        gc.enable()


def digits(repeats):
    """Measures a whole fit by both, with default options and one thread."""
    import warnings

    import sklearn.neural_network
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from threadpoolctl import threadpool_limits

    import gradwalk.sklearn

    warnings.simplefilter("ignore")
    X, y = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(X / 16, y, random_state=0, stratify=y)
    kinds = {"gradwalk": gradwalk.sklearn.MLPClassifier(random_state=1), "gradwalk, float32": gradwalk.sklearn.MLPClassifier(random_state=1, precision="float32"),
             "scikit-learn": sklearn.neural_network.MLPClassifier(random_state=1)}
    times = {name: [] for name in kinds}
    with threadpool_limits(1):
        for _ in range(repeats):
            for name, model in kinds.items():
                times[name].append(best(lambda: model.fit(train_x, train_y), 1))
    for name, model in kinds.items():
        ratio = min(times["scikit-learn"]) / min(times[name])
        print(f"{'digits, ' + name:44} {min(times[name]) * 1e3:12.1f} ms {ratio:10.2f} x  ({model.n_iter_} passes, {model.score(test_x, test_y):.1%} right)")


def native_step(program):
    """Returns the seconds of the same step in C++, measured by gradwalk-bench."""
    lines = subprocess.run([program, "--case", "compiled-moons", "--json", "--seconds", "1"], check=True, capture_output=True, text=True).stdout.splitlines()
    return next(line["us_per_step"] for line in map(json.loads, lines) if line["variant"] == "trainer") * 1e-6


def main(repeats, native=None):
    X, labels = gradwalk.make_moons(ROWS, 0.1, 1337)
    y = [float(2 * label - 1) for label in labels]
    rows = [list(map(float, row)) for row in X]
    ours, theirs = moons_step(gradwalk.Value, rows, y), moons_step(reference.Value, rows, y)
    difference = max(abs(ours() - theirs()) for _ in range(3))
    assert difference < 1e-9, f"losses differ by {difference}"
    for is_on in (True, False):
        times = with_collector(is_on, compare, ours, theirs, repeats)
        report(f"moons step, collector {'on' if is_on else 'off'}", *times, "pure Python")

    a, b, x = gradwalk.Value(1.5), gradwalk.Value(2.5), 1.5
    loop = "for _ in range(100000): "
    empty = min(timeit.repeat(loop + "a; b", timer=time.process_time, number=1, repeat=5 * repeats, globals={"a": a, "b": b}))
    add = min(timeit.repeat(loop + "a + b", timer=time.process_time, number=1, repeat=5 * repeats, globals={"a": a, "b": b}))
    floats = min(timeit.repeat(loop + "a + b", timer=time.process_time, number=1, repeat=5 * repeats, globals={"a": x, "b": 2.5}))
    slow = min(timeit.repeat(loop + "a + b", timer=time.process_time, number=1, repeat=repeats, globals={"a": reference.Value(x), "b": reference.Value(2.5)}))
    report("Value + Value", add / 1e5, slow / 1e5, "pure Python")
    print(f"{'Value + Value, in float additions':44} {add / floats:12.2f}     (loop alone {empty / floats:.2f})")

    model = Network(gradwalk.Value)
    data = numpy.column_stack([X, y])
    penalty = lambda: 1e-4 * gradwalk.l2_penalty(model.parameters())  # noqa: E731
    program = gradwalk.compile(lambda row: (1 - row[2] * model(row[:2])).relu() + penalty(), data[:2], parameters=model.parameters())
    trainer = gradwalk.Trainer(program, gradwalk.SGD(lr=0.1))
    compiled, eager = best(lambda: trainer.step(data, mean=True), 20 * repeats, 20), best(ours, repeats)
    report("moons step, compiled", compiled, eager, "eager")
    if native:
        pairs = [(best(lambda: trainer.step(data, mean=True), 20 * repeats, 20), native_step(native)) for _ in range(repeats)]
        report("moons step, compiled", *(min(times) for times in zip(*pairs)), "C++")
    digits(repeats)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7, *sys.argv[2:3])
