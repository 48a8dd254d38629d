"""Scoring predictions against hidden labels: boards, predictions by row key, and what each metric adds up."""
