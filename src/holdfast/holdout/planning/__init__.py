"""Plans: what every kind of holdout certifies for a given use, before any data is touched."""
