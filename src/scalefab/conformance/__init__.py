"""Proofs about the link layer: explicit-state search over the shipped transition functions."""
