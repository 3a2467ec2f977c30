"""Wheel and sdist: whole, of one version, and working where nothing else of this checkout is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import tcc
from tests.doc_blocks import ROOT

pytest.importorskip("build", reason="the package `build` is not installed")
SPARED = shutil.ignore_patterns(".*", "build", "dist", "__pycache__", "*.egg-info")
VERSION = tcc.__version__


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """An sdist of a copy of this checkout, and a wheel built from the sdist."""
    source = tmp_path_factory.mktemp("source") / "tcc"
    shutil.copytree(ROOT, source, ignore=SPARED)
    target = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(source))
    return target


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    """The commands of an environment with the wheel; what it depends on comes from this one."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    wheel = str(next(dist.glob("*.whl")))
    pip = (sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"))
    run(*pip, "install", "--no-deps", "--no-index", "--disable-pip-version-check", wheel)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def run(*command: str, at: Path | None = None, status: int = 0) -> str:
    kept = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=at, env=kept, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_names_carry_the_version(dist):
    names = sorted(p.name for p in dist.iterdir())
    assert names == [f"tcc-{VERSION}-py3-none-any.whl", f"tcc-{VERSION}.tar.gz"]


def test_the_wheel_has_every_file_of_the_package_and_no_other(dist):
    ours = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tcc").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    assert {n for n in names if not n.startswith(f"tcc-{VERSION}.dist-info/")} == ours
    assert f"tcc-{VERSION}.dist-info/licenses/LICENSE" in names


def test_a_wheel_works_on_its_own(installed, tmp_path):
    """Templates, the host's runtime, pages of codes, rules for make, the CMake package."""
    tcc_command = str(installed / "tcc")
    where = "import tcc; print(tcc.__file__)"
    assert run(str(installed / "python"), "-c", where, at=tmp_path).startswith(
        str(installed.parent)
    )
    assert run(tcc_command, "--version") == f"tcc {VERSION}\n"
    assert run(str(installed / "python"), "-m", "tcc", "--version") == f"tcc {VERSION}\n"
    (tmp_path / "f.tc").write_text("def f(float(N) A) -> (S) { S +=! A(i) }\n")
    words = ("--header", "f.h", "--self-test", "f.test.cu", "--arch", "sm_80", "--arch", "sm_90")
    run(tcc_command, "compile", "f.tc", "-o", "f.cu", *words, at=tmp_path)
    assert "ok" in run(tcc_command, "verify", "f.tc", "--size", "N=100", at=tmp_path)
    assert run(tcc_command, "explain", "E0401").startswith("# E0401")
    rules = Path(run(tcc_command, "--make-include").strip())
    assert rules.is_relative_to(installed.parent)
    assert "%.cu" in rules.read_text()
    package = Path(run(tcc_command, "--cmake-dir").strip())
    assert (package / "tccConfig.cmake").exists()
    if shutil.which("cmake") is not None:
        found = cmake_finds(package, tmp_path)
        assert found == str(installed / "tcc"), "the command that belongs to the package"


def cmake_finds(package: Path, folder: Path) -> str:
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES NONE)\n"
        "find_package(tcc REQUIRED CONFIG)\nmessage(${TCC_EXECUTABLE})\n"
    )
    return run("cmake", "-B", "b", f"-Dtcc_DIR={package}", at=folder).splitlines()[-1]


def test_the_sdist_has_what_a_developer_needs(dist):
    listed = run("tar", "tzf", str(next(dist.glob("*.tar.gz"))))
    for name in (
        "pyproject.toml",
        "Makefile",
        "CHANGELOG.md",
        "docs/cli.md",
        "examples/cpp-make/Makefile",
        "specs/gemm.tc",
        "tests/test_packaging.py",
        "tcc/templates/host/runtime.cpp",
    ):
        assert f"tcc-{VERSION}/{name}\n" in listed
    assert "__pycache__" not in listed


def test_the_changelog_knows_the_version():
    """Either it is released, or what is new stands under `Unreleased`."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = re.findall(r"^## \[?(Unreleased|\d+\.\d+\.\d+)", text, re.MULTILINE)
    assert sections[0] in ("Unreleased", VERSION)
    released = [tuple(map(int, s.split("."))) for s in sections if s != "Unreleased"]
    assert released == sorted(released, reverse=True)
    assert all(version <= tuple(map(int, VERSION.split("."))) for version in released)


@pytest.mark.slow
def test_a_clean_environment(dist, tmp_path):
    """Everything that the wheel depends on comes from the package index."""
    folder = tmp_path / "venv"
    run(sys.executable, "-m", "venv", str(folder))
    wheel = str(next(dist.glob("*.whl")))
    pip = (str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check")
    done = subprocess.run([*pip, wheel], capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stderr or "Connection" in done.stderr:
        pytest.skip("the package index is out of reach")
    assert done.returncode == 0, done.stderr
    shutil.copy(ROOT / "specs" / "gemm.tc", tmp_path)
    command = str(folder / "bin" / "tcc")
    run(command, "compile", "gemm.tc", "-o", "gemm.cu", at=tmp_path)
    sizes = ("--size", "M=20", "--size", "N=20", "--size", "K=20")
    assert "ok" in run(command, "verify", "gemm.tc", *sizes, at=tmp_path)
