#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Uses the package that pip has built from the source archive: the Python programs of the tutorial, and the command line. Drawing is
left out. `./test stage recipes` runs it in the unpacked archive, with the interpreter of a new environment.
usage: tests/sdist_test.py
"""

import wheels_test

if __name__ == "__main__":
    wheels_test.check_tutorial(has_numpy=False)
    wheels_test.check_command_line()
    wheels_test.check_show()
    print("ok")
