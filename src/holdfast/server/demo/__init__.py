"""The demo: rows that we made up, two analysts who ask about them, and the server that shows it."""
