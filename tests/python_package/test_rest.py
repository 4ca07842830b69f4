# SPDX-License-Identifier: MIT
"""What stands on Value: derivatives, losses, optimisers, compiled programs, pictures, files; docs and docstrings, run."""

import doctest
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading

import numpy
import pytest
import torch

import gradwalk
import gradwalk.sklearn
from gradwalk import Value

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_derivatives_of_functions():
    f = lambda x: x[0] ** 2 * x[1].sin()  # noqa: E731
    x = [2.0, 0.5]
    assert gradwalk.gradient(f, x) == pytest.approx([4 * math.sin(0.5), 4 * math.cos(0.5)])
    assert gradwalk.hessian(f, x)[0][1] == pytest.approx(4 * math.cos(0.5))
    assert gradwalk.jacobian(lambda x: [x[0] * x[1], x[0] + x[1]], x) == [[0.5, 2.0], [1.0, 1.0]]
    assert gradwalk.check_gradient(f, x) and gradwalk.check_gradient(f, x).error < 1e-6
    value, gradient = gradwalk.value_and_gradient(f, x)
    assert value == f([Value(v) for v in x]).data and gradient == gradwalk.gradient(f, x)


def test_an_error_in_a_function_comes_out():
    with pytest.raises(ZeroDivisionError):
        gradwalk.gradient(lambda x: x[0] * (1 / 0), [1.0])


def test_no_grad_find_nonfinite_and_recompute():
    a = Value(0.0, label="a")
    node, message = gradwalk.find_nonfinite(a.log() + 1)
    assert node._op == "log" and "a=0" in message and gradwalk.find_nonfinite(a + 1) is None
    with gradwalk.no_grad():
        assert (a + 1)._prev == set()
    assert (a + 1)._prev != set()
    b = a * a + 1
    a.data = 3
    gradwalk.recompute(b)
    assert b.data == 10


def test_losses_and_optimizers_agree_with_torch():
    numbers = [0.3, -0.7, 1.1]
    for config, rule in [(gradwalk.SGD(lr=0.1, momentum=0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
                         (gradwalk.Adam(lr=0.1), lambda p: torch.optim.Adam(p, 0.1)),
                         (gradwalk.AdamW(lr=0.1), lambda p: torch.optim.AdamW(p, 0.1))]:
        ours = [Value(n) for n in numbers]
        theirs = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
        optimizer, reference = gradwalk.Optimizer(ours, config), rule([theirs])
        for _ in range(5):
            optimizer.zero_grad()
            reference.zero_grad()
            loss = gradwalk.mean_squared_error([p.tanh() for p in ours], [1, 2, 3])
            expected = ((theirs.tanh() - torch.tensor([1.0, 2.0, 3.0])) ** 2).mean()
            assert loss.data == pytest.approx(expected.item(), rel=1e-9)
            loss.backward()
            expected.backward()
            optimizer.step()
            reference.step()
        assert [p.data for p in ours] == pytest.approx(theirs.tolist(), rel=1e-9)


def test_more_losses():
    assert gradwalk.hinge(Value(0.5), 1).data == 0.5
    assert gradwalk.binary_cross_entropy([Value(0.0)], [1]).data == pytest.approx(math.log(2))
    assert gradwalk.softmax_cross_entropy([Value(1.0), Value(1.0)], 0).data == pytest.approx(math.log(2))
    assert gradwalk.l2_penalty([Value(3.0), Value(4.0)]).data == 25
    with pytest.raises(ValueError, match="hinge"):
        gradwalk.hinge([Value(1.0)], [3])


def moons():
    random.seed(1)
    model = gradwalk.MLP(2, [8, 1])
    X, y = gradwalk.make_moons(40, 0.1, 1)
    return model, numpy.column_stack([X, 2.0 * y - 1])


def row_loss(model):
    return lambda row: (1 - row[2] * model(row[:2])).relu()


def test_compiled_is_eager():
    model, rows = moons()
    program = gradwalk.compile(row_loss(model), rows[:2], parameters=model.parameters())
    total = program.run(rows, mean=True)
    compiled = [p.grad for p in model.parameters()]
    model.zero_grad()
    loss = sum(row_loss(model)([Value(x) for x in row]) for row in rows) / len(rows)
    loss.backward()
    assert total == pytest.approx(loss.data) and compiled == pytest.approx([p.grad for p in model.parameters()])
    value, gradients = program.gradients(rows, mean=True)
    assert value == total and gradients == pytest.approx(compiled)
    assert program.evaluate(rows).shape == (40, 1) and program.evaluate(rows).mean() == pytest.approx(total)
    assert program.run(rows[::2].copy(order="F")) == pytest.approx(program.run(rows[::2]))
    assert program.describe()["layers"] and (program.inputs, program.outputs) == (3, 1)
    with pytest.raises(ValueError, match=r"rows of 3 numbers, got an array of shape \[40, 2\]"):
        program.run(rows[:, :2])


def test_a_recorded_value_is_compiled():
    x, w = Value(1.0), Value(2.0)
    program = gradwalk.compile((w * x) ** 2, inputs=[x], parameters=[w])
    assert program.run([1.0, 2.0, 3.0]) == 56 and w.grad == 56
    both = gradwalk.compile([w * x, w + x], inputs=[x], parameters=[w])
    assert both.evaluate([[1.0], [2.0]]).tolist() == [[2, 3], [4, 4]]


def test_a_branch_on_data_is_refused():
    def f(row):
        return row[0] * 2 if row[0] > 0 else row[0] * 3

    program = gradwalk.compile(f, [[1.0], [2.0]])
    assert program.evaluate([[5.0]]).tolist() == [[10.0]]
    with pytest.raises(ValueError):
        program.evaluate([[-5.0]])


def test_a_trainer_learns():
    model, rows = moons()
    trainer = gradwalk.Trainer(gradwalk.compile(row_loss(model), rows[:2], parameters=model.parameters()), gradwalk.Adam(lr=0.02),
                               lambda k: 0.02 if k < 50 else 0.01)
    losses = [trainer.step(rows, mean=True) for _ in range(100)]
    assert losses[-1] < losses[0] / 2 and trainer.steps == 100
    before = [p.data for p in model.parameters()]
    trainer.write_back()
    assert before != [p.data for p in model.parameters()]


def test_a_trainer_of_several_programs():
    """Sums of two and of three numbers, made to be 1: one parameter, a program a length."""
    w = Value(0.0)

    def program(length):
        inputs = [Value(0.0) for _ in range(length)]
        return gradwalk.compile((w * sum(inputs[1:], inputs[0]) - 1) ** 2, inputs=inputs, parameters=[w])

    programs = [program(2), program(3)]
    trainer = gradwalk.Trainer(programs, gradwalk.SGD(lr=0.01))
    assert trainer.step([[[1.0, 1.0]], [[1.0, 1.0, 2.0]]], mean=True) == 1
    trainer.write_back()
    assert w.data == pytest.approx(0.01 * (4 + 8) / 2)  # -2 times the sum of a row, in the mean
    trainer.step([None, [[1.0, 1.0, 2.0], [0.0, 0.0, 4.0]]])
    trainer.write_back()
    assert w.data == pytest.approx(0.06 - 0.01 * 2 * 2 * 4 * (4 * 0.06 - 1))
    assert programs[0].evaluate([[1.0, 1.0]]) == pytest.approx((2 * w.data - 1) ** 2)  # they are still ours
    with pytest.raises(ValueError, match="^Trainer.step: needs an array of rows, or None, for each of 2 programs, got 1; give them in the order"):
        trainer.step([[[1.0, 1.0]]])
    with pytest.raises(ValueError):
        trainer.step([[[1.0]], None])
    with pytest.raises(ValueError, match="at least one program"):
        gradwalk.Trainer([], gradwalk.SGD())
    with pytest.raises(ValueError):
        gradwalk.Trainer([programs[0], gradwalk.compile(Value(1.0) * 2)], gradwalk.SGD())
    with pytest.raises(ValueError, match="^Trainer: needs each program once, got one that is given twice; give the rows of both places to one$"):
        gradwalk.Trainer([programs[0], programs[0]], gradwalk.SGD())
    assert programs[0].evaluate([[1.0, 1.0]]) == pytest.approx((2 * w.data - 1) ** 2)


def test_programs_run_beside_other_threads():
    model, rows = moons()
    program = gradwalk.compile(row_loss(model), rows[:2], parameters=model.parameters())
    expected, many, got = program.gradients(rows)[0], numpy.tile(rows, (200, 1)), []

    def work():
        for _ in range(10):
            program.gradients(many)
            got.append((Value(2.0) * 3).data)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [6.0] * 40 and program.gradients(rows)[0] == expected


def test_pictures_and_walks():
    a = Value(2.0, label="a")
    root = a * a + 1
    assert gradwalk.draw_dot(root).startswith("digraph") and "<svg" in gradwalk.draw_svg(root)
    assert root._repr_svg_().replace(' style="max-width: 100%; height: auto"', "") == gradwalk.draw_svg(root, limit=100)
    assert gradwalk.draw_png(root)[:4] == b"\x89PNG"
    assert gradwalk.walk(root)["steps"] and gradwalk.explain(root, a)["grad"] == 4
    long = a
    for _ in range(1000):
        long = long + 1
    assert "more nodes" in long._repr_svg_()


def test_code_is_run(capsys):
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    root = (a * b + 10).tanh() / b.exp()
    root.backward()
    exec(gradwalk.to_code(root), {})
    assert capsys.readouterr().out == f"a: {a.grad}\nb: {b.grad}\n"


def test_save_and_load(tmp_path):
    model, _ = moons()
    gradwalk.save(tmp_path / "model.safetensors", model)
    numbers = [p.data for p in model.parameters()]
    for p in model.parameters():
        p.data = 0
    gradwalk.load(tmp_path / "model.safetensors", model)
    assert [p.data for p in model.parameters()] == numbers
    with pytest.raises(ValueError, match="load: needs a file of 1 parameters, got 33"):
        gradwalk.load(tmp_path / "model.safetensors", [Value(0.0)])


def test_modules_can_be_subclassed():
    class Scaled(gradwalk.Module):
        def __init__(self):
            self.inner, self.scale = gradwalk.Neuron(1, nonlin=False), Value(2.0)

        def __call__(self, x):
            return self.inner(x) * self.scale

        def parameters(self):
            return self.inner.parameters() + [self.scale]

    model = Scaled()
    model([1.0]).backward()
    assert model.inner.b.grad == 2
    model.zero_grad()
    assert all(p.grad == 0 for p in model.parameters())


@pytest.mark.parametrize("module", [gradwalk, gradwalk.nn, gradwalk.sklearn, gradwalk._core], ids=lambda m: m.__name__)
def test_docstrings(module):
    names = {**vars(gradwalk), **vars(module)}
    finder = doctest.DocTestFinder()
    objects = [module] + ([vars(module)[name] for name in dir(module) if not name.startswith("__")] if module is gradwalk._core else [])
    runner = doctest.DocTestRunner()
    for one in objects:
        for test in finder.find(one, name=getattr(one, "__name__", "?"), module=False if module is gradwalk._core else None, globs=dict(names)):
            runner.run(test)
    assert runner.failures == 0 and runner.tries > 0


TYPED = """
import gradwalk
from gradwalk import Value, nn

a: Value = Value(2.0) * 3 + 1
b: Value = (2**a).tanh().max(1.0)
number: float = gradwalk.exp(1.0)
loss: Value = gradwalk.mean_squared_error([a], [1.0])
model = nn.MLP(2, [4, 1])
program = gradwalk.compile(lambda row: row[0] * a, [[1.0], [2.0]], parameters=model.parameters())
total: float = program.run([[1.0]])
with gradwalk.no_grad():
    nodes: set[Value] = b._prev
gradwalk.save("path", model)
trainer = gradwalk.Trainer([program, program], gradwalk.RMSprop(lr=0.1), lambda step: 0.1)
trainer.step([[[1.0]], None])
best: float = gradwalk.minimize(lambda x: x[0] * x[0], [1.0], progress=lambda step, value: print(step, value)).value
found = gradwalk.root(lambda x: x.cos() - x, 1.0)
errors: list[float] = gradwalk.fit(lambda p: [p[0] - 1.0], [0.0]).standard_errors
gradwalk.show(a, rule="overwrite").save("walk.html")
"""


def mypy(program, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(program)
    folder = pathlib.Path(gradwalk.__file__).parents[1]  # where it is installed mypy finds it, and wants no path
    path = "" if folder.name == "site-packages" else str(folder)
    return subprocess.run(["/usr/bin/mypy", "--cache-dir", str(tmp_path / "cache"), "--python-executable", sys.executable, str(file)],
                          capture_output=True, text=True, env={**os.environ, "MYPYPATH": path})


def test_types_are_right(tmp_path):
    result = mypy(TYPED, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    wrong = mypy(TYPED + "wrong: str = a.data\nValue('x')\n", tmp_path)
    assert wrong.stdout.count("error:") == 2, wrong.stdout


def test_the_packages_own_types_are_right(tmp_path):
    """As its author would check it: of what is installed, a checker says nothing."""
    shutil.copytree(pathlib.Path(gradwalk.__file__).parent, tmp_path / "gradwalk")
    result = subprocess.run(["/usr/bin/mypy", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), "-p", "gradwalk"], cwd=tmp_path,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_name_has_a_type():
    stub = (pathlib.Path(gradwalk.__file__).parent / "_core.pyi").read_text()
    for name in dir(gradwalk._core):
        if not name.startswith("__"):
            assert re.search(rf"^(def|class) {name}\b|^{name}:", stub, re.MULTILINE), name
    for name in vars(Value):
        if not name.startswith("__"):
            assert re.search(rf"^    (def )?{name}\b", stub, re.MULTILINE), name


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)


def test_the_readmes_python_prints_what_it_says(capsys):
    (block,) = blocks("README.md", "python")
    exec(block, {})
    assert capsys.readouterr().out.split() == re.findall(r"# ([-\d.]+)", block) == ["24.7041", "138.8338", "645.5773"]


def test_the_documents_python_runs():
    names = {"gradwalk": gradwalk, "numpy": numpy, "Value": Value}
    for block in blocks("docs/python.md", "python"):
        exec(block, names)
    x = Value(2.0)
    names["cube"](x).backward()
    assert x.grad == 12 and names["loss"] < 1
