#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A GPT of scalars after Karpathy's microgpt, for any class of Values: one block, several heads, RMS norm, Adam. It learns
to spell names, one per step. The program times gradwalk, eager and compiled, against the pure-Python Value of
reference.py, and compares the losses.
usage: bench/python/gpt.py [STEPS]
"""

import functools
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


def softmax(scores, largest):
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
            fits = [sum((q[i] * k[i] for i in here[1:]), q[h] * k[h]) * size**-0.5 for k in keys]
            weights = softmax(fits, self.largest(fits))
            out += [sum((w * v[i] for w, v in zip(weights[1:], values[1:])), weights[0] * values[0][i]) for i in here]
        return linear(out, self.w["out"])

    def scores(self, token, place, keys, values):
        x = norm([t + p for t, p in zip(self.embedding(token), self.w["places"][place])])
        x = [a + b for a, b in zip(x, self.attend(norm(x), keys, values))]
        hidden = [h.relu() for h in linear(norm(x), self.w["up"])]
        return linear([a + b for a, b in zip(x, linear(hidden, self.w["down"]))], self.w["head"])

    def loss(self, tokens):
        keys, values = [], []
        losses = [self.surprise(self.scores(token, place, keys, values), target)
                  for place, (token, target) in enumerate(zip(tokens[:-1], tokens[1:]))]
        return sum(losses[1:], losses[0]) * (1 / len(losses))

    def largest(self, scores):
        return max(score.data for score in scores)

    def embedding(self, token):
        return self.w["tokens"][token]

    def surprise(self, scores, target):
        return -softmax(scores, self.largest(scores))[target].log()


class GPTOfInputs(GPT):
    """The same with tokens that are inputs of a program, as one-hot vectors."""

    def largest(self, scores):
        return functools.reduce(lambda x, y: x.max(y), scores).stop()

    def embedding(self, token):
        return [sum((t * row[i] for t, row in zip(token[1:], self.w["tokens"][1:])), token[0] * self.w["tokens"][0][i]) for i in range(WIDTH)]

    def surprise(self, scores, target):
        probabilities = softmax(scores, self.largest(scores))
        return -sum((t * p for t, p in zip(target[1:], probabilities[1:])), target[0] * probabilities[0]).log()


def tokens_of(name):
    return [END] + [LETTERS.index(letter) for letter in name][: CONTEXT - 1] + [END]


class Training:
    """Adam, as microgpt writes it out."""

    def __init__(self, value):
        self.model = GPT(value)
        self.parameters = self.model.parameters()
        self.m, self.v, self.steps = [0.0] * len(self.parameters), [0.0] * len(self.parameters), 0

    def step(self):
        loss = self.model.loss(tokens_of(NAMES[self.steps % len(NAMES)]))
        loss.backward()
        self.steps += 1
        for i, p in enumerate(self.parameters):
            self.m[i] = 0.9 * self.m[i] + 0.1 * p.grad
            self.v[i] = 0.95 * self.v[i] + 0.05 * p.grad**2
            m, v = self.m[i] / (1 - 0.9**self.steps), self.v[i] / (1 - 0.95**self.steps)
            p.data -= 0.01 * m / (math.sqrt(v) + 1e-8)
            p.grad = 0
        return loss.data


class CompiledTraining:
    """One program per length of names, compiled once, and one Trainer for all of them."""

    def __init__(self):
        import gradwalk
        import numpy

        model = GPTOfInputs(gradwalk.Value)
        self.rows = [numpy.eye(END + 1)[tokens_of(name)].reshape(1, -1) for name in NAMES]
        self.lengths = sorted({row.size for row in self.rows})
        programs = []
        for length in self.lengths:
            inputs = [gradwalk.Value(0.0) for _ in range(length)]
            tokens = [inputs[i:i + END + 1] for i in range(0, length, END + 1)]
            programs.append(gradwalk.compile(model.loss(tokens), inputs=inputs, parameters=model.parameters()))
        self.trainer, self.steps = gradwalk.Trainer(programs, gradwalk.Adam(0.01, 0.9, 0.95, 1e-8)), 0

    def step(self):
        row = self.rows[self.steps % len(NAMES)]
        self.steps += 1
        return self.trainer.step([row if row.size == length else None for length in self.lengths])


def timed(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def main(steps):
    import gradwalk
    import reference

    trainings = [Training(reference.Value), Training(gradwalk.Value), CompiledTraining()]
    times, losses = [], []
    for _ in range(steps):
        gc.disable()
        taken = [timed(training.step) for training in trainings]
        gc.enable()
        gc.collect()
        times.append([seconds for seconds, _ in taken])
        losses.append([loss for _, loss in taken])
    totals = [sum(column) for column in zip(*times)]
    for k, name in [(1, "eager"), (2, "compiled")]:
        furthest = max(abs(row[k] - row[0]) for row in losses)
        print(f"{steps} steps {name}, collector off: {totals[0] / totals[k]:.1f} times as fast as pure Python; losses differ by {furthest:.1e} at most, "
              f"the last is {losses[-1][k]:.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
