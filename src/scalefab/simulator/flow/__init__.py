"""Flow fidelity: operations as fluid at max-min fair rates over the same fabric and graph, for when no single frame matters.

Nothing here knows a frame, a credit or a window: see `limits` for what that leaves out, and decision 0016 for what it was held
against.
"""
