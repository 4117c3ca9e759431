"""What is asked of a fabric: everything becomes one operation graph, and its lower bound on a fabric.

Import from the modules: `build.build_graph`, `bounds.bound`, `models.read_model`, `builder.GraphBuilder`.
"""
