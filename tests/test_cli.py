"""The command line: exit codes, what goes to stdout and stderr, carets into the command."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from tcc import cli_compile, cli_info
from tcc.cli import main
from tcc.cli_colour import coloured
from tcc.cli_session import Session
from tcc.driver import PASSES
from tcc.errors import InternalError, RunError, ToolchainError
from tcc.run import nvrtc, verify
from tcc.run.verify_outcome import Outcome

MATMUL = """\
def matmul(float(M, K) A, float(K, N) B) -> (C) {
    C(m, n) +=! A(m, k) * B(k, n)
}
"""
WRONG = """\
def scale(float(N) A) -> (B) {
    B(n) = 2.0 * Aa(n)
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working folder with matmul.tc and wrong.tc."""
    (tmp_path / "matmul.tc").write_text(MATMUL)
    (tmp_path / "wrong.tc").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capfd, *words):
    """Exit code, stdout and stderr of one command."""
    code = main(words)
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_the_commands_of_the_design(capfd):
    code, out, _ = run(capfd, "--help")
    listed = out.partition("Commands:\n")[2].split("\n")
    names = [line.split()[0] for line in listed if line.strip()]
    assert code == 0
    assert names == [
        *("compile", "check", "run", "verify", "explain", "tune", "cache"),
        *("fmt", "lsp", "targets", "options", "passes"),
    ]


@pytest.mark.parametrize(
    "command", ["compile", "check", "run", "verify", "explain", "tune", "fmt", "targets", "options"]
)
def test_help_fits_a_screen(capfd, command):
    code, out, _ = run(capfd, command, "--help")
    assert code == 0
    assert len(out.splitlines()) <= 40
    assert all(len(line) <= 80 for line in out.splitlines())


def test_version(capfd):
    assert run(capfd, "--version") == (0, "tcc 0.1.0\n", "")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("compil",),
        ("compile",),
        ("compile", "matmul.tc", "--siz", "M=1"),
        ("compile", "matmul.tc", "--arch", "sm_1"),
        ("compile", "matmul.tc", "--stop-after", "nothing"),
        ("compile", "matmul.tc", "--emit", "nothing"),
        ("compile", "matmul.tc", "-o", "a", "--header", "a"),
        ("compile", "matmul.tc", "-o", "a", "--header", "./a"),
        ("compile", "matmul.tc", "-o", "./matmul.tc"),
        ("compile", "matmul.tc", "--reference"),
        ("compile", "matmul.tc", "--depfile", "a.d"),
        ("compile", "matmul.tc", "--depfile", "a.d", "-o", "-"),
        ("compile", "matmul.tc", "--stop-after", "parse", "--emit", "cuda"),
        ("run", "matmul.tc"),
        ("run", "matmul.tc", "--inputs", "matmul.tc", "--outputs", "out.npz"),
        ("verify", "matmul.tc", "--device", "tpu"),
        ("verify", "matmul.tc", "--blocks", "0"),
        ("explain", "E9999"),
        ("fmt",),
    ],
)
def test_usage_errors(capfd, words):
    code, out, err = run(capfd, *words)
    assert (code, out) == (2, "")
    assert "rror: " in err or "rror[E" in err or err.startswith("Usage")
    assert "Traceback" not in err


def test_a_mistake_in_the_command_has_a_caret(capfd):
    code, out, err = run(capfd, "compile", "matmul.tc", "--size", "M=64", "--size=K=1k")
    assert (code, out) == (2, "")
    assert err == (
        """\
error[E0621]: cannot read the size `K=1k`
 --> <command line>:1:35
  |
1 | tcc compile matmul.tc --size M=64 --size=K=1k
  |                                   ^^^^^^^^^^^ needs `NAME=VALUE` with a value from 1 to 2^31 - 1
  |
  = help: for example: `--size M=1024`

error: <command line> rejected: 1 error
help: tcc explain E0621
"""
    )


@pytest.mark.parametrize("size", ["M", "M=", "=4", "M=0", "M=-1", "M=2147483648", "M=1.5", "1=1"])
def test_sizes_that_cannot_be_read(capfd, size):
    code, _, err = run(capfd, "compile", "matmul.tc", "--size", size)
    assert code == 2
    assert "error[E0621]" in err


def test_all_wrong_sizes_are_reported_at_once(capfd):
    words = ("--size", "M=4", "--size", "M=5", "--size", "K=x", "--size", "M=4")
    code, _, err = run(capfd, "compile", "matmul.tc", *words, "--message-format", "short")
    assert code == 2
    assert [line.split(": ")[1] for line in err.splitlines()] == ["error[E0622]", "error[E0621]"]


def test_a_file_that_is_not_there(capfd):
    code, out, err = run(capfd, "check", "nope.tc", "--message-format", "short")
    assert (code, out) == (2, "")
    assert err == "<command line>:1:11: error[E0623]: cannot read `nope.tc`\n"


def test_a_file_that_is_no_text(capfd, folder):
    (folder / "binary.tc").write_bytes(b"def f\n \xff\xfe")
    code, _, err = run(capfd, "check", "binary.tc", "--message-format", "short")
    assert code == 1
    assert err.startswith("binary.tc:2:2: error[E0625]")


def test_a_rejected_program_in_all_three_forms(capfd):
    code, out, text = run(capfd, "compile", "wrong.tc")
    assert (code, out) == (1, "")
    assert " --> wrong.tc:2:18\n" in text
    assert "error: wrong.tc rejected: 1 error\n" in text
    code, out, short = run(capfd, "compile", "wrong.tc", "--message-format", "short")
    assert (code, out) == (1, "")
    assert short.startswith("wrong.tc:2:18: error[E02")
    code, out, lines = run(capfd, "compile", "wrong.tc", "--message-format", "json")
    assert (code, out) == (1, "")
    found = [json.loads(line) for line in lines.splitlines()]
    assert [(f["file"], f["line"], f["column"]) for f in found] == [("wrong.tc", 2, 18)]


def test_a_mistake_in_the_options_file(capfd, folder):
    (folder / "o.yaml").write_text("mapping:\n  tille: [4]\n")
    code, out, err = run(capfd, "compile", "matmul.tc", "--options", "o.yaml")
    assert (code, out) == (1, "")
    assert "o.yaml:2:3" in err


def test_compile_writes_to_stdout_by_default(capfd, folder):
    code, out, err = run(capfd, "compile", "matmul.tc")
    assert (code, err) == (0, "")
    assert "__global__" in out
    assert sorted(p.name for p in folder.iterdir()) == ["matmul.tc", "wrong.tc"]


def test_compile_reads_stdin(capfd, folder, monkeypatch):
    with (folder / "matmul.tc").open() as program:
        monkeypatch.setattr(sys, "stdin", program)
        code, out, _ = run(capfd, "compile", "-", "-o", "-")
    assert code == 0
    assert "__global__" in out


def test_compile_writes_every_output(capfd, folder):
    (folder / "o.yaml").write_text("sizes: {K: 32}\n")
    names = ("--header", "m.h", "--manifest", "m.json", "--depfile", "m.d", "--reference")
    words = ("-o", "m.cu", "--options", "o.yaml", "--size", "M=64", "--arch", "sm_80", *names)
    assert run(capfd, "compile", "matmul.tc", *words) == (0, "", "")
    made = {p.name for p in folder.iterdir()} - {"matmul.tc", "wrong.tc", "o.yaml", "cache"}
    assert made == {"m.cu", "m.h", "m.json", "m.d", "m.reference.cu"}
    assert (folder / "m.d").read_text() == (
        "m.cu m.reference.cu m.h m.json: matmul.tc o.yaml\nmatmul.tc:\no.yaml:\n"
    )
    manifest = json.loads((folder / "m.json").read_text())
    assert (manifest["target"], manifest["sizes"], manifest["symbolic"]) == (
        "sm_80",
        {"M": 64, "K": 32},
        ["N"],
    )
    assert "matmul_reference" in (folder / "m.reference.cu").read_text()
    assert "matmul" in (folder / "m.h").read_text()


def test_ptx_and_cubin_need_no_gpu(capfd, folder):
    pytest.importorskip("cuda.bindings.nvrtc", reason="the extra `nvrtc` is not installed")
    words = ("--arch", "sm_80", "--ptx", "m.ptx", "--cubin", "m.cubin")
    assert run(capfd, "compile", "matmul.tc", *words) == (0, "", "")
    assert ".target sm_80" in (folder / "m.ptx").read_text()
    assert (folder / "m.cubin").read_bytes().startswith(b"\x7fELF")


def test_a_missing_library_is_exit_code_4_and_writes_nothing(capfd, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    nvrtc._library.cache_clear()
    code, out, err = run(capfd, "compile", "matmul.tc", "-o", "m.cu", "--ptx", "m.ptx")
    nvrtc._library.cache_clear()
    assert (code, out) == (4, "")
    assert "error[E0703]" in err
    assert not (folder / "m.cu").exists()


def test_nothing_is_written_when_one_output_is_out_of_reach(capfd, folder):
    code, _, err = run(capfd, "compile", "matmul.tc", "-o", "m.cu", "--header", "no/m.h")
    assert code == 2
    assert "error[E0624]: cannot write `no/m.h`" in err
    assert "no such file or directory" in err
    assert not (folder / "m.cu").exists()


def test_sizes_of_the_command_win_over_those_of_the_file(capfd, folder):
    (folder / "o.yaml").write_text("sizes: {M: 8, K: 8}\n")
    words = ("--options", "o.yaml", "--size", "M=16", "--manifest", "-")
    code, out, _ = run(capfd, "compile", "matmul.tc", *words)
    assert (code, json.loads(out)["sizes"]) == (0, {"M": 16, "K": 8})


@pytest.mark.parametrize("stage", [p.stage for p in PASSES if p.stage])
def test_every_stage_prints(capfd, stage):
    code, out, err = run(capfd, "compile", "matmul.tc", "--emit", stage)
    assert (code, out.endswith("\n"), err) == (0, True, "")


def test_stop_after_prints_what_there_is(capfd, folder):
    code, out, _ = run(capfd, "compile", "matmul.tc", "--stop-after", "elaborate", "-o", "m.cu")
    assert code == 0
    assert out == run(capfd, "compile", "matmul.tc", "--emit", "tir")[1]
    assert not (folder / "m.cu").exists()


def test_time_passes_goes_to_stderr(capfd):
    code, out, err = run(capfd, "compile", "matmul.tc", "--time-passes")
    assert code == 0
    assert "__global__" in out
    assert [line.split()[2] for line in err.splitlines()][:2] == ["parse", "elaborate"]


def test_check_prints_types_and_shapes(capfd):
    code, out, err = run(capfd, "check", "matmul.tc")
    assert (code, err) == (0, "")
    assert "matmul" in out
    assert "(M, N)" in out


def test_check_rejects(capfd):
    code, out, err = run(capfd, "check", "wrong.tc")
    assert (code, out) == (1, "")
    assert "wrong.tc:2:18" in err


def test_run(capfd, folder):
    a, b = np.eye(3, 4, dtype=np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)
    np.savez(folder / "in.npz", A=a, B=b)
    words = ("run", "matmul.tc", "--inputs", "in.npz", "--outputs", "out.npz")
    assert run(capfd, *words) == (0, "", "")
    with np.load(folder / "out.npz") as results:
        np.testing.assert_array_equal(results["C"], a @ b)


def test_run_refuses_arrays_that_do_not_fit(capfd, folder):
    np.savez(folder / "in.npz", A=np.zeros((3, 4), np.float32), B=np.zeros((5, 2), np.float32))
    words = ("run", "matmul.tc", "--inputs", "in.npz", "--outputs", "out.npz")
    code, out, err = run(capfd, *words)
    assert (code, out) == (1, "")
    assert "error[E06" in err
    assert not (folder / "out.npz").exists()


def test_run_executes_nothing_from_a_file_of_arrays(capfd, folder):
    np.savez(folder / "in.npz", A=np.array([object()]), B=np.zeros(1))
    words = ("run", "matmul.tc", "--inputs", "in.npz", "--outputs", "out.npz")
    code, _, err = run(capfd, *words)
    assert code == 2
    assert "error[E0626]" in err


def test_run_refuses_an_array_without_a_name(capfd, folder):
    np.save(folder / "a.npy", np.zeros(1))
    words = ("run", "matmul.tc", "--inputs", "a.npy", "--outputs", "out.npz")
    code, _, err = run(capfd, *words)
    assert code == 2
    assert "error[E0626]" in err


SMALL = ("--size", "M=4", "--size", "N=3", "--size", "K=2")


def test_verify(capfd):
    code, out, err = run(capfd, "verify", "matmul.tc", *SMALL, "--seed", "3")
    assert (code, err) == (0, "")
    assert "seed 3" in out
    assert "M=4 N=3 K=2" in out


def test_verify_as_json(capfd):
    code, out, _ = run(capfd, "verify", "matmul.tc", *SMALL, "--json")
    assert (code, json.loads(out)["ok"]) == (0, True)


def test_a_wrong_result_is_exit_code_3_and_no_diagnostic(capfd, monkeypatch):
    asked = []

    def wrong(_, **settings):
        asked.append(settings)
        return Outcome("matmul", "host", 0, ())

    monkeypatch.setattr(verify, "verify", wrong)
    code, out, err = run(capfd, "verify", "matmul.tc", "--blocks", "5")
    assert (code, err) == (3, "")
    assert out
    assert asked == [{"device": "host", "check": False, "blocks": 5, "seed": 0}]


def test_verify_takes_its_settings_from_the_options_file(capfd, folder, monkeypatch):
    asked = []

    def record(_, **settings):
        asked.append((settings["blocks"], settings["seed"]))
        return Outcome("matmul", "host", 0, ())

    monkeypatch.setattr(verify, "verify", record)
    (folder / "o.yaml").write_text("verify: {seed: 7, blocks: 2}\n")
    run(capfd, "verify", "matmul.tc", "--options", "o.yaml")
    run(capfd, "verify", "matmul.tc", "--options", "o.yaml", "--seed", "0", "--blocks", "9")
    assert asked == [(2, 7), (9, 0)]


@pytest.mark.parametrize("command", ["verify", "run"])
def test_only_the_host_device_checks(capfd, folder, command):
    np.savez(folder / "in.npz", A=np.zeros((1, 1), np.float32))
    more = ("--inputs", "in.npz", "--outputs", "out.npz") if command == "run" else ()
    code, out, err = run(capfd, command, "matmul.tc", "--device", "cuda", "--check", *more)
    assert (code, out) == (1, "")
    assert "error[E0911]" in err


def test_fmt_rewrites_and_is_idempotent(capfd, folder):
    messy = "# first\ndef  f( float(N) A )->(B){B(n)=A(n)*2.0 # last\n}"
    (folder / "messy.tc").write_text(messy)
    code, _, err = run(capfd, "fmt", "--check", "messy.tc")
    assert (code, err) == (1, "messy.tc: would be reformatted\n")
    assert (folder / "messy.tc").read_text() == messy
    assert run(capfd, "fmt", "messy.tc") == (0, "", "")
    tidy = (folder / "messy.tc").read_text()
    assert tidy != messy
    assert ("# first" in tidy, "# last" in tidy) == (True, True)
    assert run(capfd, "fmt", "--check", "messy.tc") == (0, "", "")


def test_fmt_leaves_a_wrong_file_alone(capfd, folder):
    (folder / "broken.tc").write_text("def f(")
    code, out, _ = run(capfd, "fmt", "broken.tc")
    assert (code, out) == (1, "")
    assert (folder / "broken.tc").read_text() == "def f("


def test_explain_a_code(capfd):
    code, out, err = run(capfd, "explain", "e0501")
    assert (code, err) == (0, "")
    assert out.startswith("# E0501: ")


def test_explain_a_program(capfd):
    code, out, _ = run(capfd, "explain", "matmul.tc", "--size", "M=64")
    assert code == 0
    for section in ("schedule", "plan", "what a block touches", "staging", "occupancy", "bound"):
        assert section in out


def test_targets_options_passes(capfd):
    code, out, _ = run(capfd, "targets")
    assert (code, "sm_90" in out, "H100" in out) == (0, True, True)
    code, out, _ = run(capfd, "options")
    assert code == 0
    for word in ("fix_parameters_before_scheduling", "group_convolution", "timeout_s"):
        assert word in out
    code, out, _ = run(capfd, "passes")
    assert (code, out.splitlines()[0].split()[0]) == (0, "parse")


@pytest.mark.parametrize(
    ("problem", "code", "text"),
    [
        (ToolchainError("error[E0701]: no compiler\n"), 4, "error[E0701]: no compiler\n"),
        (RunError("the kernel hangs"), 3, "error: the kernel hangs\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 0, ""),
    ],
)
def test_exit_codes(capfd, monkeypatch, problem, code, text):
    def fail(_):
        raise problem

    monkeypatch.setattr(cli_info, "_page", fail)
    # A closed pipe makes the command line give stdout away; keep the test's own.
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    assert run(capfd, "explain", "E0501") == (code, "", text)


@pytest.mark.parametrize("fault", [InternalError("pass `tile`: no fit"), KeyError("x")])
def test_our_own_fault_is_saved_and_looks_different(capfd, folder, monkeypatch, fault):
    def fail(*_, **__):
        raise fault

    monkeypatch.setattr(cli_compile, "_write", fail)
    monkeypatch.setenv("TCC_CACHE_DIR", str(folder / "cache"))
    code, out, err = run(capfd, "compile", "matmul.tc", "--size", "M=4")
    assert (code, out) == (70, "")
    assert err.startswith(f"internal compiler error: {fault}\n")
    assert "Traceback" not in err
    saved = next((folder / "cache" / "crashes").iterdir())
    assert str(saved) in err
    assert {p.name for p in saved.iterdir()} == {
        *("command.txt", "matmul.tc", "traceback.txt", "versions.txt"),
    }
    assert (saved / "command.txt").read_text() == "tcc compile matmul.tc --size M=4"
    assert (saved / "matmul.tc").read_text() == MATMUL
    assert "Traceback" in (saved / "traceback.txt").read_text()


def test_a_reproducer_finds_a_place_when_the_cache_is_out_of_reach(capfd, folder, monkeypatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("TCC_CACHE_DIR", str(folder / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(cli_info, "_page", lambda _: 1 / 0)
    code, _, err = run(capfd, "explain", "E0501")
    saved = next(folder.glob("tcc-crash-*"))
    assert (code, str(saved) in err) == (70, True)
    assert (saved / "command.txt").read_text() == "tcc explain E0501"


def test_notes_keep_the_form_of_json_lines(capfd):
    session = Session(("explain",), message_format="json")
    session.note("no schedule in time")
    session.fail(ToolchainError("error[E0701]: none"), ())
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert lines == [
        {"severity": "note", "message": "no schedule in time"},
        {"severity": "error", "message": "error[E0701]: none"},
    ]


def test_a_closed_pipe_is_quiet():
    command = f"{sys.executable} -m tcc options | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("entry: a def name\n", "")


def test_a_closed_stdout_is_no_fault_of_ours():
    command = f"{sys.executable} -m tcc options >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_no_fault_of_ours():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tcc", "targets"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "error: no space left on the device\n")


def _wait_until_it_waits(process):
    """Until a process has used no time of the CPU for a while; a busy machine only delays it."""
    stat, used = Path(f"/proc/{process.pid}/stat"), None
    while True:
        time.sleep(0.7)
        if not stat.exists():
            return
        state, *fields = stat.read_text().rpartition(") ")[2].split()
        before, used = used, fields[10:12]
        if state == "Z" or (state == "S" and used == before):
            return


def test_ctrl_c_ends_with_130_and_no_traceback():
    process = subprocess.Popen(
        [sys.executable, "-m", "tcc", "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_until_it_waits(process)  # for its program
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")


def test_data_is_utf_8_in_every_locale(folder):
    (folder / "o.tc").write_text("# größe\n" + MATMUL)
    words = [sys.executable, "-m", "tcc", "fmt", "-"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(
        words,
        input=(folder / "o.tc").read_bytes(),
        capture_output=True,
        check=False,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "größe".encode() in done.stdout


def test_colour_adds_nothing_to_the_text():
    text = (
        "error[E0101]: A[i] is [red]wrong[/red]\n --> a.tc:1:1\n  |\n1 | A[i]\n"
        "  | ^^^^ here\n  |\n  = note: [bold]x\n"
    )
    styled = coloured(text)
    assert styled.plain == text
    assert {text[s.start : s.end] for s in styled.spans if s.style == "bold red"} == {
        "error[E0101]",
        "^^^^ here",
    }


@pytest.mark.skipif(shutil.which("script") is None, reason="`script` is not installed")
@pytest.mark.parametrize(("variable", "colour"), [("TCC_NOTHING", True), ("NO_COLOR", False)])
def test_colour_on_a_terminal_only_and_never_with_no_color(variable, colour):
    command = f"{sys.executable} -m tcc check nope.tc"
    environment = {**os.environ, "TERM": "xterm-256color", variable: "1"}
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
    )
    assert "E0623" in done.stdout
    assert ("\x1b[" in done.stdout) == colour


def test_check_takes_several_files(capfd, folder):
    code, out, err = run(capfd, "check", "matmul.tc", "matmul.tc")
    assert (code, out.count("def matmul\n"), err) == (0, 2, "")
    (folder / "worse.tc").write_text(WRONG.replace("Aa", "Q"))
    code, out, err = run(capfd, "check", "wrong.tc", "matmul.tc", "worse.tc")
    assert (code, out) == (1, "")
    assert "wrong.tc:2:18" in err
    assert "worse.tc:2:18" in err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("problem", [MemoryError(), OSError(errno.ENOMEM, "no")])
def test_not_enough_memory(monkeypatch, capfd, problem):
    def no_room(_):
        raise problem

    monkeypatch.setattr("tcc.check.check_source", no_room)
    assert main(("check", "matmul.tc")) == 2
    assert capfd.readouterr().err == "error: not enough memory\n"
