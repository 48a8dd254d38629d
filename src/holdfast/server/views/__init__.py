"""What a caller sees of guards, boards and reports: the API and the pages show the same."""
