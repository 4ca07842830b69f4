# SPDX-License-Identifier: MIT
"""The build backend that pip calls (PEP 517): builds the package with CMake, and packs the installed files as a wheel.

It needs Python, CMake and the packages of `tools/setup python`, and no network. It keeps the build tree in
build/python-<version of Python>, so the next build compiles only what changed. GRADWALK_CMAKE_ARGS is passed to CMake.
"""

import base64
import hashlib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"


def version():
    return re.search(r"project\(gradwalk VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def summary():
    return re.search(r'^description = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]


def wheel_name():
    platform = re.sub(r"[^A-Za-z0-9]", "_", sysconfig.get_platform())
    return f"gradwalk-{version()}-{TAG}-{TAG}-{platform}.whl"


def run(*command):
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT)


def build_tree():
    """Returns the build tree. If it was copied with its sources, it refers to the old folder, so its cache is deleted."""
    tree = ROOT / "build" / f"python-{TAG}"
    cache = tree / "CMakeCache.txt"
    if cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" not in cache.read_text():
        cache.unlink()
    return tree


def install(folder):
    tree = build_tree()
    run("cmake", "-S", ROOT, "-B", tree, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGRADWALK_PYTHON=ON", "-DGRADWALK_CLI=ON", "-DGRADWALK_TESTS=OFF",
        "-DGRADWALK_INSTALL=OFF", f"-DPython_EXECUTABLE={sys.executable}", *shlex.split(os.environ.get("GRADWALK_CMAKE_ARGS", "")))
    run("cmake", "--build", tree)
    run("cmake", "--install", tree, "--component", "python", "--prefix", folder, "--strip")


def installed_files(folder):
    """Yields the name and bytes of each file. A wheel has no links, so a library gets only the name of its link."""
    files = [path for path in sorted(folder.rglob("*")) if not path.is_dir()]
    linked = {path.resolve() for path in files if path.is_symlink()}
    for path in files:
        if path.is_symlink() or path.resolve() not in linked:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def metadata():
    return (f"Metadata-Version: 2.1\nName: gradwalk\nVersion: {version()}\nSummary: {summary()}\nLicense: MIT\n"
            f"Requires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n{(ROOT / 'README.md').read_text()}")


def write(archive, name, data, mode=0o644):
    """Adds a file to the wheel, without a time stamp, so that the same sources give the same bytes. Returns its RECORD line."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    metadata_folder = f"gradwalk-{version()}.dist-info"
    metadata_files = {"METADATA": metadata(), "LICENSE": (ROOT / "LICENSE").read_text(),
                      "WHEEL": f"Wheel-Version: 1.0\nGenerator: gradwalk\nRoot-Is-Purelib: false\nTag: {wheel_name()[:-4].split('-', 2)[2]}\n"}
    with tempfile.TemporaryDirectory() as folder:
        install(Path(folder))
        with zipfile.ZipFile(Path(wheel_directory) / wheel_name(), "w") as archive:
            record = "".join(write(archive, name, data, 0o755 if ".so" in name or "/bin/" in name else 0o644) for name, data in installed_files(Path(folder)))
            record += "".join(write(archive, f"{metadata_folder}/{name}", text.encode()) for name, text in metadata_files.items())
            write(archive, f"{metadata_folder}/RECORD", f"{record}{metadata_folder}/RECORD,,\n".encode())
    return wheel_name()


def build_sdist(sdist_directory, config_settings=None):
    name = f"gradwalk-{version()}"
    run("git", "archive", f"--prefix={name}/", "-o", Path(sdist_directory).resolve() / f"{name}.tar.gz", "HEAD")
    return f"{name}.tar.gz"
