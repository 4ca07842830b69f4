#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gradwalk as a GradBench tool: reads messages from standard input and answers each with a line of JSON on standard output.

usage: tools/gradbench/tool.py [eager|compiled|by_hand|codipack] [FOLDER]

FOLDER has one folder per mode, each with one program per eval. Its default is build/release/tools/gradbench/bin.
    gradbench run --eval "gradbench repo eval gmm" --tool "tools/gradbench/tool.py compiled"
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def evaluate(program, function, given):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(given, file)
        file.flush()
        run = subprocess.run([program, file.name, function], capture_output=True, text=True)
    if run.returncode != 0:
        return {"success": False, "status": run.returncode, "error": run.stderr}
    output, *timings = map(json.loads, run.stdout.splitlines())
    return {"success": True, "output": output, "timings": timings}


def respond(message, programs, name):
    match message["kind"]:
        case "start":
            return {"tool": name}
        case "define":
            is_there = (programs / message["module"]).is_file()
            return {"success": is_there} | ({} if is_there else {"error": f"{name}: has no {message['module']}"})
        case "evaluate":
            return evaluate(programs / message["module"], message["function"], message["input"])
    return {}


def main(way="eager", folder=ROOT / "build/release/tools/gradbench/bin"):
    programs = pathlib.Path(folder) / way
    if not programs.is_dir():
        sys.exit(f"tool.py: needs programs in {programs}; build them with -DGRADWALK_GRADBENCH=ON")
    for line in sys.stdin:
        message = json.loads(line)
        print(json.dumps({"id": message["id"]} | respond(message, programs, f"gradwalk-{way}")), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
