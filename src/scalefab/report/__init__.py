"""Draws results, computes none: tables, CSV, JSON, the run folder and the offline HTML report."""
