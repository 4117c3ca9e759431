"""Flow fidelity: operations as fluid at max-min fair rates over the same fabric and graph, for when a frame's way does not matter.

Nothing here knows a frame, a credit or a window: see `limits` for what that leaves out, and decision 0016 for what it was held
against.
"""
