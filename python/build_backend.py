# SPDX-License-Identifier: MIT
"""Builds the wheel: configures and builds the package with CMake, and packs what it installs. pip calls it (PEP 517, PEP 660).

It needs Python, CMake, a compiler and the libraries that `tools/setup python` names, and no network. The build tree is kept in
build/python-<version of Python>, so that building again compiles only what has changed. GRADWALK_CMAKE_ARGS adds CMake options.
GRADWALK_PLATFORM replaces the platform in the wheel's tag (tools/wheels). GRADWALK_LICENCES names the folder with the licences of
the libraries, PACKAGE/copyright each, where it is not Debian's /usr/share/doc.
"""

import base64
import gzip
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
PAGE = ROOT / "web" / "dist" / "show.html"
# The libraries whose code is in the wheel, as files or compiled in, and the Debian package that has the licence of each.
LIBRARIES = {"libfmt": "libfmt-dev", "libhwy": "libhwy-dev", "libncursesw": "libncurses-dev", "libtinfo": "libncurses-dev", "cli11": "libcli11-dev",
             "eigen": "libeigen3-dev", "nlohmann-json": "nlohmann-json3-dev", "pybind11": "pybind11-dev"}

# The processors of tags, and the numbers that stand for them in programs and libraries (e_machine of ELF).
PROCESSORS = {"x86_64": 62, "aarch64": 183}

# Libraries and tools that a build needs, by their names in cmake/dependencies.txt.
NEEDS = ["C++ compiler", "CMake", "Ninja", "pkg-config", "Highway", "Eigen", "nlohmann-json", "Graphviz", "cairo", "WebP", "CLI11", "fmt", "ncurses", "Python",
         "pybind11"]


def version():
    return re.search(r"project\(gradwalk VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def project(field):
    """A field of the [project] table whose value is a string. Python 3.10 has no parser of TOML."""
    return re.search(rf'^{field} = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]


def extras():
    """The lines of [project.optional-dependencies], as (name, [requirement])."""
    table = (ROOT / "pyproject.toml").read_text().split("[project.optional-dependencies]\n")[1].split("\n\n")[0]
    return [(name, re.findall(r'"([^"]+)"', rest)) for name, rest in re.findall(r"^(\w+) = \[(.*)\]$", table, re.MULTILINE)]


def wheel_name():
    platform = os.environ.get("GRADWALK_PLATFORM") or re.sub(r"[^A-Za-z0-9]", "_", sysconfig.get_platform())
    return f"gradwalk-{version()}-{TAG}-{TAG}-{platform}.whl"


def fail(needs, found, advice):
    sys.exit(f"gradwalk: building needs {needs}, found {found}; {advice}")


def install_commands():
    """The commands that install all that a build needs, one per package manager (cmake/dependencies.txt)."""
    rows = [line.split("|") for line in (ROOT / "cmake" / "dependencies.txt").read_text().splitlines() if not line.startswith("#")]
    table = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    for column, command in enumerate(("apt-get install", "dnf install", "pacman -S", "brew install")):
        yield f"{command} {' '.join(table[need][column] for need in NEEDS)}"


def check_tools():
    """A message in place of a traceback where the machine has no compiler or no CMake."""
    compiler = os.environ.get("CXX", "c++")
    missing = [tool for tool in ("cmake", "ninja", "pkg-config", compiler) if shutil.which(tool) is None]
    if missing:
        fail("CMake, Ninja, pkg-config and a C++20 compiler", "no " + ", no ".join(missing),
             "install everything that a build needs:" + "".join(f"\n    {command}" for command in install_commands()))
    if not PAGE.exists() and os.environ.get("GRADWALK_WITHOUT_SHOW") is None:
        fail("the page of gradwalk.show()", f"no {PAGE.relative_to(ROOT)}",
             "run tools/build-lesson first, or set GRADWALK_WITHOUT_SHOW=1 to leave show() out")


def run(*command):
    """Runs a step of the build. Its output is pip's to show."""
    try:
        subprocess.run([str(part) for part in command], check=True, cwd=ROOT)
    except subprocess.CalledProcessError as error:
        sys.exit(f"gradwalk: {Path(command[0]).name} failed with status {error.returncode}; its messages are above (pip install -v shows them)")


def build_tree():
    """The build tree. One that was copied together with its sources points to the old place, so it is made anew."""
    tree = ROOT / "build" / f"python-{TAG}"
    cache = tree / "CMakeCache.txt"
    if cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" not in cache.read_text():
        cache.unlink()
    return tree


def install(folder, strip=True):
    check_tools()
    tree = build_tree()
    run("cmake", "-S", ROOT, "-B", tree, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGRADWALK_PYTHON=ON", "-DGRADWALK_CLI=ON", "-DGRADWALK_TESTS=OFF",
        "-DGRADWALK_INSTALL=OFF", "-DGRADWALK_LESSON=OFF", "-DGRADWALK_WERROR=OFF", f"-DPython_EXECUTABLE={sys.executable}",
        *shlex.split(os.environ.get("GRADWALK_CMAKE_ARGS", "")))
    run("cmake", "--build", tree)
    run("cmake", "--install", tree, "--component", "python", "--prefix", folder, *(["--strip"] if strip else []))


def installed_files(folder):
    """Name and bytes of each file. A wheel has no links: a library has the one name it is looked for by."""
    files = [path for path in sorted(folder.rglob("*")) if not path.is_dir()]
    linked = {path.resolve() for path in files if path.is_symlink()}
    for path in files:
        if path.is_symlink() or path.resolve() not in linked:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def licences():
    """The licences of the libraries in the wheel, by file name, as Debian's packages state them. Texts that a package leaves to
    /usr/share/common-licenses are added. A wheel for this machine alone, as `pip install` makes it on any system, may lack them; one
    with a platform of its own, to be given to others, may not."""
    texts, folder = {}, Path(os.environ.get("GRADWALK_LICENCES", "/usr/share/doc"))
    for library, package in LIBRARIES.items():
        file = folder / package / "copyright"
        if not file.exists() and "GRADWALK_PLATFORM" not in os.environ:
            print(f"gradwalk: no {file}: do not give this wheel to others without the licence of {library}", file=sys.stderr)
            continue
        if not file.exists():
            fail(f"the licence of {library}, to put it into the wheel", f"no {file}",
                 f"on Debian install {package}; elsewhere set GRADWALK_LICENCES to a folder that has {package}/copyright")
        text = file.read_text()
        common = sorted(set(re.findall(r"/usr/share/common-licenses/[\w.-]*\w", text)))
        texts[f"licenses/{library}.txt"] = "\n".join([text, *(Path(name).read_text() for name in common)])
    return texts


def check_libraries(names):
    """A library that is new in the package needs a licence in the wheel, too."""
    libraries = {name.split("/")[-1].split(".so")[0] for name in names if ".so" in name and name.split("/")[-1].startswith("lib")}
    unknown = sorted(name for name in libraries if not name.startswith("libgradwalk") and name not in LIBRARIES)
    if unknown:
        fail("a licence for each library of the wheel", f"none for {', '.join(unknown)}", "add it to LIBRARIES in python/build_backend.py")


def newest_glibc(data):
    """The second number of the newest glibc version that a program or library needs: 34 for GLIBC_2.34; 0 for none."""
    return max((int(number) for number in re.findall(rb"\0GLIBC_2\.(\d+)", data)), default=0)


def check_symbols(files):
    """No file may need a newer glibc or another processor than the tag names: pip would install the wheel where it cannot run."""
    tag = re.match(r"manylinux_2_(\d+)_(\w+)", os.environ.get("GRADWALK_PLATFORM", ""))
    for name, data in files if tag else ():
        processor = PROCESSORS.get(tag[2])
        if processor and data.startswith(b"\x7fELF") and int.from_bytes(data[18:20], "little") != processor:
            fail(f"programs and libraries for {tag[2]}, as the tag says", f"one for another processor, {name}",
                 "give the wheel another tag, or install the libraries for that processor")
        if newest_glibc(data) > int(tag[1]):
            fail(f"symbols of glibc 2.{tag[1]} or earlier, as the tag says", f"GLIBC_2.{newest_glibc(data)} in {name}",
                 "make the wheel on an older system, or give it a later tag")


def metadata():
    lines = ["Metadata-Version: 2.1", "Name: gradwalk", f"Version: {version()}", f"Summary: {project('description')}", "License: MIT",
             f"Requires-Python: {project('requires-python')}"]
    for name, requirements in extras():
        lines.append(f"Provides-Extra: {name}")
        lines += [f'Requires-Dist: {requirement}; extra == "{name}"' for requirement in requirements]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", (ROOT / "README.md").read_text()])


def facts():
    """The files of the wheel's .dist-info folder, by name."""
    return {"METADATA": metadata(), "LICENSE": (ROOT / "LICENSE").read_text(),
            "WHEEL": f"Wheel-Version: 1.0\nGenerator: gradwalk\nRoot-Is-Purelib: false\nTag: {wheel_name()[:-4].split('-', 2)[2]}\n",
            "entry_points.txt": "[console_scripts]\ngradwalk = gradwalk.__main__:main\n"}


def facts_folder():
    return f"gradwalk-{version()}.dist-info"


def write(archive, name, data, mode=0o644):
    """Adds a file, and returns its line of RECORD. The same sources give the same bytes: no times are written."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def write_wheel(wheel_directory, files, more=None):
    """Packs files as (name, bytes), and the texts of its .dist-info folder: facts() and more."""
    with zipfile.ZipFile(Path(wheel_directory) / wheel_name(), "w") as archive:
        record = "".join(write(archive, name, data, 0o755 if ".so" in name or "/bin/" in name else 0o644) for name, data in files)
        texts = {**facts(), **(more or {})}
        record += "".join(write(archive, f"{facts_folder()}/{name}", text.encode()) for name, text in texts.items())
        write(archive, f"{facts_folder()}/RECORD", f"{record}{facts_folder()}/RECORD,,\n".encode())
    return wheel_name()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    check_tools()
    texts = licences()  # before the build, which takes minutes
    with tempfile.TemporaryDirectory() as folder:
        install(Path(folder))
        files = list(installed_files(Path(folder)))
    check_libraries([name for name, _ in files])
    check_symbols(files)
    return write_wheel(wheel_directory, files, texts)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """The metadata alone, without building."""
    folder = Path(metadata_directory) / facts_folder()
    folder.mkdir(parents=True)
    for name, text in facts().items():
        (folder / name).write_text(text)
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """pip install -e .: the Python sources are those of the clone; the modules are built into build/editable-<version>."""
    folder = ROOT / "build" / f"editable-{TAG}"
    shutil.rmtree(folder, ignore_errors=True)
    install(folder, strip=False)
    for source in (ROOT / "python" / "gradwalk").glob("*.py*"):
        (folder / "gradwalk" / source.name).unlink()
        (folder / "gradwalk" / source.name).symlink_to(source)
    return write_wheel(wheel_directory, [("gradwalk_editable.pth", f"{folder}\n".encode())])


def source_files():
    """The paths of the project's files: those that git tracks, or, in an unpacked sdist, all but what builds have made."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z", "--cached"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return sorted(name for name in listed.split("\0") if (ROOT / name).is_file())
    made = re.compile(r"build/|PKG-INFO$|(.*/)?(node_modules|dist|__pycache__)/")
    names = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
    return sorted(name for name in names if not made.match(name))


def build_sdist(sdist_directory, config_settings=None):
    """The project's files, PKG-INFO, and the built page of show(), so that a build from the sdist needs no Node.js. The same files
    give the same bytes."""
    name = f"gradwalk-{version()}"
    files = [(path, (ROOT / path).read_bytes(), (ROOT / path).stat().st_mode & 0o100) for path in source_files()]
    files.append(("PKG-INFO", metadata().encode(), False))
    if PAGE.exists():
        files.append((PAGE.relative_to(ROOT).as_posix(), PAGE.read_bytes(), False))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data, is_program in files:
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mode = len(data), 0o755 if is_program else 0o644
            archive.addfile(entry, io.BytesIO(data))
    (Path(sdist_directory) / f"{name}.tar.gz").write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return f"{name}.tar.gz"
