# SPDX-License-Identifier: MIT
"""The stubs of the package: mypy accepts right programs, refuses wrong ones, and every name has a type."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import gradwalk
from gradwalk import Value

TYPED = """
import gradwalk
from gradwalk import Value, nn

a: Value = Value(2.0) * 3 + 1
b: Value = (2**a).tanh().max(1.0)
number: float = gradwalk.exp(1.0)
loss: Value = gradwalk.mean_squared_error([a], [1.0])
model = nn.MLP(2, [4, 1], activation="tanh", seed=1)
score: Value = model([a, 1.0])
weights: dict[str, float] = model.state_dict()
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
    folder = pathlib.Path(gradwalk.__file__).parents[1]  # mypy finds an installed package itself, and refuses a path to it
    path = "" if folder.name == "site-packages" else str(folder)
    return subprocess.run(["/usr/bin/mypy", "--cache-dir", str(tmp_path / "cache"), "--python-executable", sys.executable, str(file)],
                          capture_output=True, text=True, env={**os.environ, "MYPYPATH": path})


def test_mypy_accepts_right_programs_and_refuses_wrong_ones(tmp_path):
    result = mypy(TYPED, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    wrong = mypy(TYPED + "wrong: str = a.data\nValue('x')\n", tmp_path)
    assert wrong.stdout.count("error:") == 2, wrong.stdout


def test_mypy_accepts_the_package_itself(tmp_path):
    """Checks a copy of the sources, because a type checker reports nothing about installed packages."""
    shutil.copytree(pathlib.Path(gradwalk.__file__).parent, tmp_path / "gradwalk")
    result = subprocess.run(["/usr/bin/mypy", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), "-p", "gradwalk"], cwd=tmp_path,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_name_has_a_type():
    stub = (pathlib.Path(gradwalk.__file__).parent / "_core.pyi").read_text()
    assert "__getattr__" not in stub  # it would give every wrong name a type
    for name in dir(gradwalk._core):
        if not name.startswith("__"):
            assert re.search(rf"^(def|class) {name}\b|^{name}:", stub, re.MULTILINE), name
    for name in vars(Value):
        if not name.startswith("__"):
            assert re.search(rf"^    (def )?{name}\b", stub, re.MULTILINE), name
