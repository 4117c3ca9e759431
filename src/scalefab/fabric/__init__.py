"""What EthLink runs on: endpoints, planes of switches, links; from a specification to arrays, with a catalogue of presets.

Import from the modules: `build.build_fabric`, `wiring.check_wiring`, `catalogue`, `timing`, `query`.
"""
