"""Real time: the protocol between processes, over carriers that move records of the wire."""
