"""Litmus tests: which outcomes of a few operations order forbids, and that they do occur without it."""
