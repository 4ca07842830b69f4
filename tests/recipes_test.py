#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the recipes in packaging/ and .github/ with the project: the version, the CMake options, the copied files, and the
packages that cmake/dependencies.txt lists for each package manager.
usage: tests/recipes_test.py
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The libraries of each component, and those of the command line without the server of its lesson.
COMPONENTS = {"compile": ["Highway"], "draw": ["Graphviz", "cairo", "WebP"], "solve": ["Eigen"], "train": ["nlohmann-json"]}
COMMAND_LINE = [*(library for libraries in COMPONENTS.values() for library in libraries), "CLI11", "fmt", "ncurses"]
TOOLS = ["CMake", "Ninja", "pkg-config"]
PYTHON = [*COMMAND_LINE, *TOOLS, "C++ compiler", "Python", "pybind11"]

problems = []


def check(recipe, what, expected, found):
    if expected != found:
        problems.append(f"{recipe}: {what}: needs {expected}, got {found}")


def text_of(path):
    return (ROOT / path).read_text()


def dependencies():
    """The packages of each library by package manager: table["Highway"]["apt"] is ["libhwy-dev"]."""
    lines = text_of("cmake/dependencies.txt").splitlines()
    head = next(line for line in lines if re.match(r"# name +\|", line))
    managers = [cell.strip() for cell in head.split("|")[1:]]
    table = {}
    for line in lines:
        if line.startswith("#"):
            continue
        name, *cells = (cell.strip() for cell in line.split("|"))
        check("cmake/dependencies.txt", f"number of columns of {name}", len(managers), len(cells))
        table[name] = {manager: [package for package in cell.split() if package != "-"] for manager, cell in zip(managers, cells)}
    return table


TABLE = dependencies()


def packages(manager, libraries):
    return sorted(package for library in libraries for package in TABLE[library][manager])


def cmake_options():
    """The names of all options that CMake files of the project define."""
    text = "\n".join(text_of(path) for path in ("CMakeLists.txt", "tests/CMakeLists.txt"))
    return {"BUILD_SHARED_LIBS", *re.findall(r"(?:option|set)\((GRADWALK_\w+) ", text)}


def check_options(recipe):
    used = set(re.findall(r"(?<!_)GRADWALK_[A-Z_]+\b", text_of(recipe)))
    if not used:
        problems.append(f"{recipe}: needs CMake options, got none")
    check(recipe, "options that CMake does not have", set(), used - cmake_options())


def check_vcpkg(version):
    recipe = "packaging/vcpkg/gradwalk/vcpkg.json"
    port = json.loads(text_of(recipe))
    check(recipe, "version", version, port["version"])
    check(recipe, "features", sorted(COMPONENTS), sorted(port["features"]))
    for feature, libraries in COMPONENTS.items():
        names = [package for package in port["features"][feature]["dependencies"] if isinstance(package, str)]
        check(recipe, f"packages of {feature}", packages("vcpkg", libraries), sorted(names))
        option = re.search(rf"^    {feature} (\w+)", text_of("packaging/vcpkg/gradwalk/portfile.cmake"), re.MULTILINE)
        check(recipe, f"option of {feature}", f"GRADWALK_{feature.upper()}", option and option[1])
    check_options("packaging/vcpkg/gradwalk/portfile.cmake")


def check_conan():
    recipe = "packaging/conan/conanfile.py"
    text = text_of(recipe)
    found = re.findall(r'if self\.options\.(\w+):\n            self\.requires\("(\w+)/', text)
    expected = [(name, package) for name, libraries in COMPONENTS.items() for library in libraries for package in TABLE[library]["conan"] if name != "draw"]
    check(recipe, "components and their packages", sorted(expected), sorted(found))
    patterns = re.search(r"for pattern in \((.*)\):", text)[1]
    # All files that the build of the library reads.
    needed = {"CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"}
    check(recipe, "exported files", needed, set(re.findall(r'"([^"]+)"', patterns)))
    for pattern in needed:
        check(recipe, f"files of {pattern}", True, any(ROOT.glob(pattern)))
    check(recipe, "options that CMake does not have", set(), set(re.findall(r'"(GRADWALK_[A-Z]+)"', text)) - cmake_options())


def check_homebrew(version):
    recipe = "packaging/homebrew/gradwalk.rb"
    text = text_of(recipe)
    check(recipe, "version", [version], re.findall(r'^  version "(.*)"', text, re.MULTILINE))
    check(recipe, "version of the archive", [version], re.findall(r"gradwalk-([0-9.]+)\.tar\.gz", text))
    check(recipe, "packages", packages("brew", COMMAND_LINE + TOOLS), sorted(re.findall(r'depends_on "([^"]+)"', text)))
    check_options(recipe)


def check_conda(version):
    recipe = "packaging/conda/meta.yaml"
    text = text_of(recipe)
    check(recipe, "version", [version], re.findall(r'^{% set version = "(.*)" %}', text, re.MULTILINE))
    lists = {name: re.findall(r"^    - ([\w-]+)$", body, re.MULTILINE) for name, body in re.findall(r"^  (build|host):\n((?:    .*\n)+)", text, re.MULTILINE)}
    check(recipe, "packages to build with", packages("conda", TOOLS), sorted(lists["build"]))
    check(recipe, "libraries", packages("conda", COMMAND_LINE), sorted(lists["host"]))
    check_options(recipe)


def check_workflow():
    recipe = ".github/workflows/build.yml"
    text = text_of(recipe)
    installed = re.search(r"brew install (.*)", text)[1].split()
    expected = packages("brew", [*COMMAND_LINE, "Ninja", "pkg-config", "GoogleTest"])  # the machine has CMake and a compiler
    check(recipe, "packages of macOS", expected, sorted(installed))
    check_options(recipe)
    for path in re.findall(r"\btests/\w+\.cpp", text):
        check(recipe, f"the file {path} exists", True, (ROOT / path).exists())


def check_setup():
    text = text_of("tools/setup").split("declare -A purpose")[0]
    groups = {name: names.split() for name, names in re.findall(r'^  \[([\w-]+)\]="([^"]*)"', text, re.MULTILINE)}

    def expanded(group):
        return {name for entry in groups[group] for name in (expanded(entry[1:]) if entry.startswith("@") else [entry.split("/")[0]])}

    for group, libraries in (("cli", [*COMMAND_LINE, *TOOLS, "C++ compiler", "cpp-httplib"]), ("python", PYTHON), ("test", [*PYTHON, "MPI", "GoogleTest", "zlib", "OpenBLAS"])):
        check("tools/setup", f"packages that the group {group} lacks", [], sorted(set(packages("apt", libraries)) - expanded(group)))


def check_backend():
    needs = re.search(r"^NEEDS = \[(.*?)\]", text_of("python/build_backend.py"), re.MULTILINE | re.DOTALL)[1]
    check("python/build_backend.py", "libraries and tools", sorted(PYTHON), sorted(re.findall(r'"([^"]+)"', needs)))


def check_table():
    page = text_of("docs/install.md")
    for recipe in ("packaging/vcpkg", "packaging/conan", "packaging/homebrew", "packaging/conda", ".github/workflows/build.yml"):
        if not re.search(rf"^\|.*(?:\(\.\./|`){re.escape(recipe)}.*\|.*(?:\b20\d\d-\d\d-\d\d\b|\buntried\b)", page, re.MULTILINE):
            problems.append(f"docs/install.md: needs a row for {recipe} with the date of its trial or the word untried, got none")


def main():
    version = re.search(r"project\(gradwalk VERSION ([0-9.]+)", text_of("CMakeLists.txt"))[1]
    check_vcpkg(version)
    check_conan()
    check_homebrew(version)
    check_conda(version)
    check_workflow()
    check_setup()
    check_backend()
    check_table()
    print("\n".join(problems) or "the recipes agree with the project")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
