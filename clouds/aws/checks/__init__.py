"""Proofs of the test AWS's strictness, one file for each subject."""
