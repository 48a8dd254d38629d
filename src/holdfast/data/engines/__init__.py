"""The engines that add up exact statistics: NumPy, polars, DuckDB, PostgreSQL and Spark."""
