# SPDX-License-Identifier: MIT
"""gradwalk draw: valid pictures, complete files, and helpful errors."""

import os
import pathlib
import struct
import subprocess
import xml.etree.ElementTree as xml

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("GRADWALK", ROOT / "build/release/gradwalk")
NEURON = "x1=2; x2=0; w1=-3; w2=1; b=6.8813735870195432; n=x1*w1+x2*w2+b; o=tanh(n)"
SVG = "{http://www.w3.org/2000/svg}"


def draw(*arguments, **environment):
    return subprocess.run(
        [PROGRAM, "draw", *map(str, arguments)], capture_output=True, timeout=60, env={**os.environ, **environment}
    )


def texts(svg):
    return [element.text.replace("\N{NO-BREAK SPACE}", " ") for element in xml.fromstring(svg).iter(SVG + "text")]


def test_svg_is_xml_with_a_title_and_every_number(tmp_path):
    path = tmp_path / "a neuron.svg"
    run = draw(NEURON, "-o", path)
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.decode() == f"wrote {path} (10 nodes)\n"
    root = xml.fromstring(path.read_bytes())
    assert root.tag == SVG + "svg"
    assert root[0].tag == SVG + "title" and root[0].text == "o = 0.7071"
    seen = texts(path.read_bytes())
    for text in ["x1", "data 2.0000", "grad -1.5000", "x1*w1", "tanh", "o", "data 0.7071", "grad 1.0000", "data 6.8814"]:
        assert text in seen
    assert os.listdir(tmp_path) == ["a neuron.svg"]


def test_png_has_a_signature_and_a_size(tmp_path):
    path = tmp_path / "graph.PNG"
    assert draw(NEURON, "-o", path).returncode == 0
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert 1000 < width < 4000 and 100 < height < 1000
    assert data.endswith(b"IEND\xaeB`\x82")


def test_dot_is_the_default_on_standard_output(tmp_path):
    path = tmp_path / "graph.dot"
    assert draw(NEURON, "-o", path).returncode == 0
    text = path.read_bytes()
    assert text.startswith(b"digraph gradwalk {\n") and text.endswith(b"}\n")
    assert draw(NEURON).stdout == text
    assert draw(NEURON, "-o", "-").stdout == text


def test_format_overrides_the_file_name(tmp_path):
    path = tmp_path / "graph.txt"
    assert draw(NEURON, "-o", path, "--format", "svg").returncode == 0
    assert path.read_bytes().startswith(b"<svg")
    assert draw(NEURON, "--format", "png").stdout.startswith(b"\x89PNG")


def test_options_change_the_drawing():
    assert b"rankdir=TB" in draw("a=1", "--direction", "down").stdout
    assert b"data 0.33<" in draw("a=1/3; a", "--decimals", "2").stdout
    assert b"<** 2>" in draw("a=3; a**2", "--hide-constants").stdout
    assert b"3 of 5 nodes are not drawn" in draw("a=3; b=a+1; b*2", "--limit", "2").stdout


def test_an_older_file_is_replaced(tmp_path):
    path = tmp_path / "graph.svg"
    path.write_text("older")
    assert draw("a=1", "-o", path).returncode == 0
    assert "data 1.0000" in texts(path.read_bytes())


@pytest.mark.parametrize("name", ["graph", "graph.jpg", ".svg"])
def test_an_unknown_extension_is_refused_with_the_three_known_ones(name, tmp_path):
    run = draw("a=1", "-o", tmp_path / name)
    assert run.returncode == 1
    assert run.stderr.decode() == (
        f"draw: needs a file that ends in .svg, .png or .dot, got '{tmp_path / name}'; rename it, or give --format\n"
    )


def test_an_unwritable_file_is_an_error_and_leaves_nothing_behind(tmp_path):
    missing = tmp_path / "no folder" / "graph.svg"
    run = draw("a=1", "-o", missing)
    assert run.returncode == 1
    assert str(missing) in run.stderr.decode() and "No such file or directory" in run.stderr.decode()
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    run = draw("a=1", "-o", folder)
    assert run.returncode == 1
    assert str(folder) in run.stderr.decode()
    assert os.listdir(tmp_path) == ["folder.svg"] and os.listdir(folder) == []


def test_an_invalid_expression_keeps_the_older_file(tmp_path):
    path = tmp_path / "graph.svg"
    path.write_text("older")
    assert draw("a=", "-o", path).returncode == 1
    assert path.read_text() == "older"
    assert os.listdir(tmp_path) == ["graph.svg"]


def test_an_invalid_command_line_exits_2():
    assert draw("a=1", "--direction", "sideways").returncode == 2
    assert draw("a=1", "--format", "jpg").returncode == 2
    assert draw("a=1", "--decimals", "18").returncode == 2
    assert draw("a=1", "--limit", "0").returncode == 2
    help = draw("--help")
    assert help.returncode == 0 and b"Examples:" in help.stdout


def test_full_standard_output_is_an_error():
    with open("/dev/full", "w") as full:
        run = subprocess.run([PROGRAM, "draw", NEURON], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert run.returncode == 1


def test_missing_graphviz_plugins_are_an_error_with_advice(tmp_path):
    run = draw("a=1", "--format", "svg", GVBINDIR=str(tmp_path))
    assert run.returncode == 1
    assert run.stderr.decode().startswith("draw_svg: needs Graphviz's dot layout, got ")
    assert "libgvc6" in run.stderr.decode()


def test_a_graph_of_5000_nodes_is_drawn_in_seconds(tmp_path):
    source = tmp_path / "chain.txt"
    source.write_text("a=1.5\nv0=a*1\n" + "".join(f"v{i + 1}=v{i}+a\n" for i in range(5000)))
    path = tmp_path / "chain.svg"
    run = draw("--file", source, "-o", path)
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.decode() == f"wrote {path} (400 of 5003 nodes; --limit draws more)\n"
    assert "4,603 of 5,003 nodes are not drawn; a higher limit draws more" in texts(path.read_bytes())
