# SPDX-License-Identifier: MIT
"""gradwalk walk --interactive, driven by keys in a real terminal. The terminal is tmux, whose screen the tests read."""

import shutil
import subprocess
import time
import uuid

import pytest
from cli import PROGRAM, on_terminal

DIAMOND = "a=2; b=a+1; c=3*a; d=b*c"
NEURON = "x1=2; x2=0; w1=-3; w2=1; b=6.8813735870195432; n=x1*w1 + x2*w2 + b; o=tanh(n)"


class Terminal:
    """A program in a window of tmux. After it has ended, the window stays open with its last screen."""

    def __init__(self, width, height, *arguments):
        self.socket = "gradwalk-test-" + uuid.uuid4().hex
        command = " ".join(["'" + str(part).replace("'", "'\\''") + "'" for part in (PROGRAM, *arguments)])
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
                  f"{command}; echo exited $?; cat")

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-L", self.socket, *arguments], check=True, capture_output=True, text=True).stdout

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait_for(self, text):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if text in (screen := self.screen()):
                return screen
            time.sleep(0.02)
        pytest.fail(f"no {text!r} on the screen:\n{self.screen()}")

    def close(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True)


def row(screen, name):
    """Returns the cells of a node in the table of nodes."""
    for line in screen.splitlines():
        if (words := line.lstrip("> ").split())[:1] == [name]:
            return words[1:]
    pytest.fail(f"no {name} on the screen:\n{screen}")


@pytest.fixture
def terminal():
    assert shutil.which("tmux"), "needs tmux: tools/setup test"
    opened = []

    def start(width, height, *arguments):
        opened.append(Terminal(width, height, *arguments))
        return opened[-1]

    yield start
    for window in opened:
        window.close()


def test_forward_back_undo_jump_and_quit_in_60_columns(terminal):
    window = terminal(60, 24, "walk", "--interactive", DIAMOND)
    screen = window.wait_for("step 0 of 8")
    assert row(screen, "b") == ["?"] and row(screen, "a") == ["2"]
    window.keys("Right")
    assert "b = a + 1 = 2 + 1 = 3" in window.wait_for("step 1 of 8")
    window.keys("Space", "n", "Right")
    assert "d.grad = 1, the seed" in window.wait_for("step 4 of 8")
    window.keys("Right")
    screen = window.wait_for("step 5 of 8")
    assert "b.grad += d.grad * c = 1 * 6 = 6; 0 -> 6" in screen
    assert ">  d" in screen and row(screen, "d") == ["18", "1", "visited"]
    window.keys("Left")
    window.wait_for("step 4 of 8")
    window.keys("u")
    window.wait_for("step 5 of 8")
    window.keys("g", "8", "Enter")
    assert row(window.wait_for("step 8 of 8"), "a") == ["2", "15", "visited"]
    window.keys("Right")
    window.wait_for("this is the last step")
    window.keys("u")
    window.wait_for("step 5 of 8")
    window.keys("Home")
    window.wait_for("step 0 of 8")
    window.keys("Left")
    window.wait_for("this is the beginning")
    window.keys("End")
    window.wait_for("step 8 of 8")
    window.keys("g", "9", "9", "Enter")
    window.wait_for("there are 8 steps")
    window.keys("q")
    assert "step" not in window.wait_for("exited 0")


def test_no_line_is_cut_at_60_columns(terminal):
    window = terminal(60, 24, "walk", "-i", NEURON)
    window.wait_for("step 0 of 16")
    for step in range(1, 17):
        window.keys("Right")
        screen = window.wait_for(f"step {step} of 16")
        assert all(len(line) <= 60 for line in screen.splitlines())
        assert "q quit" in screen
        assert "…" not in screen
    window.keys("g", "1", "0", "Enter")
    screen = window.wait_for("step 10 of 16")
    assert "(x1*w1).grad += (x1*w1 + x2*w2).grad * 1 = 0.5 * 1 =\n    0.5; 0 -> 0.5" in screen


def test_it_takes_the_size_of_the_terminal_not_of_the_environment(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LINES", "5")
    window = terminal(60, 24, "walk", "-i", NEURON)
    window.wait_for("step 0 of 16")
    window.keys("End")
    assert row(window.wait_for("0.707107     1  visited"), "o") == ["0.707107", "1", "visited"]
    assert all(len(line) <= 60 for line in window.screen().splitlines())


def test_the_screen_follows_the_size_of_the_window(terminal):
    window = terminal(60, 8, "walk", "-i", NEURON)
    window.wait_for("step 0 of 16")
    window.keys("End")
    assert ">  x1" in window.wait_for("step 16 of 16")
    window.tmux("resize-window", "-x", "100", "-y", "30")
    assert row(window.wait_for("0.707107"), "o") == ["0.707107", "1", "visited"]
    window.tmux("resize-window", "-x", "20", "-y", "5")
    window.wait_for("step 16 of 16")
    window.keys("Escape")
    window.wait_for("exited 0")


def test_a_broken_rule_is_marked_at_its_first_error(terminal):
    window = terminal(70, 24, "walk", "-i", "--broken", "overwrite", "a=3; a*a")
    window.wait_for("broken: overwrite")
    window.keys("g", "3", "Enter")
    window.wait_for("the first error: a had 3, which the next deposit replaced:")


def test_control_c_leaves_the_terminal_as_it_was(terminal):
    window = terminal(60, 24, "walk", "-i", DIAMOND)
    window.wait_for("step 0 of 8")
    window.keys("C-c")
    assert "exited" in window.wait_for("exited")
    window.keys("still here", "Enter")
    window.wait_for("still here")


def test_a_dumb_terminal_is_refused():
    text, status = on_terminal("walk", "--interactive", DIAMOND, kind="dumb")
    assert status == 1
    assert text.strip() == (
        "walk --interactive: needs a terminal that can move its cursor, got TERM=dumb; omit --interactive to print the steps")
