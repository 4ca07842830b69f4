#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every ```cpp block of the documentation is one of three things:
- a program with a main(). The next ```sh block that calls g++ builds and runs it against an installed gradwalk, and it
  prints the ```text block that follows; a duration (`12 ms`) stands for any.
- a quotation: its lines stand in an example or a public header, but for comments and indentation.
- a fragment, which compiles; the names of earlier fragments of the page are visible to it.
usage: tests/programs_test.py BUILD_DIR [FILE.md...]
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUOTED = ["examples/*.?pp", "include/gradwalk/*"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Names that a page's fragments use and leave to their reader.
CONTEXT = {
    "docs/compile.md": "MLP model(2, {16, 16, 1}); std::vector<double> rows;",
    "docs/csv.md": "std::string text;",
    "docs/gpu.md": "std::vector<double> numbers; std::vector<Value> inputs, parameters, shocks; Value loss, price;",
    "docs/solve.md": "std::vector<std::vector<double>> rows;",
}
HEADERS = ["gradwalk/gradwalk.hpp", "gradwalk/compile.hpp", "gradwalk/function.hpp", "gradwalk/emit.hpp", "gradwalk/emit_cuda.hpp", "gradwalk/gpu.hpp", "gradwalk/draw.hpp", "gradwalk/film.hpp", "gradwalk/solve.hpp", "iostream"]


def run(command, folder, environment, **options):
    return subprocess.run(command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def install(build, folder):
    """Installs gradwalk below the folder, and returns an environment in which programs find it."""
    done = run(["cmake", "--install", build, "--prefix", f"{folder}/prefix"], ".", os.environ)
    if done.returncode != 0:
        sys.exit(f"programs_test: cannot install {build}\n{done.stdout}")
    package = next(pathlib.Path(folder).rglob("gradwalk.pc")).parent
    return {**os.environ, "PKG_CONFIG_PATH": str(package), "LD_LIBRARY_PATH": str(package.parent)}


def code_alone(text):
    """The lines of C++ without comments and indentation."""
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return "\n".join(["", *filter(None, lines), ""])


def without_durations(text):
    return re.sub(r"\b[0-9.]+ (ms|s)\b", r"T \1", text)


def next_block(blocks, language, part=""):
    return next((text for kind, text in blocks if kind == language and part in text), None)


def check_program(page, program, blocks, environment):
    """Compiles and runs a program; `blocks` follow it on its page. Returns an error text, or "" if its output is the page's."""
    commands, expected = next_block(blocks, "sh", "g++"), next_block(blocks, "text")
    if commands is None or expected is None:
        return f"{page}: a program without a g++ command or without its output:\n{program}"
    name = re.search(r"[\w.-]+\.cpp", commands)[0]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, name).write_text(program)
        done = run(["bash", "-euo", "pipefail", "-c", commands], folder, environment)
    if done.returncode == 0 and without_durations(done.stdout) == without_durations(expected):
        return ""
    return f"{page}: {name}\n--- it says\n{expected}--- it prints\n{done.stdout}"


def check_fragments(page, fragments, environment):
    """Returns the compiler's messages about the page's fragments. Each fragment opens a nested block, so it may reuse names."""
    lines = [line for fragment in fragments for line in fragment.splitlines()]
    includes = [f"#include <{header}>" for header in HEADERS] + [line for line in lines if line.startswith("#include")]
    bodies = ["{\n" + re.sub(r"(?m)^#include.*", "", fragment) for fragment in fragments]
    code = "\n".join([*includes, "using namespace gradwalk;", "void page() {", CONTEXT.get(page, ""), *bodies, "}" * len(bodies), "}"])
    flags = run(["pkg-config", "--cflags", "gradwalk"], ROOT, environment).stdout.split()
    done = run(["g++", "-std=c++20", "-fsyntax-only", "-Wno-unused", "-isystem/usr/include/eigen3", *flags, "-x", "c++", "-"], ROOT, environment, input=code)
    return f"{page}: the C++ fragments do not compile\n{done.stdout}" if done.returncode != 0 else ""


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: tests/programs_test.py BUILD_DIR [FILE.md...]")
    paths = [pathlib.Path(name).resolve() for name in sys.argv[2:]] or [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    quoted = [code_alone(path.read_text()) for pattern in QUOTED for path in ROOT.glob(pattern)]
    count, checks = 0, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        environment = install(sys.argv[1], folder)
        for path in paths:
            page, fragments = path.relative_to(ROOT).as_posix(), []
            blocks = BLOCK.findall(path.read_text())
            for i, (language, code) in enumerate(blocks):
                if language != "cpp":
                    continue
                count += 1
                if "int main(" in code:
                    checks.append(pool.submit(check_program, page, code, blocks[i + 1 :], environment))
                elif not any(code_alone(code) in file for file in quoted):
                    fragments.append(code)
            if fragments:
                checks.append(pool.submit(check_fragments, page, fragments, environment))
        problems = [problem for check in checks if (problem := check.result())]
    print("\n".join(problems) or f"{count} blocks of C++ in {len(paths)} pages compile, and programs print what they say")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
