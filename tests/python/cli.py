# SPDX-License-Identifier: MIT
"""Runs the program under test: that of the release build, or the one that the environment variable GRADWALK names."""

import fcntl
import json
import os
import pathlib
import pty
import select
import struct
import subprocess
import termios
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("GRADWALK", ROOT / "build/release/gradwalk"))

# The presets of the lesson, each with its expression, values and gradients.
PRESETS = [
    ("a=2; b=-3; c=10; e=a+b; f=e*c", {"e": -1, "f": -10}, {"a": 10, "b": 10, "c": -1, "e": 10}),
    (
        "x1=2; x2=0; w1=-3; w2=1; b=6.8813735870195432; n=x1*w1 + x2*w2 + b; o=tanh(n)",
        {"n": 0.8813735870195432, "o": 0.7071067811865476},
        {"x1": -1.5, "w1": 1.0, "x2": 0.5, "w2": 0, "n": 0.5},
    ),
    ("a=3; b=a*a", {"b": 9}, {"a": 6}),
    ("a=3; b=a+a", {"b": 6}, {"a": 2}),
    ("a=-2; b=3; d=a*b; e=a+b; f=d*e", {"f": -6}, {"a": -3, "b": -8}),
    ("a=2; b=3; c=a·b; d=c+a; e=d²", {"e": 64}, {"d": 16, "c": 16, "a": 64, "b": 32}),
    ("a=2; b=a+1; c=3*a; d=b*c", {"d": 18}, {"a": 15}),
    ("x=2; a=x*x; b=a+1; c=3*a; d=b*c", {"d": 60}, {"x": 108}),
]


def gradwalk(*arguments, stdin="", timeout=60, **options):
    return subprocess.run(
        [PROGRAM, *arguments], input=stdin, capture_output=True, text=True, timeout=timeout, **options
    )


def gradwalk_json(*arguments):
    run = gradwalk(*arguments)
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


def wait_for_file(name, seconds=60):
    deadline = time.monotonic() + seconds
    while not os.path.exists(name):
        assert time.monotonic() < deadline, f"{name} did not appear within {seconds} seconds"
        time.sleep(0.002)


def on_terminal(*arguments, columns=80, stop=None, kind="xterm"):
    """Runs the program on a new terminal, and returns its output and exit status. Sends Ctrl-C once it has printed `stop`."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = kind
        os.execv(PROGRAM, ["gradwalk", *arguments])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    text, deadline = b"", time.monotonic() + 30
    while time.monotonic() < deadline:
        if stop and stop in text:
            os.write(terminal, b"\x03")
            stop = None
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                part = os.read(terminal, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
    os.close(terminal)
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
