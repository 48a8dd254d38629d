"""The demographic-coherence audit: what a release does to each group, and which epsilon a tolerance allows."""
