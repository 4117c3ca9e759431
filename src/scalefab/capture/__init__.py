"""Frames to and from files: captures of what a simulated or live port carried."""
