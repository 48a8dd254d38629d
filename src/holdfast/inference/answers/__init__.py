"""Answers to many adaptively chosen questions: a plan fixed in advance, noise or fresh rows, simultaneous intervals."""
