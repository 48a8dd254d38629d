"""Tests that need a package which is not installed are not collected."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["test_gpu.py"]
