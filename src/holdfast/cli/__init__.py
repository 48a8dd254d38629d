"""The command line: one file a command, `main.py` joins them."""
