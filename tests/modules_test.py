#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks the sources against the table of modules in docs/architecture.md: every file is in one module, the table allows
every #include, and a module includes only modules that come before it, so there is no cycle. Given libgradwalk, the
umbrella header must include all of its headers and no other, and the library must define all functions that they declare.
usage: tests/modules_test.py [LIBGRADWALK]
"""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["include", "src", "cli", "web/engine", "python/src", "bench", "examples", "tools/gradbench"]
HEADERS = "include/gradwalk/"
UMBRELLA = HEADERS + "gradwalk.hpp"
POSIX = re.compile(r"(sys|netinet|arpa)/\w+\.h|(dlfcn|fcntl|langinfo|poll|pthread|signal|spawn|unistd)\.h")
# Headers that take long to compile. The umbrella header, which every program includes, does without them.
SLOW = {"algorithm", "atomic", "chrono", "filesystem", "fstream", "iostream", "map", "mutex", "random", "ranges", "regex", "set", "sstream", "thread",
        "unordered_map", "unordered_set"}
STANDARD = re.compile(r"\w+")  # <vector>; C's own headers are spelled <cmath> here


class Module:
    def __init__(self, cells):
        self.name, self.files, self.library, self.includes, self.external = (re.findall(r"`([^`]+)`", cell) or [cell.strip()] for cell in cells)
        self.name, self.library = self.name[0], self.library[0]
        self.files = [pattern for one in self.files for pattern in expanded(one)]
        self.includes, self.external = set(self.includes), set(self.external)

    def holds(self, path):
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self.files)


def expanded(pattern):
    """a/{b,c}.hpp as a/b.hpp and a/c.hpp."""
    braces = re.fullmatch(r"(.*)\{(.*)\}(.*)", pattern)
    if not braces:
        return [pattern]
    before, choices, after = braces.groups()
    return [before + choice + after for choice in choices.split(",")]


def table():
    lines = (ROOT / "docs/architecture.md").read_text().splitlines()
    rows = [line.strip().strip("|").split("|") for line in lines if line.startswith("| `")]
    return [Module(row) for row in rows if len(row) == 5]


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".hpp", ".cpp", ".h", ".def"} and path.is_file():
                yield path.relative_to(ROOT).as_posix()


def includes_of(path):
    text = (ROOT / path).read_text()
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', text, re.MULTILINE)


def resolved(path, name):
    """Returns the file of ours that an include names. Only files of src/ have src/ on their include path."""
    beside = (ROOT / path).parent / name
    folders = [ROOT / "include"] + ([ROOT / "src"] if path.startswith("src/") else [])
    for candidate in [beside] + [folder / name for folder in folders]:
        if candidate.is_file():
            return candidate.resolve().relative_to(ROOT).as_posix()
    return None


def check_table(modules):
    before = set()
    for module in modules:
        for other in sorted(module.includes - {""}):
            if other not in before:
                yield f"docs/architecture.md: the module {module.name} includes {other}, which does not come before it in the table"
        before.add(module.name)


def check_external(path, module, name):
    wanted = "POSIX" if POSIX.fullmatch(name) else name.split("/")[0]
    if not STANDARD.fullmatch(name) and wanted not in module.external:
        yield f"{path}: includes <{name}>, and the table does not list {wanted} as an external header of the module {module.name}"


def check_file(path, module, module_of):
    for bracket, name in includes_of(path):
        target = resolved(path, name)
        if target is None and bracket == "<":
            yield from check_external(path, module, name)
        elif target is None:
            yield f'{path}: includes "{name}", which does not exist on its include path'
        elif target.startswith("src/") and not path.startswith("src/"):
            yield f"{path}: includes {target}, and only src/ may include headers of src/"
        elif target not in module_of:
            yield f"{path}: includes {target}, which is in no module"
        elif module_of[target] is not module and module_of[target].name not in module.includes:
            yield f"{path}: includes {target}, and the table does not allow {module.name} to include {module_of[target].name}"


def check_allowed_includes(modules, module_of):
    used = {(module.name, module_of[target].name) for path, module in module_of.items() for _, name in includes_of(path)
            if (target := resolved(path, name)) in module_of}
    for module in modules:
        for other in sorted(module.includes - {""}):
            if (module.name, other) not in used:
                yield f"docs/architecture.md: no file of the module {module.name} includes {other}"


def reached(path):
    """Returns the headers that a public header includes, directly or not, and the header itself."""
    found, waiting = set(), [path]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [target for _, name in includes_of(one) if (target := resolved(one, name))]
    return found


def check_umbrella(module_of):
    got = reached(UMBRELLA)
    for path, module in module_of.items():
        is_ours = module.library == "libgradwalk"
        if path.startswith(HEADERS) and is_ours != (path in got):
            yield f"{UMBRELLA}: {'lacks' if is_ours else 'includes'} {path}, which is in {module.library}"
    for path in sorted(got):
        for _, name in includes_of(path):
            if name in SLOW:
                yield f"{path}: includes <{name}>, which is slow to compile, and every program includes this header"


def check_library(library):
    """By name: every function and class the umbrella declares as exported has a symbol."""
    symbols = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    # Without a virtual function that one source file defines, each library has its own type of an exception, and a plugin's
    # catch may miss it (libc++ compares addresses).
    for error in re.findall(r" typeinfo for (gradwalk::\w*Error)$", symbols, re.MULTILINE):
        if f" T {error}::~" not in symbols:
            yield f"{error}: has no virtual function that is defined in a source file, so plugins may not catch it; define its destructor there"
    defined = set(re.findall(r"(\w+)(?:\[abi:cxx11\])?(?:\(|$)", symbols, re.MULTILINE)) | set(re.findall(r"(\w+)::", symbols))
    for path in sorted(reached(UMBRELLA)):
        text = re.sub(r"//.*|#.*|__attribute__\(\(.*?\)\)", "", (ROOT / path).read_text())
        for declared in re.findall(r"GRADWALK_EXPORT([^;{(]*)", text):
            name = re.findall(r"\w+|:(?!:)", declared.split(" : ")[0])[-1:]
            if name and name[0] not in defined:
                yield f"{path}: declares {name[0]}, which {Path(library).name} does not have"


def main():
    modules = table()
    problems = [] if modules else ["docs/architecture.md: has no table of modules"]
    problems += check_table(modules)
    module_of = {}
    for path in sources():
        holders = [module for module in modules if module.holds(path)]
        if len(holders) != 1:
            problems.append(f"{path}: is in {' and '.join(module.name for module in holders) or 'no module'}; give it one in docs/architecture.md")
        module_of.update({path: module for module in holders})
    for path, module in module_of.items():
        problems += check_file(path, module, module_of)
    problems += [f"docs/architecture.md: the module {module.name} has no file {pattern}" for module in modules for pattern in module.files
                 if not fnmatch.filter(module_of, pattern)]
    problems += check_allowed_includes(modules, module_of)
    problems += check_umbrella(module_of)
    if len(sys.argv) > 1:
        problems += check_library(sys.argv[1])
    print("\n".join(problems) or f"{len(module_of)} files in {len(modules)} modules")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
