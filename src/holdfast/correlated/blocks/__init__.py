"""Independent blocks of records, and colourings that find independent records."""
