"""Many runs in a row: sweeps over sizes and settings, each row a simulation of its own."""
