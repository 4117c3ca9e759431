"""Known endpoints and switches as data, each row with its source. The tables are the YAML files of this folder."""

from .presets import GpuPreset, PresetKind, SwitchPreset, default_buffer, defaults, gpu, names, switch, switch_ports

__all__ = ["GpuPreset", "PresetKind", "SwitchPreset", "default_buffer", "defaults", "gpu", "names", "switch", "switch_ports"]
