# SPDX-License-Identifier: MIT
"""gradwalk completion: bash, zsh and fish complete commands, options, values and files."""

import os
import shutil
import subprocess

import pytest
from cli import PROGRAM, gradwalk


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flowers.csv").write_text("")
    for shell in "bash", "zsh", "fish":
        done = gradwalk("completion", shell)
        assert (done.returncode, done.stderr) == (0, "")
        (tmp_path / ("_gradwalk" if shell == "zsh" else f"gradwalk.{shell}")).write_text(done.stdout)
    return tmp_path


def by_bash(line):
    words = line.split(" ")
    script = (
        f"source gradwalk.bash; COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; "
        'COMPREPLY=(); _gradwalk; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True).stdout.split()


def by_fish(line):
    script = f"source gradwalk.fish; complete -C {line!r}"
    environment = {**os.environ, "HOME": os.getcwd(), "XDG_CONFIG_HOME": os.getcwd()}
    out = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True, env=environment)
    return [line.split("\t")[0] for line in out.stdout.splitlines()]


# Starts zsh in a pseudo-terminal, presses Tab, and prints the matches instead of a menu.
ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT=; unsetopt zle_bracketed_paste 2>/dev/null; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D'
zpty -w shell 'bindkey "^I" complete-word; zstyle ":completion:*" list-grouped false; compadd () {
  local -a found; builtin compadd -O found "$@"; if (( ! ${@[(I)-O]} && ! ${@[(I)-A]} && ! ${@[(I)-D]} )) print -r -- "MATCH:"${^found} }'
zpty -w shell 'echo REA""DY'
while zpty -r shell text; do [[ $text == *READY* ]] && break; done
zpty -w -n shell $'%s\\t'
while zpty -r -t shell text || (( ++waits < 30 )); do print -r -- "$text"; text=; sleep 0.1; done
zpty -d shell
"""


def by_zsh(line):
    out = subprocess.run(["zsh", "-f", "-c", ZSH % line], capture_output=True, text=True, timeout=60).stdout
    return [part.split()[0] for part in out.replace("\r", "").split("MATCH:")[1:] if part.split()]


SHELLS = [by_bash, by_fish]


@pytest.mark.parametrize("complete", SHELLS)
def test_a_shell_completes_commands_options_values_and_files(complete):
    assert {"train", "walk", "lesson"} <= set(complete("gradwalk "))
    assert "train" in complete("gradwalk tr") and "walk" not in complete("gradwalk tr")
    assert {"--loss", "--label"} <= set(complete("gradwalk train --l"))
    assert {"hinge", "softmax"} <= set(complete("gradwalk train --loss "))
    assert {"moons", "flowers.csv"} <= set(complete("gradwalk train "))
    assert "flowers.csv" in complete("gradwalk eval --file ")
    assert {"bash", "zsh", "fish"} <= set(complete("gradwalk completion "))


def test_the_script_has_every_command_and_option():
    text = open("gradwalk.bash").read()
    commands = [line.split()[0] for line in gradwalk("--help").stdout.split("Commands:\n")[1].splitlines() if line.startswith("  ")]
    assert len(commands) > 8
    for command in commands:
        assert f"    {command})\n" in text
        for line in gradwalk(command, "--help").stdout.splitlines():
            if line.startswith("  -"):
                for name in line.split()[0].split(","):
                    assert name in text, (command, name)


def test_zsh_completes_commands_and_values():
    assert shutil.which("zsh") and PROGRAM.exists()
    done = subprocess.run(["zsh", "-f", "-n", "_gradwalk"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found = by_zsh("gradwalk tr")
    assert "train" in found, found
    assert {"hinge", "softmax"} <= set(by_zsh("gradwalk train --loss "))
