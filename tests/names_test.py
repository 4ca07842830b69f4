#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every file of the project that a source, a script or a document names exists. A name is a word that ends like a source
(`tape.hpp`, `tests/{fit,root}_test.cpp`) or a path below one of our folders (`tools/setup`). It may leave out leading
folders; links_test.py looks at links. CHANGELOG.md may name what is gone, except for the newest version.
usage: tests/names_test.py
"""

import fnmatch
import os
import re
import sys
from pathlib import Path

from modules_test import ROOT, expanded

FOLDERS = "bench|cli|cmake|docs|examples|include|packaging|python|site|src|tests|tools|web"
ENDINGS = "cmake|cpp|def|hpp|ipynb|md|py|pyi|sh|svelte|ts"
PART = r"(?:[\w*+.-]|\{[\w*]+(?:,[\w*]+)+\})"
NAME = re.compile(rf"(?<![\w./@$<{{}},-])(?:\.{{1,2}}/)*((?:{PART}+/)*{PART}+\.(?:{ENDINGS})\b(?![\w/(])|(?:{FOLDERS})/(?:{PART}|/)*[\w*}}])")
SKIPPED_FOLDERS = {".cache", ".git", ".hypothesis", ".pytest_cache", "__pycache__", "build", "dist", "node_modules"}
ALLOWED = [
    "dist", "dist/*", "node_modules", "node_modules/*", "value.py", "gradwalk.wasm", "digits.wasm", "web/src/digits/digits.bin", "digits.bin", "_core.pyi", "gradwalk_code", "gradwalk_oracle", "libgradwalk-mpi.so*", "CPackConfig.cmake", "gradwalkConfigVersion.cmake", ".d.ts", "package.d.ts",  # built
    "first.cpp", "product.*", "total.*", "twice.*", "fast.*", "neuron.py", "train.py", "moons.py",  # a user's own
    "script.py", "demo.ipynb", "FILE.md",
    "program.py", "commands.sh", "a/b.hpp", "a/c.hpp",  # written by tests, or examples in them
    "codi.hpp",  # CoDiPack
    "conan.tools.cmake", "self.cpp",  # names of Conan's
    "index.md", "ops.md", "reference/*.md", "source/*", "examples.md", "add-to-lesson.md", "site/assets", "module.def",  # pages of the site, and code
]


def project_files():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        yield from ((Path(folder) / name).relative_to(ROOT) for name in names)


def endings_of(path):
    """The path, and what is left of it without leading folders."""
    return ["/".join(path.parts[i:]) for i in range(len(path.parts))]


def text_of(path):
    data = (ROOT / path).read_bytes()
    text = "" if b"\0" in data or path.name == "package-lock.json" else data.decode(errors="ignore")
    return "".join(re.split(r"(?m)^(?=## )", text)[:2]) if path.name == "CHANGELOG.md" else text


def main():
    files = sorted(project_files())
    # Without its ending, a source stands for what is made of it: examples/07_gpt, gradwalk.pc of gradwalk.pc.in.
    known = {name for file in files for path in (file, file.with_suffix(""), *file.parents) for name in endings_of(path)}

    def is_known(name):
        if "*" in name and fnmatch.filter(known, name):
            return True
        return name in known or any(fnmatch.filter(endings_of(Path(name)), pattern) for pattern in ALLOWED)

    problems = []
    for file in files:
        for number, line in enumerate(text_of(file).splitlines(), 1):
            names = [one for name in NAME.findall(line) for one in expanded(name) if not is_known(one)]
            problems += [f"{file}:{number}: names {name}, which is no file of the project" for name in names]
    print("\n".join(problems) or f"{len(files)} files name no file of the project that is not there")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
