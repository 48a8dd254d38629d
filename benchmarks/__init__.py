"""Side-by-side timing: every claim of speed is a ratio measured in one run."""
