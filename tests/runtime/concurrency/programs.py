"""Programs of their own, for what only a whole process shows: its end, and its signals."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def start_python(code: str) -> subprocess.Popen[str]:
    """A program that runs, with pipes from it."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, **pipes)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """What a program prints, and how it ends."""
    with start_python(code) as process:
        try:
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def interrupted_whenever_it_holds(code: str) -> list[Any]:
    """What a program prints, as values, when Ctrl-C is pressed after each line that says "holding"."""
    values = []
    with start_python(code) as process:
        try:
            for line in process.stdout:
                if line.strip() == "holding":
                    process.send_signal(signal.SIGINT)
                else:
                    values.append(json.loads(line))
            assert process.stderr.read() == ""
        finally:
            process.kill()
    return values
