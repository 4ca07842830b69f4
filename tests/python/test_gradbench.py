# SPDX-License-Identifier: MIT
"""Compares the programs of tools/gradbench with GradBench's documented definitions, rewritten here in NumPy, and with
central differences of them."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
from scipy.special import multigammaln

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/gradbench"))
import inputs  # noqa: E402

BIN = pathlib.Path(os.environ.get("GRADWALK_GRADBENCH", ROOT / "build/release/tools/gradbench/smoke"))
WAYS = ["eager", "compiled", "by_hand"]
NOT_BY_HAND = {"ba", "ht"}


# ---- the definitions of the evals: each takes its parameters as one array ----


def softmax_free_lse(x):
    return numpy.log(numpy.sum(numpy.exp(x)))


def gmm(given):
    d, k, n, m, gamma = (given[name] for name in ("d", "k", "n", "m", "gamma"))
    points, below = numpy.array(given["x"]), d * (d - 1) // 2

    def objective(parameters):
        a, mu, q, l = numpy.split(parameters, numpy.cumsum([k, k * d, k * d]))
        mu, q, l = mu.reshape(k, d), q.reshape(k, d), l.reshape(k, below)
        precisions = []
        for j in range(k):
            factor = numpy.diag(numpy.exp(q[j]))
            factor.T[numpy.triu_indices(d, 1)] = l[j]  # column by column below the diagonal
            precisions.append(factor.T @ factor)
        weights = numpy.exp(a) / numpy.sum(numpy.exp(a))
        total = 0.0
        for x in points:
            densities = [numpy.exp(-0.5 * (x - mu[j]) @ precisions[j] @ (x - mu[j])) * numpy.sqrt(numpy.linalg.det(precisions[j]))
                         for j in range(k)]
            total += numpy.log(weights @ densities) - 0.5 * d * numpy.log(2 * numpy.pi)
        freedom = d + m + 1
        for precision in precisions:
            total += 0.5 * m * numpy.linalg.slogdet(precision)[1] - 0.5 * gamma**2 * numpy.trace(precision)
            total -= 0.5 * freedom * d * numpy.log(2) - freedom * d * numpy.log(gamma) + multigammaln(0.5 * freedom, d)
        return total

    start = numpy.concatenate([given["alpha"], numpy.ravel(given["mu"]), numpy.ravel(given["q"]), numpy.ravel(given["l"])])
    return objective, start


def gmm_gradient(output):
    return numpy.concatenate([numpy.ravel(output[name]) for name in ("alpha", "mu", "q", "l")])


def lstm(given):
    main, extra = numpy.array(given["main_params"]), numpy.array(given["extra_params"])
    sequence, width = numpy.array(given["sequence"]), len(given["sequence"][0])

    def sigmoid(x):
        return 1 / (1 + numpy.exp(-x))

    def objective(parameters):
        layers = parameters[: main.size].reshape(-1, 2, 4, width)
        w_in, w_out, b_out = parameters[main.size :].reshape(3, width)
        h, c = (numpy.array(given["state"])[first::2] for first in (0, 1))
        h, c, total = list(h), list(c), 0.0
        for now, wanted in zip(sequence[:-1], sequence[1:]):
            x = now * w_in
            for i, (w, b) in enumerate(layers):
                forget, out = sigmoid(x * w[0] + b[0]), sigmoid(x * w[2] + b[2])
                c[i] = c[i] * forget + sigmoid(h[i] * w[1] + b[1]) * numpy.tanh(h[i] * w[3] + b[3])
                x = h[i] = out * numpy.tanh(c[i])
            y = x * w_out + b_out
            total += numpy.sum(wanted * (y - numpy.log(2 + numpy.sum(numpy.exp(y)))))
        return -total / ((len(sequence) - 1) * width)

    return objective, numpy.concatenate([main.ravel(), extra.ravel()])


def ode_path(given, x):
    def slope(y):
        return x * numpy.concatenate([[1.0], y[:-1]])

    y, h = numpy.zeros(len(x)), 2 / given["s"]
    for _ in range(given["s"]):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))
    return y


def llsq(given):
    t = numpy.linspace(-1, 1, given["n"])
    return lambda x: 0.5 * numpy.sum((numpy.sign(t) - numpy.polynomial.polynomial.polyval(t, x)) ** 2), numpy.array(given["x"])


def kmeans_cost(given, centres):
    points = numpy.array(given["points"])
    return numpy.sum(numpy.min(numpy.sum((points[:, None] - centres[None]) ** 2, axis=2), axis=1))


def rotation(axis):
    """Returns the rotation as the exponential of the cross-product matrix, computed as a series."""
    x, y, z = axis
    cross = numpy.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    result = term = numpy.eye(3)
    for i in range(1, 40):
        term = term @ cross / i
        result = result + term
    return result


def ba_errors(given, parameters):
    """Returns the errors of one observation for a camera, a point and a weight."""
    camera, point, weight = parameters[:11], parameters[11:14], parameters[14]
    seen = rotation(camera[:3]) @ (point - camera[3:6])
    flat = seen[:2] / seen[2]
    square = flat @ flat
    projected = flat * (1 + camera[9] * square + camera[10] * square**2) * camera[6] + camera[7:9]
    return numpy.append(weight * (projected - given["feat"]), 1 - weight**2)


def ht_errors(given, theta, us):
    model, data = given["data"]["model"], given["data"]
    angles = numpy.zeros((len(model["parents"]), 2))
    bones = [2 + 4 * finger + joint for finger in range(5) for joint in range(3)]
    bent = iter(theta[6:])
    for bone in bones:
        angles[bone, 0] = next(bent)
        if (bone - 2) % 4 == 0:
            angles[bone, 1] = next(bent)
    frames = []
    for bone, parent in enumerate(model["parents"]):
        turn = numpy.eye(4)
        turn[:3, :3] = rotation([0, 0, angles[bone, 1]]) @ rotation([angles[bone, 0], 0, 0])
        frame = numpy.array(model["base_relatives"][bone]) @ turn
        frames.append(frame if parent < 0 else frames[parent] @ frame)
    posed = numpy.array(frames) @ numpy.array(model["inverse_base_absolutes"])
    rest = numpy.array(model["base_positions"])
    places = numpy.einsum("vk,kij,vj->vi", numpy.array(model["weights"]), posed, rest)[:, :3]
    places = places @ rotation(theta[:3]).T + theta[3:6]
    matches = data["correspondences"]
    if len(us) == 0:
        on_hand = places[matches]
    else:
        corners = places[numpy.array(model["triangles"])[matches]]
        on_hand = numpy.einsum("pc,pci->pi", numpy.column_stack([us, 1 - us.sum(axis=1)]), corners)
    return (numpy.array(data["points"]) - on_hand).ravel()


# ---- running the programs ----


def run(way, name, function, given, folder):
    path = folder / f"{name}.json"
    path.write_text(json.dumps(given))
    done = subprocess.run([BIN / way / name, path, function], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    output, *timings = map(json.loads, done.stdout.splitlines())
    assert [timing["name"] for timing in timings] == ["prepare"] + ["evaluate"] * (len(timings) - 1)
    assert all(isinstance(timing["nanoseconds"], int) and timing["nanoseconds"] >= 0 for timing in timings)
    return output, timings


def differences(function, at, step=1e-5):
    """Returns the Jacobian by central differences, one row per output."""
    columns = []
    for i in range(len(at)):
        moved = numpy.array(at, dtype=float)
        moved[i] = at[i] + step
        above = numpy.atleast_1d(function(moved))
        moved[i] = at[i] - step
        columns.append((above - numpy.atleast_1d(function(moved))) / (2 * step))
    return numpy.array(columns).T


def close(got, wanted, tolerance):
    numpy.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def vector(given):
    return numpy.array(given["x"])


SCALARS = {
    "hello": (lambda given: (lambda x: x[0] ** 2, numpy.array([given])), "square", "double", {}),
    "gmm": (gmm, "objective", "jacobian", {"m": 2, "gamma": 0.8}),
    "lstm": (lstm, "objective", "jacobian", {}),
    "llsq": (llsq, "primal", "gradient", {}),
    "lse": (lambda given: (softmax_free_lse, vector(given)), "primal", "gradient", {}),
    "det": (lambda given: (lambda a: numpy.linalg.det(a.reshape(given["ell"], -1)), numpy.array(given["A"])), "primal", "gradient", {}),
}


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("way", WAYS)
def test_scalar_functions_and_their_gradients_equal_numpy(way, name, tmp_path):
    definition, primal, gradient, sizes = SCALARS[name]
    for seed in range(2):
        given = inputs.make(name, seed, **sizes)
        function, at = definition(given)
        close(run(way, name, primal, given, tmp_path)[0], function(at), 1e-11)
        output = run(way, name, gradient, given, tmp_path)[0]
        close(gmm_gradient(output) if name == "gmm" else numpy.atleast_1d(output), differences(function, at)[0], 1e-7)


@pytest.mark.parametrize("way", WAYS)
def test_ode_equals_numpy(way, tmp_path):
    given = inputs.make("ode")
    close(run(way, "ode", "primal", given, tmp_path)[0], ode_path(given, vector(given)), 1e-12)
    close(run(way, "ode", "gradient", given, tmp_path)[0], differences(lambda x: ode_path(given, x)[-1], vector(given))[0], 1e-8)


@pytest.mark.parametrize("way", WAYS)
def test_kmeans_equals_numpy(way, tmp_path):
    given = inputs.make("kmeans")
    centres = numpy.array(given["centroids"])
    close(run(way, "kmeans", "cost", given, tmp_path)[0], kmeans_cost(given, centres), 1e-12)

    def cost(x):
        return kmeans_cost(given, x.reshape(centres.shape))

    gradient = differences(cost, centres.ravel())[0]
    diagonal = numpy.diag(differences(lambda x: differences(cost, x, 1e-3)[0], centres.ravel(), 1e-3))
    close(run(way, "kmeans", "dir", given, tmp_path)[0], (gradient / diagonal).reshape(centres.shape), 1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_ba_equals_numpy(way, tmp_path):
    given = inputs.make("ba")
    n, m, p = given["n"], given["m"], given["p"]
    at = numpy.array([*given["cam"], *given["x"], given["w"]])
    errors = ba_errors(given, at)
    output = run(way, "ba", "objective", given, tmp_path)[0]
    assert (output["reproj_error"]["repeated"], output["w_err"]["repeated"]) == (p, p)
    close([*output["reproj_error"]["elements"], output["w_err"]["element"]], errors, 1e-9)
    if way == "by_hand":
        return
    output = run(way, "ba", "jacobian", given, tmp_path)[0]
    rows = differences(lambda x: ba_errors(given, x), at)
    close(output["vals"], [*rows[0], *rows[1], rows[2][14]], 1e-5)
    columns = [*range(11), *range(11 * n, 11 * n + 3), 11 * n + 3 * m]
    assert output["cols"] == [*columns, *columns, 11 * n + 3 * m + p - 1]
    starts = [15 * i for i in range(2 * p)] + [30 * p + i for i in range(p + 1)]
    assert output["rows"] == [*starts[:30], starts[-1]]


@pytest.mark.parametrize("complicated", [0, 1])
@pytest.mark.parametrize("way", WAYS)
def test_ht_equals_numpy(way, complicated, tmp_path):
    given = inputs.make("ht", complicated=complicated)
    theta, us = numpy.array(given["theta"]), numpy.array(given["us"]).reshape(-1, 2)
    close(run(way, "ht", "objective", given, tmp_path)[0], ht_errors(given, theta, us), 1e-11)
    if way == "by_hand":
        return
    wanted = differences(lambda x: ht_errors(given, x, us), theta)
    if complicated:
        of_us = [differences(lambda step: ht_errors(given, theta, us + step * numpy.eye(2)[i]), [0.0]) for i in range(2)]
        wanted = numpy.hstack([*of_us, wanted])
    close(run(way, "ht", "jacobian", given, tmp_path)[0], wanted, 1e-7)


# ---- the protocol ----


def test_runs_at_least_the_requested_number_of_times(tmp_path):
    assert len(run("eager", "lse", "gradient", inputs.make("lse", min_runs=3), tmp_path)[1]) == 1 + 3
    assert len(run("compiled", "lse", "gradient", inputs.make("lse", min_seconds=0.01), tmp_path)[1]) > 1 + 3


@pytest.mark.parametrize("arguments, says", [
    ([], "needs FILE FUNCTION"),
    (["nowhere.json", "gradient"], "needs a file of JSON, got nowhere.json, which cannot be read"),
    (["nowhere.json", "hessian"], "needs a function of gradient, primal, got hessian"),
])
def test_refuses_missing_arguments_files_and_functions(arguments, says):
    program = BIN / "eager/lse"
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{program}: {says}\n")


def test_names_a_missing_field(tmp_path):
    path = tmp_path / "input.json"
    path.write_text('{"y": [1, 2]}')
    done = subprocess.run([BIN / "eager/lse", path, "gradient"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "the input's field x:" in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_answers_a_session(way):
    messages = [
        {"id": 0, "kind": "start", "eval": "hello"},
        {"id": 1, "kind": "define", "module": "hello"},
        {"id": 2, "kind": "evaluate", "module": "hello", "function": "double", "input": 1.5},
        {"id": 3, "kind": "analysis", "of": 2, "valid": True},
        {"id": 4, "kind": "define", "module": "saddle"},
        {"id": 5, "kind": "evaluate", "module": "hello", "function": "triple", "input": 1.5},
    ]
    text = "".join(json.dumps(message) + "\n" for message in messages)
    session = subprocess.run([ROOT / "tools/gradbench/tool.py", way, BIN], input=text, capture_output=True, text=True)
    assert (session.returncode, session.stderr) == (0, "")
    answers = [json.loads(line) for line in session.stdout.splitlines()]
    timings = answers[2].pop("timings")
    error = answers[5].pop("error")
    assert answers == [
        {"id": 0, "tool": f"gradwalk-{way}"}, {"id": 1, "success": True}, {"id": 2, "success": True, "output": 3.0}, {"id": 3},
        {"id": 4, "success": False, "error": f"gradwalk-{way}: has no saddle"}, {"id": 5, "success": False, "status": 1},
    ]
    assert [timing["name"] for timing in timings] == ["prepare", "evaluate"]
    assert error.endswith("needs a function of double, square, got triple\n")
