#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every public name of the C++ headers and of the Python package is documented. site/undocumented.txt lists the names that
are not yet: a name that is missing there fails, and so does a name that is there though it is documented. Needs Doxygen.
usage: tests/reference_test.py            the test
       tests/reference_test.py --list     where the undocumented names are
       tests/reference_test.py --update   writes the list anew
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "site/undocumented.txt"
sys.path.insert(0, str(ROOT / "site"))

import reference_cpp  # noqa: E402
import reference_python  # noqa: E402


def count(entities):
    return sum(1 + count(one.members) for one in entities)


def main(arguments):
    reference_cpp.run_doxygen()
    headers, modules = reference_cpp.read(), reference_python.read()
    names = sum(map(count, headers.values())), sum(count(entities) for _, entities in modules.values())
    if names[0] < 500 or names[1] < 100:
        return f"reference_test: found only {names[0]} names in C++ and {names[1]} in Python; Doxygen or the stubs were not understood"
    cpp = reference_cpp.gaps(headers)
    gaps = {f"{file}: {name}" for file, _, name in cpp} | set(reference_python.gaps(modules))
    if arguments == ["--list"]:
        places = [f"include/gradwalk/{file}:{line}: {name}" for file, line, name in cpp]
        print("\n".join(places + reference_python.gaps(modules)))
        return 0
    if arguments == ["--update"]:
        LIST.write_text("".join(f"{gap}\n" for gap in sorted(gaps)))
        print(f"{len(gaps)} names of {sum(names)} are not documented; {LIST.relative_to(ROOT)} lists them")
        return 0
    known = set(LIST.read_text().split("\n")) - {""}
    problems = [f"{gap} has no comment; write one" for gap in sorted(gaps - known)]
    problems += [f"{gap} is documented, or gone; run tests/reference_test.py --update" for gap in sorted(known - gaps)]
    print("\n".join(problems) or f"{sum(names)} public names, {len(known)} of them known to be undocumented")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
