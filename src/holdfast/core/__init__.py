"""What every other package may build on, and what builds on the errors alone."""
