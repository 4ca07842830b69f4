# SPDX-License-Identifier: MIT
"""Makes random inputs for GradBench's evals, in the documented format, from a seed.

usage: tools/gradbench/inputs.py EVAL [NAME=NUMBER ...] > FILE

The names are the sizes of the eval (see the functions below), seed, and the eval's own min_runs and min_seconds.
"""

import inspect
import json
import sys

import numpy


def hello(random):
    return float(random.uniform(-2, 2))


def gmm(random, d=3, k=4, n=20, m=0, gamma=1.0):
    return {
        "d": d, "k": k, "n": n, "m": m, "gamma": gamma,
        "x": random.normal(size=(n, d)).tolist(),
        "alpha": random.normal(size=k).tolist(),
        "mu": random.uniform(size=(k, d)).tolist(),
        "q": (0.5 * random.normal(size=(k, d))).tolist(),
        "l": (0.5 * random.normal(size=(k, d * (d - 1) // 2))).tolist(),
    }


def lstm(random, l=2, c=6, b=4):
    return {
        "main_params": random.uniform(size=(2 * l, 4 * b)).tolist(),
        "extra_params": random.uniform(size=(3, b)).tolist(),
        "state": random.uniform(size=(2 * l, b)).tolist(),
        "sequence": random.integers(0, 2, size=(c, b)).astype(float).tolist(),
    }


def ode(random, n=6, s=5):
    return {"x": random.uniform(size=n).tolist(), "s": s}


def llsq(random, m=5, n=16):
    return {"x": random.uniform(size=m).tolist(), "n": n}


def lse(random, n=12):
    return {"x": random.uniform(-3, 3, size=n).tolist()}


def det(random, ell=4):
    return {"A": random.uniform(size=ell * ell).tolist(), "ell": ell}


def kmeans(random, k=3, n=30, d=2):
    points = random.uniform(size=(n, d))
    return {"points": points.tolist(), "centroids": points[-k:].tolist()}


def ba(random, n=3, m=5, p=12):
    return {
        "n": n, "m": m, "p": p,
        "cam": [*random.uniform(-0.3, 0.3, 3), *random.uniform(-1, 1, 2), -5.0, 500.0, *random.uniform(200, 300, 2), 0.01, -0.002],
        "x": random.uniform(-1, 1, 3).tolist(),
        "w": float(random.uniform(0.5, 1)),
        "feat": random.uniform(200, 300, 2).tolist(),
    }


def ht(random, vertices=40, points=8, complicated=1):
    """Returns a synthetic hand: a wrist, a palm and five chains of four bones, with a skin around them."""
    parents = [-1, 0]
    for finger in range(5):
        parents += [1, 2 + 4 * finger, 3 + 4 * finger, 4 + 4 * finger]
    base, absolute = [], []
    for parent in parents:
        frame = numpy.eye(4)
        frame[:3, :3] = numpy.linalg.qr(random.normal(size=(3, 3)))[0]
        frame[:3, 3] = random.uniform(-0.5, 0.5, 3)
        base.append(frame)
        absolute.append(frame if parent < 0 else absolute[parent] @ frame)
    weights = numpy.zeros((vertices, len(parents)))
    for row in weights:
        bones = random.choice(len(parents), size=3, replace=False)
        row[bones] = random.dirichlet(numpy.ones(3))
    triangles = [random.choice(vertices, size=3, replace=False).tolist() for _ in range(2 * vertices)]
    return {
        "theta": random.uniform(-0.4, 0.4, 26).tolist(),
        "us": random.uniform(0, 0.5, size=(points, 2)).tolist() if complicated else [],
        "data": {
            "correspondences": random.integers(0, 2 * vertices if complicated else vertices, size=points).tolist(),
            "points": random.uniform(-1, 1, size=(points, 3)).tolist(),
            "model": {
                "bone_count": len(parents),
                "bone_names": [f"bone{i}" for i in range(len(parents))],
                "parents": parents,
                "base_relatives": [frame.tolist() for frame in base],
                "inverse_base_absolutes": [numpy.linalg.inv(frame).tolist() for frame in absolute],
                "base_positions": numpy.hstack([random.uniform(-1, 1, size=(vertices, 3)), numpy.ones((vertices, 1))]).tolist(),
                "weights": weights.tolist(),
                "triangles": triangles,
                "is_mirrored": False,
            },
        },
    }


EVALS = {function.__name__: function for function in (hello, gmm, lstm, ode, llsq, lse, det, kmeans, ba, ht)}


def make(name, seed=0, min_runs=None, min_seconds=None, **sizes):
    made = EVALS[name](numpy.random.default_rng(seed), **sizes)
    runs = {"min_runs": min_runs, "min_seconds": min_seconds}
    if isinstance(made, dict):
        made |= {key: number for key, number in runs.items() if number is not None}
    return made


def main(arguments):
    if not arguments or arguments[0] not in EVALS:
        sys.exit(f"inputs.py: needs an eval of {', '.join(EVALS)}")
    numbers = {key: json.loads(value) for key, value in (argument.split("=") for argument in arguments[1:])}
    unknown = set(numbers) - set(inspect.signature(EVALS[arguments[0]]).parameters) - {"seed", "min_runs", "min_seconds"}
    if unknown:
        sys.exit(f"inputs.py: {arguments[0]} has no {', '.join(sorted(unknown))}")
    json.dump(make(arguments[0], **numbers), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
