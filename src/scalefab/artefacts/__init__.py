"""What is generated from the one table of layouts, never written by hand."""
