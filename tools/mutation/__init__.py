"""The parts of `tools/mutation-run`: what can be changed, which tests run a line, and one changed module on trial."""
