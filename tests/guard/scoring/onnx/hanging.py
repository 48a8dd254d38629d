"""A program for `sandbox.run` that hangs with a child of its own, works forever, or dies of a wrong address."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import time

from holdfast.core import sandbox


def main() -> None:
    told = sys.stdin.buffer.read()
    if told == b"die":
        ctypes.string_at(0)
    sandbox.alarm(0.2)
    while told == b"busy":
        pass
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)  # tests.guard.scoring.onnx.hanging"])
    time.sleep(600)


if __name__ == "__main__":
    main()
