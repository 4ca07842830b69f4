# SPDX-License-Identifier: MIT
"""Measures JAX on bench/gpu's cases, over a million rows: value and gradient of simulations in several ways each, with
numbers that are in memory or drawn by JAX, and value, gradient and steps of Adam of networks. A classifier of pictures
has small batches.

usage: peers.py [ROWS]
"""

import math
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


def heston(steps, dtype):
    """The start, a time step and the loss of Heston's model, and its parameters."""
    dt, root = 1.0 / steps, math.sqrt(1.0 / steps)

    def step(p, carried, z):
        _, _, speed, level, volatility, correlation = p
        x, v = carried
        positive = jnp.maximum(v, 0) + 1e-8
        deviation = jnp.sqrt(positive)
        both = correlation * z[0] + jnp.sqrt(1 - correlation * correlation) * z[1]
        x = x - 0.5 * dt * positive + deviation * (root * z[0])
        return x, v + speed * (level - positive) * dt + volatility * (deviation * (root * both))

    def start(p, z):
        return (p[0] - 100.0) * 0.01 + 0 * z[0], p[1] + 0 * z[0]

    def end(carried, _):
        return jnp.maximum(jnp.exp(carried[0]) * 100 - 100, 0).sum()

    parameters = jnp.array([100, 0.04, 1.5, 0.04, 0.3, -0.7], dtype)
    return step, start, end, parameters


def lotka(steps, dtype):
    """The same of Lotka and Volterra's model, by the method of Runge and Kutta."""
    h = 4.0 / steps

    def step(p, carried, _):
        a, b, c, d = p
        x, y = carried

        def slope(x, y):
            return a * x - b * x * y, c * x * y - d * y

        k1, l1 = slope(x, y)
        k2, l2 = slope(x + 0.5 * h * k1, y + 0.5 * h * l1)
        k3, l3 = slope(x + 0.5 * h * k2, y + 0.5 * h * l2)
        k4, l4 = slope(x + h * k3, y + h * l3)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)

    def start(_, z):
        return z[0], z[1]

    def end(carried, z):
        return ((carried[0] - z[2]) ** 2).sum()

    return step, start, end, jnp.array([1.1, 0.4, 0.1, 0.4], dtype)


def ways(model, steps, has_inputs, dtype, has_unrolled):
    """Functions of parameters and rows, by name: value and gradient, in reverse or forward mode."""
    step, start, end, parameters = model(steps, dtype)
    part = next(k for k in (8, 7, 10, 4, 1) if steps % k == 0)

    def rounds(z):
        return z.reshape(steps, 2, -1) if has_inputs else None

    def unrolled(p, z):
        carried, inputs = start(p, z), rounds(z)
        for t in range(steps):
            carried = step(p, carried, inputs[t] if has_inputs else None)
        return end(carried, z)

    def scan(unroll):
        def run(p, z):
            carried, _ = jax.lax.scan(
                lambda c, one: (step(p, c, one), None), start(p, z), rounds(z), length=steps, unroll=unroll
            )
            return end(carried, z)

        return run

    def nested(p, z):
        @jax.checkpoint
        def segment(carried, inputs):
            for k in range(part):
                carried = step(p, carried, inputs[k] if has_inputs else None)
            return carried, None

        inputs = z.reshape(steps // part, part, 2, -1) if has_inputs else None
        return end(jax.lax.scan(segment, start(p, z), inputs, length=steps // part)[0], z)

    def reverse(f):
        return jax.value_and_grad(f)

    def forward(f):
        def run(p, z):
            values, tangents = jax.vmap(lambda d: jax.jvp(lambda q: f(q, z), (p,), (d,)))(jnp.eye(len(p), dtype=dtype))
            return values[0], tangents

        return run

    made = {
        "scan, forward": forward(scan(part)),
        "scan of 2 parts, forward": forward(scan(2 * part)),
        "parts computed again": reverse(nested),
        "scan, reverse": reverse(scan(part)),
    }
    if has_unrolled:  # compiling takes a minute for 252 steps
        made |= {"unrolled, forward": forward(unrolled), "unrolled, reverse": reverse(unrolled)}
    return parameters, made


def with_random_numbers(model, steps, count, dtype):
    """The ways with numbers that are drawn in the same call: all at first, or those of a round in each round."""
    parameters, made = ways(model, steps, True, dtype, steps <= 16)  # compiling 64 steps takes five minutes
    shape = (2 * steps, count)
    drawn = {
        f"{way}, drawn first": lambda p, key, f=function: f(p, jax.random.normal(key, shape, dtype))
        for way, function in made.items()
    }
    step, start, end, _ = model(steps, dtype)

    def in_rounds(p, key):
        def one(carried, key):
            return step(p, carried, jax.random.normal(key, (2, count), dtype)), None

        empty = jnp.zeros((2, count), dtype)
        return end(jax.lax.scan(one, start(p, empty), jax.random.split(key, steps))[0], empty)

    def forward(p, key):
        values, tangents = jax.vmap(lambda d: jax.jvp(lambda q: in_rounds(q, key), (p,), (d,)))(jnp.eye(len(p), dtype=dtype))
        return values[0], tangents

    return parameters, drawn | {"drawn in rounds, forward": forward, "drawn in rounds, reverse": jax.value_and_grad(in_rounds)}


def network(sizes, dtype):
    """A network with relu in the hidden layers, and its loss as value and gradient. Rows are numbers and classes."""
    keys = jax.random.split(jax.random.PRNGKey(1), len(sizes) - 1)
    parameters = [
        (jax.random.normal(k, (m, n), dtype) / math.sqrt(m), jnp.zeros(n, dtype))
        for k, m, n in zip(keys, sizes, sizes[1:])
    ]

    def loss(p, z):
        x, y = z
        for i, (weights, bias) in enumerate(p):
            x = x @ weights + bias
            x = jnp.maximum(x, 0) if i + 1 < len(p) else x
        if sizes[-1] == 1:
            return jnp.maximum(1 - y * x[:, 0], 0).sum()
        return -(jax.nn.log_softmax(x) * jax.nn.one_hot(y, sizes[-1])).sum()

    return parameters, {"value_and_grad": jax.value_and_grad(loss)}


def rows_of(sizes, count, dtype):
    """Rows of a network: numbers, and the class."""
    x = jax.random.normal(jax.random.PRNGKey(0), (count, sizes[0]), dtype)
    if sizes[-1] == 1:
        return x, jnp.where(jnp.arange(count) % 3 == 0, 1, -1).astype(dtype)
    return x, jnp.arange(count) * 7 % sizes[-1]


def measure(name, model, steps, count, has_inputs, dtype, has_unrolled):
    parameters, functions = ways(model, steps, has_inputs, dtype, has_unrolled)
    key = jax.random.PRNGKey(0)
    z = jax.random.normal(key, (2 * steps if has_inputs else 3, count), dtype)
    if not has_inputs:
        z = 0.5 + 0.25 * jnp.abs(z)
    measure_ways(name, parameters, functions, z)


def measure_network(sizes, count, dtype):
    """Value, gradient and training, with products in float32 and in the precision of tensor cores."""
    name = "-".join(map(str, sizes)) + f" x {count} {jnp.dtype(dtype).name}"
    rows = rows_of(sizes, count, dtype)
    for precision in ("highest", "tensorfloat32"):
        with jax.default_matmul_precision(precision):
            parameters, functions = network(sizes, dtype)
            measure_ways(f"{name}, {precision}", parameters, functions, rows)
            measure_training(f"{name}, {precision}", parameters, functions["value_and_grad"], rows, count, dtype)


def measure_training(name, parameters, loss, rows, count, dtype):
    """Steps of Adam over all rows, each of which needs the one before it."""

    @jax.jit
    def step(state, z):
        p, first, second, number = state
        value, gradient = loss(p, z)
        number = number + 1
        gradient = jax.tree.map(lambda g: g / count, gradient)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)

        def moved(p, m, v):
            return p - 0.001 * (m / (1 - 0.9**number)) / (jnp.sqrt(v / (1 - 0.999**number)) + 1e-8)

        return (jax.tree.map(moved, p, first, second), first, second, number), value

    zeros = jax.tree.map(jnp.zeros_like, parameters)
    state, least = (parameters, zeros, zeros, jnp.asarray(0, dtype)), 1e9
    for _ in range(6):
        begin = time.perf_counter()
        for _ in range(50):
            state, value = step(state, rows)
        jax.block_until_ready(value)
        least = min(least, (time.perf_counter() - begin) / 50)
    print(f"jax train {name}: {least * 1e6:.2f} us per step", flush=True)


def measure_ways(name, parameters, functions, z):
    best = None
    for way, function in functions.items():
        begin = time.perf_counter()
        run = jax.jit(function).lower(parameters, z).compile()
        jax.block_until_ready(run(parameters, z))
        first = time.perf_counter() - begin
        for _ in range(3):
            jax.block_until_ready(run(parameters, z))
        single = []
        for _ in range(20):
            begin = time.perf_counter()
            jax.block_until_ready(run(parameters, z))
            single.append(time.perf_counter() - begin)
        in_a_row = []
        for _ in range(5):
            begin = time.perf_counter()
            for _ in range(20):
                result = run(parameters, z)
            jax.block_until_ready(result)
            in_a_row.append((time.perf_counter() - begin) / 20)
        least = min(in_a_row)
        print(
            f"  jax {name}, {way:26s} call {min(single) * 1e3:8.4f} ms  "
            f"in a row {least * 1e3:8.4f} ms  first {first:5.1f} s",
            flush=True,
        )
        best = min(best or least, least)
    print(f"jax {name}: best {best * 1e3:.4f} ms", flush=True)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
    jax.config.update("jax_enable_x64", True)
    for steps in (16, 64, 252):
        measure(f"heston {steps} float32", heston, steps, count, True, jnp.float32, True)
        parameters, functions = with_random_numbers(heston, steps, count, jnp.float32)
        measure_ways(f"heston {steps}, random float32", parameters, functions, jax.random.PRNGKey(0))
    for sizes, rows in (
        ([2, 16, 16, 1], count),
        ([2, 64, 64, 1], count),
        ([784, 128, 64, 10], 64),
        ([784, 128, 64, 10], 1024),
        ([784, 128, 64, 10], 16384),
    ):
        measure_network(sizes, rows, jnp.float32)
    measure("lotka 100 float32", lotka, 100, count, False, jnp.float32, False)
    for steps in (64, 252):
        measure(f"heston {steps} float64", heston, steps, count, True, jnp.float64, False)


main()
