#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A GPT of scalars in the spirit of Karpathy's microgpt, for any class of Values: one block, several heads, RMS norm,
Adam; it learns to spell names, one a step. Beside the pure-Python Value of reference.py it is timed, losses compared.
usage: bench/python/gpt.py [STEPS]
"""

import gc
import math
import random
import sys
import time

WIDTH, HEADS, CONTEXT = 16, 4, 8
NAMES = "emma olivia ava isabella sophia mia amelia harper evelyn abigail ella scarlett grace chloe layla lily".split()
LETTERS = sorted(set("".join(NAMES)))
END = len(LETTERS)


def matrix(value, rows, columns, deviation=0.08):
    return [[value(random.gauss(0, deviation)) for _ in range(columns)] for _ in range(rows)]


def linear(x, w):
    return [sum((wi * xi for wi, xi in zip(row[1:], x[1:])), row[0] * x[0]) for row in w]


def softmax(scores):
    largest = max(score.data for score in scores)
    exps = [(score - largest).exp() for score in scores]
    total = sum(exps[1:], exps[0])
    return [e / total for e in exps]


def norm(x):
    scale = (sum((xi * xi for xi in x[1:]), x[0] * x[0]) * (1 / len(x)) + 1e-5) ** -0.5
    return [xi * scale for xi in x]


class GPT:
    def __init__(self, value, seed=1337):
        random.seed(seed)
        sizes = {"tokens": (END + 1, WIDTH), "places": (CONTEXT, WIDTH), "query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH),
                 "value": (WIDTH, WIDTH), "out": (WIDTH, WIDTH), "up": (4 * WIDTH, WIDTH), "down": (WIDTH, 4 * WIDTH), "head": (END + 1, WIDTH)}
        self.w = {name: matrix(value, *size) for name, size in sizes.items()}

    def parameters(self):
        return [p for w in self.w.values() for row in w for p in row]

    def attend(self, x, keys, values):
        q, size, out = linear(x, self.w["query"]), WIDTH // HEADS, []
        keys.append(linear(x, self.w["key"]))
        values.append(linear(x, self.w["value"]))
        for h in range(0, WIDTH, size):
            here = range(h, h + size)
            weights = softmax([sum((q[i] * k[i] for i in here[1:]), q[h] * k[h]) * size**-0.5 for k in keys])
            out += [sum((w * v[i] for w, v in zip(weights[1:], values[1:])), weights[0] * values[0][i]) for i in here]
        return linear(out, self.w["out"])

    def scores(self, token, place, keys, values):
        x = norm([t + p for t, p in zip(self.w["tokens"][token], self.w["places"][place])])
        x = [a + b for a, b in zip(x, self.attend(norm(x), keys, values))]
        hidden = [h.relu() for h in linear(norm(x), self.w["up"])]
        return linear([a + b for a, b in zip(x, linear(hidden, self.w["down"]))], self.w["head"])

    def loss(self, name):
        tokens = [END] + [LETTERS.index(letter) for letter in name][: CONTEXT - 1] + [END]
        keys, values = [], []
        losses = [-softmax(self.scores(token, place, keys, values))[target].log()
                  for place, (token, target) in enumerate(zip(tokens[:-1], tokens[1:]))]
        return sum(losses[1:], losses[0]) * (1 / len(losses))


class Training:
    """Adam, as microgpt writes it out."""

    def __init__(self, value):
        self.model = GPT(value)
        self.parameters = self.model.parameters()
        self.m, self.v, self.steps = [0.0] * len(self.parameters), [0.0] * len(self.parameters), 0

    def step(self):
        loss = self.model.loss(NAMES[self.steps % len(NAMES)])
        loss.backward()
        self.steps += 1
        for i, p in enumerate(self.parameters):
            self.m[i] = 0.9 * self.m[i] + 0.1 * p.grad
            self.v[i] = 0.95 * self.v[i] + 0.05 * p.grad**2
            m, v = self.m[i] / (1 - 0.9**self.steps), self.v[i] / (1 - 0.95**self.steps)
            p.data -= 0.01 * m / (math.sqrt(v) + 1e-8)
            p.grad = 0
        return loss.data


def timed(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def main(steps):
    import gradwalk
    import reference

    ours, theirs = Training(gradwalk.Value), Training(reference.Value)
    times, furthest = [], 0.0
    for k in range(steps):
        gc.disable()
        a, b = timed(ours.step), timed(theirs.step)
        gc.enable()
        gc.collect()
        times.append((a[0], b[0]))
        furthest = max(furthest, abs(a[1] - b[1]))
    total = [sum(column) for column in zip(*times)]
    print(f"{steps} steps, collector off: {total[1] / total[0]:.1f} times as fast as pure Python; losses differ by {furthest:.1e} at most, the last is {a[1]:.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
