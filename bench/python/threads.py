#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures what threads cost on a busy machine: the elapsed time of training with several threads, divided by that with one.
usage: bench/python/threads.py [SECONDS]
Needs gradwalk installed, or PYTHONPATH set to python/ of a build. Two processes per core keep the machine busy. For each
size, programs with 1, 2 and 4 threads take turns, and their times are added up. SECONDS (60) is the time for all sizes.
"""

import multiprocessing
import os
import sys
import time

import numpy

import gradwalk

SIZES = [(16, 100, 200), (16, 2000, 20), (32, 5000, 4)]  # neurons per hidden layer, rows, steps per turn


def spin():
    while True:
        pass


def trainer(hidden, rows, threads):
    model = gradwalk.MLP(2, [hidden, hidden, 1], seed=1)
    program = gradwalk.compile(lambda row: (1 - row[2] * model(row[:2])).relu(), rows[:2], parameters=model.parameters(), threads=threads)
    return gradwalk.Trainer(program, gradwalk.Adam(lr=0.001))


def measure(hidden, count, steps, seconds):
    X, y = gradwalk.make_moons(count)
    rows = numpy.column_stack([X, 2.0 * y - 1])
    trainers = {threads: trainer(hidden, rows, threads) for threads in (1, 2, 4)}
    times = dict.fromkeys(trainers, 0.0)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for threads, training in trainers.items():
            start = time.perf_counter()
            for _ in range(steps):
                training.step(rows)
            times[threads] += time.perf_counter() - start
    return [times[threads] / times[1] for threads in (2, 4)]


def main(seconds):
    busy = [multiprocessing.Process(target=spin, daemon=True) for _ in range(2 * os.cpu_count())]
    for process in busy:
        process.start()
    for hidden, count, steps in SIZES:
        two, four = measure(hidden, count, steps, seconds / len(SIZES))
        print(f"MLP 2-{hidden}-{hidden}-1, {count:5} rows: 2 threads take {two:.2f} of the time of 1, 4 threads {four:.2f}")
    for process in busy:
        process.kill()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
