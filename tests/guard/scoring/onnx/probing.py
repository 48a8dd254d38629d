"""A program for `sandbox.run` that tries what a hostile model would, and says how it went."""

from __future__ import annotations

import os
import socket
import sys

from holdfast.core import sandbox


def main() -> int:
    channel = sandbox.answer_channel()
    cut = sandbox.cut_off()
    sandbox.limit(1 << 30, seconds=30, answer=1 << 20)
    print("this goes nowhere", flush=True)
    said = ["printed elsewhere: no", f"files here: {len(os.listdir('.'))}", f"network cut: {cut}"]
    said.append("reached: yes" if _reached() else "reached: no")
    said += ["large file: yes" if _large_file() else "large file: no"]
    said += ["much memory: yes" if _memory() else "much memory: no"]
    os.write(channel, "\n".join([*said, *sorted(os.environ)]).encode())
    return 0


def _reached() -> bool:
    """Whether there is a way to any other machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # no packet is sent: a route is all it takes
        except OSError:
            return False
    return True


def _large_file() -> bool:
    try:
        with open("large", "wb") as file:
            for _ in range(4):
                file.write(b"x" * (1 << 20))
                file.flush()
    except OSError:
        return False
    return True


def _memory() -> bool:
    try:
        return len(bytearray(2 << 30)) > 0
    except MemoryError:
        return False


if __name__ == "__main__":
    sys.exit(main())
