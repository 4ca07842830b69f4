# SPDX-License-Identifier: MIT
"""The wheel: it contains every library it needs except the C and C++ libraries, and says what it is."""

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

import gradwalk

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(gradwalk.__file__).parent
SYSTEM = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|ld-linux.*)\.so\.\d+")


def is_wheel():
    try:
        importlib.metadata.version("gradwalk")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


needs_wheel = pytest.mark.skipif(not is_wheel(), reason="the package is not installed from a wheel; ./test all installs it")


def needed_libraries(file):
    text = subprocess.run(["readelf", "--dynamic", file], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", text))


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
def test_the_package_needs_no_library_but_the_system_s_own():
    files = [path for path in PACKAGE.rglob("*") if ".so" in path.name]
    files += [PACKAGE / "bin/gradwalk"] if is_wheel() else []  # ./test installs the command line with the lesson's server
    contained = {path.name for path in files}
    assert any(name.startswith("libhwy") for name in contained)
    for file in files:
        if file.name.startswith(("_draw", "libgradwalk-draw")):
            continue  # Graphviz and cairo come from the system
        foreign = {name for name in needed_libraries(file) - contained if not SYSTEM.fullmatch(name)}
        assert not foreign, f"{file.name} needs {foreign}"


def test_version_is_that_of_the_project():
    assert re.search(r"project\(gradwalk VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1] == gradwalk.__version__


def without_graphviz(code):
    """Runs code in a process where the module that draws cannot be imported, as on a machine without Graphviz."""
    block = "import sys; sys.modules['gradwalk._draw'] = None; import gradwalk\n"
    return subprocess.run([sys.executable, "-c", block + code], capture_output=True, text=True)


def test_drawing_without_graphviz_is_one_sentence():
    done = without_graphviz("gradwalk.draw_svg(gradwalk.Value(1.0))")
    assert done.stderr.splitlines()[-1].startswith("RuntimeError: draw: needs the libraries of Graphviz, cairo and WebP, got an error (")
    assert done.stderr.splitlines()[-1].endswith("); install them (Debian: libgvc6 libcairo2 libwebpmux3)")


def test_a_notebook_without_graphviz_shows_a_value_as_text():
    assert without_graphviz("print(gradwalk.Value(1.0)._repr_svg_())").stdout == "None\n"


@needs_wheel
def test_the_wheel_describes_itself():
    facts = importlib.metadata.metadata("gradwalk")
    assert facts["Version"] == gradwalk.__version__ and facts["Requires-Python"] == ">=3.10"
    assert set(facts.get_all("Provides-Extra")) == {"sklearn", "notebook"}
    files = [str(path) for path in importlib.metadata.files("gradwalk")]
    carried = {pathlib.Path(name).name.split(".so")[0] for name in files if re.search(r"/lib(?!gradwalk)\w+\.so", name)}
    licences = {path.stem: path.read_text() for path in importlib.metadata.files("gradwalk") if path.parent.name == "licenses"}
    assert carried and carried | {"cli11", "eigen", "nlohmann-json", "pybind11"} <= set(licences)
    assert "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION" in licences["libhwy"]
    page = (PACKAGE / "show.html").read_text()
    assert "Svelte Contributors" in page and "Permission is hereby granted" in page


@needs_wheel
def test_the_wheel_installs_a_gradwalk_command():
    done = subprocess.run([pathlib.Path(sys.executable).with_name("gradwalk"), "eval", "a=2; a*3"], capture_output=True, text=True)
    assert done.returncode == 0 and "6" in done.stdout, done.stderr


@needs_wheel
def test_the_wheel_has_no_lesson_and_says_where_it_is():
    done = subprocess.run([sys.executable, "-m", "gradwalk", "lesson", "--open"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == (
        "gradwalk lesson: needs the server of the lesson's page, got a build without it; "
        "run ./run lesson in a clone of gradwalk, or install its Debian package\n")


def backend(folder, code, **environment):
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import build_backend; {code}"
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})


def test_metadata_needs_no_build(tmp_path):
    done = backend(tmp_path, "print(build_backend.prepare_metadata_for_build_wheel('.'))", PATH="")
    assert done.stdout.strip() == f"gradwalk-{gradwalk.__version__}.dist-info"
    assert f"Version: {gradwalk.__version__}\n" in (tmp_path / done.stdout.strip() / "METADATA").read_text()


def test_a_machine_without_a_compiler_gets_the_packages_to_install(tmp_path):
    done = backend(tmp_path, "build_backend.build_wheel('.')", PATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("gradwalk: building needs CMake, Ninja, pkg-config and a C++20 compiler, found no cmake, no ninja, no pkg-config, no c++; "
                                  "install everything that a build needs:\n    apt-get install g++ cmake ninja-build pkg-config libhwy-dev ")
    assert [line.split()[:3] for line in done.stderr.splitlines()[2:]] == [
        ["dnf", "install", "gcc-c++"], ["pacman", "-S", "gcc"], ["brew", "install", "llvm"]]


def test_warnings_do_not_stop_the_build_of_a_user(tmp_path):
    done = backend(tmp_path, "build_backend.check_tools = lambda: None; build_backend.run = print; build_backend.install('.')")
    assert done.returncode == 0 and "-DGRADWALK_WERROR=OFF" in done.stdout.split(), done.stderr


def test_a_missing_licence_stops_the_build_of_a_wheel_for_others(tmp_path):
    done = backend(tmp_path, "build_backend.install = None; build_backend.build_wheel('.')", GRADWALK_LICENCES=str(tmp_path), GRADWALK_WITHOUT_SHOW="1",
                   GRADWALK_PLATFORM="manylinux_2_36_x86_64")
    assert done.returncode == 1 and done.stderr == (
        f"gradwalk: building needs the licence of libfmt, to put it into the wheel, found no {tmp_path}/libfmt-dev/copyright; "
        "on Debian install libfmt-dev; elsewhere set GRADWALK_LICENCES to a folder that has libfmt-dev/copyright\n")


def test_a_missing_licence_does_not_stop_an_installation(tmp_path):
    done = backend(tmp_path, "print(build_backend.licences())", GRADWALK_LICENCES=str(tmp_path))
    assert done.returncode == 0 and done.stdout == "{}\n"
    assert done.stderr.splitlines()[0] == f"gradwalk: no {tmp_path}/libfmt-dev/copyright: do not give this wheel to others without the licence of libfmt"


def test_a_tag_with_an_older_glibc_than_the_symbols_stops_the_build(tmp_path):
    code = "build_backend.check_symbols([('gradwalk/_core.so', b'\\0GLIBC_2.4\\0GLIBC_2.36\\0')])"
    assert backend(tmp_path, code, GRADWALK_PLATFORM="manylinux_2_36_x86_64").returncode == 0
    assert backend(tmp_path, code).returncode == 0
    done = backend(tmp_path, code, GRADWALK_PLATFORM="manylinux_2_35_x86_64")
    assert done.returncode == 1 and done.stderr == (
        "gradwalk: building needs symbols of glibc 2.35 or earlier, as the tag says, found GLIBC_2.36 in gradwalk/_core.so; "
        "make the wheel on an older system, or give it a later tag\n")


def test_a_library_for_another_processor_than_the_tag_stops_the_build(tmp_path):
    code = "build_backend.check_symbols([('gradwalk/libhwy.so.1', b'\\x7fELF' + bytes(14) + b'\\xb7\\0'), ('gradwalk/py.typed', b'')])"
    assert backend(tmp_path, code, GRADWALK_PLATFORM="manylinux_2_36_aarch64").returncode == 0
    assert backend(tmp_path, code).returncode == 0
    done = backend(tmp_path, code, GRADWALK_PLATFORM="manylinux_2_36_x86_64")
    assert done.returncode == 1 and done.stderr == (
        "gradwalk: building needs programs and libraries for x86_64, as the tag says, found one for another processor, gradwalk/libhwy.so.1; "
        "give the wheel another tag, or install the libraries for that processor\n")


def test_the_versions_of_symbols_are_those_of_readelf(tmp_path):
    library = next(path for path in PACKAGE.iterdir() if path.name.startswith("libgradwalk.so")).read_bytes()
    (tmp_path / "library.so").write_bytes(library)
    listed = subprocess.run(["readelf", "--version-info", "--wide", tmp_path / "library.so"], capture_output=True, text=True, check=True).stdout
    newest = max(int(number) for number in re.findall(r"Name: GLIBC_2\.(\d+)", listed))
    assert backend(tmp_path, "print(build_backend.newest_glibc(open('library.so', 'rb').read()))").stdout == f"{newest}\n"


def names_in(archive):
    with tarfile.open(archive) as opened:
        return [entry.name for entry in opened]


def test_an_sdist_has_all_sources_and_makes_the_same_sdist_without_git(tmp_path):
    done = backend(tmp_path, "print(build_backend.build_sdist('.'))")
    archive = tmp_path / f"gradwalk-{gradwalk.__version__}.tar.gz"
    assert done.stdout.strip() == archive.name, done.stderr
    folder = archive.name.removesuffix(".tar.gz")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    names = names_in(archive)
    assert {f"{folder}/{name}" for name in (*tracked, "PKG-INFO")} <= set(names)
    assert not [name for name in names if "/build/" in name or "node_modules" in name]
    first = archive.read_bytes()
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path)
    program = f"import sys; sys.path.insert(0, {str(tmp_path / folder / 'python')!r}); import build_backend; build_backend.build_sdist('.')"
    again = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": ""})
    assert again.returncode == 0 and archive.read_bytes() == first, again.stderr


def test_a_library_without_a_licence_stops_the_build(tmp_path):
    done = backend(tmp_path, "build_backend.check_libraries(['gradwalk/libgradwalk.so.0.2', 'gradwalk/libfmt.so.9', 'gradwalk/libnew.so.1'])")
    assert done.returncode == 1 and done.stderr == (
        "gradwalk: building needs a licence for each library of the wheel, found none for libnew; add it to LIBRARIES in python/build_backend.py\n")


def test_the_platform_of_the_tag_can_be_given(tmp_path):
    done = backend(tmp_path, "print(build_backend.wheel_name(), build_backend.facts()['WHEEL'])", GRADWALK_PLATFORM="manylinux_2_36_x86_64")
    name, *facts = done.stdout.split()
    assert name.endswith("-manylinux_2_36_x86_64.whl") and facts[-1] == name[:-4].split("-", 2)[2]


def test_an_editable_wheel_points_to_the_sources(tmp_path):
    code = ("import pathlib; build_backend.install = lambda folder, strip: "
            "[(folder / 'gradwalk').mkdir(parents=True), [(folder / 'gradwalk' / p.name).touch() for p in (build_backend.ROOT / 'python/gradwalk').glob('*.py*')]]; "
            f"build_backend.ROOT = pathlib.Path({str(tmp_path)!r}); build_backend.facts = dict; print(build_backend.build_editable('.'))")
    (tmp_path / "python/gradwalk").mkdir(parents=True)
    (tmp_path / "python/gradwalk/nn.py").write_text("source = 1\n")
    (tmp_path / "CMakeLists.txt").write_text((ROOT / "CMakeLists.txt").read_text())
    done = backend(tmp_path, code)
    assert done.returncode == 0, done.stderr
    archive = zipfile.ZipFile(tmp_path / done.stdout.strip())
    folder = pathlib.Path(archive.read("gradwalk_editable.pth").decode().strip())
    assert (folder / "gradwalk/nn.py").resolve() == tmp_path / "python/gradwalk/nn.py"
