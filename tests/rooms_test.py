#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the sources to the table of rooms in docs/architecture.md: every file is in one room, every #include follows an
arrow of the table, and no arrow leads down it, so there is no cycle. Given libgradwalk, the umbrella header must reach
all of its headers and no other, and all that they declare must be in it.
usage: tests/rooms_test.py [LIBGRADWALK]
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
STANDARD = re.compile(r"\w+")  # <vector>; C's own headers are spelled <cmath> here


class Room:
    def __init__(self, cells):
        self.name, self.files, self.library, self.includes, self.outside = (re.findall(r"`([^`]+)`", cell) or [cell.strip()] for cell in cells)
        self.name, self.library = self.name[0], self.library[0]
        self.files = [pattern for one in self.files for pattern in expanded(one)]
        self.includes, self.outside = set(self.includes), set(self.outside)

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
    return [Room(row) for row in rows if len(row) == 5]


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".hpp", ".cpp", ".h", ".def"} and path.is_file():
                yield path.relative_to(ROOT).as_posix()


def includes_of(path):
    text = (ROOT / path).read_text()
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', text, re.MULTILINE)


def resolved(path, name):
    """The file of ours an include names; src/ is on the path of src/ alone."""
    beside = (ROOT / path).parent / name
    folders = [ROOT / "include"] + ([ROOT / "src"] if path.startswith("src/") else [])
    for candidate in [beside] + [folder / name for folder in folders]:
        if candidate.is_file():
            return candidate.resolve().relative_to(ROOT).as_posix()
    return None


def check_table(rooms):
    above = set()
    for room in rooms:
        for other in sorted(room.includes - {""}):
            if other not in above:
                yield f"docs/architecture.md: the room {room.name} includes {other}, which is not above it in the table"
        above.add(room.name)


def check_outside(path, room, name):
    wanted = "POSIX" if POSIX.fullmatch(name) else name.split("/")[0]
    if not STANDARD.fullmatch(name) and wanted not in room.outside:
        yield f"{path}: includes <{name}>, and the room {room.name} has no {wanted} from outside"


def check_file(path, room, room_of):
    for bracket, name in includes_of(path):
        target = resolved(path, name)
        if target is None and bracket == "<":
            yield from check_outside(path, room, name)
        elif target is None:
            yield f'{path}: includes "{name}", which is no file it can see'
        elif target.startswith("src/") and not path.startswith("src/"):
            yield f"{path}: includes {target}, and only src/ sees src/"
        elif target not in room_of:
            yield f"{path}: includes {target}, which is in no room"
        elif room_of[target] is not room and room_of[target].name not in room.includes:
            yield f"{path}: includes {target}, and the table has no arrow from {room.name} to {room_of[target].name}"


def check_arrows(rooms, room_of):
    used = {(room.name, room_of[target].name) for path, room in room_of.items() for _, name in includes_of(path)
            if (target := resolved(path, name)) in room_of}
    for room in rooms:
        for other in sorted(room.includes - {""}):
            if (room.name, other) not in used:
                yield f"docs/architecture.md: no file of the room {room.name} includes {other}"


def reached(path):
    """Returns the headers that a public header includes, directly or not, and the header itself."""
    found, waiting = set(), [path]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [target for _, name in includes_of(one) if (target := resolved(one, name))]
    return found


def check_umbrella(room_of):
    got = reached(UMBRELLA)
    for path, room in room_of.items():
        is_ours = room.library == "libgradwalk"
        if path.startswith(HEADERS) and is_ours != (path in got):
            yield f"{UMBRELLA}: {'lacks' if is_ours else 'includes'} {path}, which is in {room.library}"


def check_library(library):
    """By name: every function and class the umbrella declares as exported has a symbol."""
    symbols = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    defined = set(re.findall(r"(\w+)(?:\[abi:cxx11\])?(?:\(|$)", symbols, re.MULTILINE)) | set(re.findall(r"(\w+)::", symbols))
    for path in sorted(reached(UMBRELLA)):
        text = re.sub(r"//.*|#.*|__attribute__\(\(.*?\)\)", "", (ROOT / path).read_text())
        for declared in re.findall(r"GRADWALK_EXPORT([^;{(]*)", text):
            name = re.findall(r"\w+|:(?!:)", declared.split(" : ")[0])[-1:]
            if name and name[0] not in defined:
                yield f"{path}: declares {name[0]}, which {Path(library).name} does not have"


def main():
    rooms = table()
    problems = [] if rooms else ["docs/architecture.md: has no table of rooms"]
    problems += check_table(rooms)
    room_of = {}
    for path in sources():
        holders = [room for room in rooms if room.holds(path)]
        if len(holders) != 1:
            problems.append(f"{path}: is in {' and '.join(room.name for room in holders) or 'no room'}; give it one in docs/architecture.md")
        room_of.update({path: room for room in holders})
    for path, room in room_of.items():
        problems += check_file(path, room, room_of)
    problems += [f"docs/architecture.md: the room {room.name} has no file {pattern}" for room in rooms for pattern in room.files
                 if not fnmatch.filter(room_of, pattern)]
    problems += check_arrows(rooms, room_of)
    problems += check_umbrella(room_of)
    if len(sys.argv) > 1:
        problems += check_library(sys.argv[1])
    print("\n".join(problems) or f"{len(room_of)} files in {len(rooms)} rooms")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
