# SPDX-License-Identifier: MIT
"""python -m gradwalk runs the command line."""

import os
import pathlib
import subprocess
import sys

import gradwalk

CARRIED = pathlib.Path(gradwalk.__file__).parent / "bin/gradwalk"


def run(*arguments, **more):
    return subprocess.run([sys.executable, "-m", "gradwalk", *arguments], capture_output=True, text=True, **more)


def on_path(folder, text):
    program = folder / "gradwalk"
    program.write_text(text)
    program.chmod(0o755)
    return {**os.environ, "PATH": str(folder)}


def test_the_program_of_the_package_is_run():
    assert CARRIED.exists(), "the wheel has no command line"
    done = run("eval", "a=2; b=-3; a*b + 10")
    assert (done.returncode, done.stderr) == (0, "") and "4" in done.stdout
    assert run("no such command").returncode != 0


def test_without_a_packaged_program_the_one_on_the_path_is_run(tmp_path):
    code = "import pathlib, gradwalk.__main__ as m; pathlib.Path.exists = lambda self: False; m.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=on_path(tmp_path, "#!/bin/sh\necho here\n"))
    assert done.stdout == "here\n"
    (tmp_path / "gradwalk").unlink()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 1 and done.stderr == ("python -m gradwalk: needs the command line, found none in the package and none on PATH; "
                                                    "run tools/setup python in gradwalk's sources, then pip install . again\n")
