#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every public name of the C++ headers and of the Python package is documented. Prints those that are not, each
with its place. Needs Doxygen.
usage: tests/reference_test.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "site"))

import reference_cpp  # noqa: E402
import reference_python  # noqa: E402


def count(entities):
    return sum(1 + count(one.members) for one in entities)


def main():
    reference_cpp.run_doxygen()
    headers, modules = reference_cpp.read(), reference_python.read()
    names = sum(map(count, headers.values())), sum(count(entities) for _, entities in modules.values())
    if names[0] < 500 or names[1] < 100:
        return f"reference_test: found only {names[0]} names in C++ and {names[1]} in Python; Doxygen or the stubs were not understood"
    gaps = [f"include/gradwalk/{file}:{line}: {name}" for file, line, name in reference_cpp.gaps(headers)] + reference_python.gaps(modules)
    print("\n".join(f"{gap} has no comment; write one" for gap in gaps) or f"{sum(names)} public names, all documented")
    return bool(gaps)


if __name__ == "__main__":
    sys.exit(main())
