"""Virtual time: event queue, kernel, state arrays, result and verdict of the packet-level simulator."""
