#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Uses an installed wheel on a bare machine: the Python programs of the tutorial, the command line, show() and drawing.
tests/wheels_test.sh runs it. It needs nothing but Python, so it asserts instead of using pytest.
usage: tests/wheels_test.py bare          without NumPy and Graphviz
       tests/wheels_test.py full          with both
       tests/wheels_test.py libraries     prints the Debian packages that the message about drawing names
"""

import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
DRAWING = re.compile(r"draw: needs the libraries of Graphviz, cairo and WebP, got an error \(.*\); install them \(Debian: ([\w ]+)\)")


def run(*command):
    """Runs a command in an empty folder, and returns (status, output, messages)."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def python(code):
    return run(sys.executable, "-c", code)


def without_durations(text):
    return re.sub(r"\b[0-9.]+ ms\b", "T ms", text)


def check_tutorial(has_numpy):
    page = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs/tutorial.md").read_text(), re.MULTILINE | re.DOTALL)
    programs = [(code, next(text for kind, text in page[i:] if kind == "text")) for i, (kind, code) in enumerate(page) if kind == "python"]
    assert len(programs) == 6, f"the tutorial has {len(programs)} programs in Python; change this test"
    for code, expected in programs:
        status, output, messages = python(code)
        if "make_moons" in code and not has_numpy:
            assert status == 1 and messages.splitlines()[-1] == "ModuleNotFoundError: No module named 'numpy'", messages
        else:
            assert status == 0 and without_durations(output) == without_durations(expected), f"{code}\n{output}{messages}"


def check_command_line():
    """The command gradwalk is beside the interpreter, or in /usr/local/bin if the interpreter is Debian's."""
    outputs = []
    for command in (["gradwalk"], [sys.executable, "-m", "gradwalk"]):
        status, output, messages = run(*command, "train", "moons", "--quiet")
        assert status == 0 and re.search(r"^train +100 .* 100\.0%$", output, re.MULTILINE), output + messages
        outputs.append(output)
    assert outputs[0] == outputs[1]
    status, output, _ = run("gradwalk", "--version")
    assert status == 0 and importlib.metadata.version("gradwalk") in output, output


def check_show():
    status, output, messages = python("import gradwalk\na = gradwalk.Value(2.0, label='apples')\nprint(len(gradwalk.show(a * a).page))\n"
                                      "gradwalk.show(a * a).save('walk.html')\nprint('apples' in open('walk.html').read())")
    assert status == 0, messages
    size, has_graph = output.split()
    assert int(size) > 100_000 and has_graph == "True", output


def drawing_error():
    """The last line of the traceback of draw_svg(), which is the sentence of the error."""
    status, _, messages = python("import gradwalk\ngradwalk.draw_svg(gradwalk.Value(1.0))")
    found = DRAWING.search(messages.splitlines()[-1])
    assert status == 1 and found, messages
    return found


def check_no_drawing():
    drawing_error()
    assert python("import gradwalk\nprint(gradwalk.Value(1.0)._repr_svg_())")[:2] == (0, "None\n")
    status, output, messages = run("gradwalk", "draw", "a=2; a*a", "-o", "graph.svg")
    assert status == 1 and output == "" and len(messages.splitlines()) == 1 and "needs" in messages, messages


def check_drawing():
    status, output, messages = python("import gradwalk\nprint(gradwalk.draw_svg(gradwalk.Value(1.0))[:5])")
    assert status == 0 and output == "<svg \n", messages
    assert run("gradwalk", "draw", "a=2; a*a", "-o", "graph.svg")[0] == 0


def check_licences():
    """Every library that is not gradwalk's has its licence in the wheel, complete."""
    files = importlib.metadata.files("gradwalk")
    libraries = {path.name.split(".so")[0] for path in files if ".so" in path.name and not path.name.startswith(("_", "libgradwalk"))}
    licences = {path.name[: -len(".txt")]: path.read_text() for path in files if path.parent.name == "licenses"}
    assert libraries and libraries <= set(licences), (libraries, set(licences))
    assert all(len(text) > 900 for text in licences.values()) and "TERMS AND CONDITIONS" in licences["libhwy"]
    page = next(path for path in files if path.name == "show.html").read_text()
    assert "Svelte Contributors" in page and "Permission is hereby granted" in page


def main():
    if sys.argv[1:] == ["libraries"]:
        print("\n".join(drawing_error()[1].split()))
    elif sys.argv[1:] in (["bare"], ["full"]):
        is_full = sys.argv[1] == "full"
        check_tutorial(is_full)
        check_command_line()
        check_show()
        check_drawing() if is_full else check_no_drawing()
        check_licences()
        print("the tutorial, the command line, show(), drawing and the licences are as they should be")
    else:
        sys.exit("usage: tests/wheels_test.py bare|full|libraries")


if __name__ == "__main__":
    main()
