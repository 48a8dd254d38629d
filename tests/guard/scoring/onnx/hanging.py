"""A program for `apart.run` that hangs with a child of its own, or dies of a wrong address."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import time


def main() -> None:
    if sys.stdin.buffer.read() == b"die":
        ctypes.string_at(0)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)  # tests.guard.scoring.onnx.hanging"])
    time.sleep(600)


if __name__ == "__main__":
    main()
