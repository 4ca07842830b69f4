# SPDX-License-Identifier: MIT
"""Graphs as programs: the PyTorch code runs, the C++ code compiles, and both print the gradients of the walk."""

import contextlib
import io
import os
import subprocess

import pytest
from cli import PRESETS, ROOT, gradwalk_json

BUILD = ROOT / "build/release"
# All operations of the table, with and without constants, and names that are keywords of a language.
EVERYTHING = (
    "a=0.4; b=-0.7; lambda=1.3; new=a-b/lambda; c=max(a,b)*min(b,0.2)+atan2(a,-2); d=exp(a)+log(lambda)+sqrt(lambda);"
    "e=tanh(a)+sigmoid(b)+relu(b)+abs(b)+softplus(a); f=sin(a)+cos(b)+tan(a)+asin(a)+acos(b)+atan(a)+sinh(a)+cosh(b);"
    "g=log1p(a)+expm1(b)+erf(a); h=lambda**a+2**b+a**2+a**-2+(2+3)*a; i=log2(lambda)+log10(lambda)+exp2(a)+cbrt(b)+asinh(a);"
    "j=acosh(lambda)+atanh(b)+erfc(a)+gelu(b)+floor(a)+ceil(b)+round(lambda)+trunc(b); k=fmod(lambda,a)+fmod(2.5,a)+copysign(lambda,b);"
    "l=fmax(a,b)*fmin(b,0.2)+copysign(b,-1)+fmax(0,lambda)+hypot(a,b)*j+lgamma(a)*digamma(floor(lambda)); r=new*c-d*e+f*g-(-h)+i*j*k*l"
)
TEXTS = [text for text, _, _ in PRESETS] + [EVERYTHING, "a=2", "3+4*2", "a=1e-9; a*1e20"]


def code_of(language, text):
    run = subprocess.run([BUILD / "tests/oracle/gradwalk_code", language, text], capture_output=True, text=True, check=True)
    return run.stdout


def gradients_of(text):
    walk = gradwalk_json("walk", "--json", text)
    leaves = [i for i, node in enumerate(walk["nodes"]) if node["op"] == "leaf"]
    return [walk["outcomes"][i]["grad"] for i in leaves]


def printed(output):
    return [float(line.split(": ")[1]) for line in output.splitlines()]


@pytest.mark.torch
@pytest.mark.parametrize("text", TEXTS)
def test_pytorch_code_prints_the_gradients(text):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code_of("pytorch", text), {})
    assert printed(output.getvalue()) == pytest.approx(gradients_of(text), rel=1e-12)


@pytest.mark.parametrize("text", [PRESETS[0][0], EVERYTHING, "3+4*2"])
def test_cpp_code_prints_the_gradients(text, tmp_path):
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(code_of("cpp", text))
    compiler = os.environ.get("CXX", "g++")
    subprocess.run(
        [compiler, "-std=c++20", "-Wall", "-Werror", f"-I{ROOT}/include", source, f"-L{BUILD}", "-lgradwalk",
         f"-Wl,-rpath,{BUILD}", "-o", program], check=True,
    )
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert printed(output) == pytest.approx(gradients_of(text), rel=1e-5)


@pytest.mark.parametrize("text", TEXTS)
def test_python_code_has_valid_syntax(text):
    compile(code_of("python", text), "program.py", "exec")
