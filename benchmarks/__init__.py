"""Benchmarks of scalefab: speed and the closed forms they must keep to, as ratios in one run. ``python -m benchmarks --help``."""
