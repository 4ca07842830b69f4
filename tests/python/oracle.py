# SPDX-License-Identifier: MIT
"""Sends commands to the oracle program (tests/oracle/main.cpp), which runs them in the engine, and reads its answers.

The environment variable GRADWALK_ORACLE names the program. Its folder also has gradwalk_oracle_native, which is built
for this processor, and gradwalk_training (tests/oracle/training.cpp).
"""
import functools
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("GRADWALK_ORACLE", str(ROOT / "build/release/tests/oracle/gradwalk_oracle"))
NATIVE = PROGRAM + "_native"
TRAINING = str(pathlib.Path(PROGRAM).with_name("gradwalk_training"))


def ask(commands, program=PROGRAM):
    """Returns the answer lines to a list of commands, which run in one process."""
    done = subprocess.run([program], input="\n".join(commands) + "\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{program} ended with {done.returncode}: {done.stderr}"
    return done.stdout.splitlines()


def numbers(line):
    return [float.fromhex(word) for word in line.split()]


@functools.cache
def op_table():
    """Returns a dict from the name of each unary or binary op to its number of operands."""
    rows = [line.split("\t") for line in ask(["table"])]
    return {row[0]: int(row[1]) for row in rows if int(row[1]) < 3}


def evaluate(op, points):
    """Returns [value, derivative by each operand] for each point, which is a tuple of operands."""
    lines = ask([f"op {op} " + " ".join(float(x).hex() for x in point) for point in points])
    return [numbers(line) for line in lines]
