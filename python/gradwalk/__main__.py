# SPDX-License-Identifier: MIT
"""python -m gradwalk: runs the command line, which is part of the package. Without it, runs the gradwalk on PATH."""

import os
import shutil
import sys
from pathlib import Path
from typing import Optional


def program() -> Optional[str]:
    packaged = Path(__file__).with_name("bin") / "gradwalk"
    return str(packaged) if packaged.exists() else shutil.which("gradwalk")


def main() -> None:
    found = program()
    if found is None:
        sys.exit("python -m gradwalk: needs the command line, found none in the package and none on PATH; "
                 "run tools/setup python in gradwalk's sources, then pip install . again")
    os.execv(found, ["gradwalk", *sys.argv[1:]])


if __name__ == "__main__":
    main()
