"""Colours of drawings and charts, light and dark: one hue from idle to line rate, one accent for what to look at."""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "ink": "#17202b",
    "soft": "#566372",
    "line": "#dde3ea",
    "panel": "#f6f8fa",
    "accent": "#c2410c",
    "good": "#1a7f4b",
    "bar": "#2f6fb0",
}
DARK = {
    "paper": "#10161d",
    "ink": "#e6edf4",
    "soft": "#9aa8b7",
    "line": "#27313c",
    "panel": "#171f28",
    "accent": "#ff9a57",
    "good": "#5fd38f",
    "bar": "#5b9bd8",
}
# Idle to line rate, in steps of like difference to the eye; dark runs the other way, so that busy always stands out.
RAMP_LIGHT = ("#edf1f5", "#dbe5ef", "#c2d6e8", "#a3c3df", "#7fadd4", "#5b95c8", "#3d7cb8", "#2763a2", "#184b86", "#0c3264")
RAMP_DARK = ("#1c2630", "#20344a", "#244363", "#2a547c", "#336896", "#437daf", "#5c94c4", "#7dadd6", "#a5c8e6", "#d3e6f6")

# Groups of operations: hues that stay apart for the colour-blind as far as eight can; the accent stays free for what to look at.
GROUPS_LIGHT = ("#2f6fb0", "#2a8f83", "#7d5bb5", "#a8801c", "#5b8c2a", "#b0578d", "#4b6478", "#8a6d5a")
GROUPS_DARK = ("#5b9bd8", "#55bdb0", "#a98be0", "#d3aa4a", "#8fbf5c", "#d98bb9", "#8ea6b8", "#b89a86")

_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"


def css_variables(colours: dict[str, str], ramp: tuple[str, ...], groups: tuple[str, ...] = ()) -> str:
    """Return the colours as CSS custom properties, ``--ink``, ``--q0`` .. ``--q9`` and, for ``groups``, ``--g0`` .. ``--g7``."""
    pairs = [*colours.items(), *((f"q{index}", colour) for index, colour in enumerate(ramp))]
    pairs += [(f"g{index}", colour) for index, colour in enumerate(groups)]
    return "".join(f"--{name}:{colour};" for name, colour in pairs)


def ramp_classes() -> str:
    """Return the classes that drawings use, on the custom properties."""
    ramp = "".join(f".q{index}{{fill:var(--q{index})}}" for index in range(len(RAMP_LIGHT)))
    return ramp + ".mark{fill:none;stroke:var(--accent);stroke-width:2}.hot{fill:var(--accent);font-weight:700}"


def svg_style() -> str:
    """Return the style of a stand-alone drawing."""
    return (
        f"svg{{{css_variables(LIGHT, RAMP_LIGHT)}font-family:{_FONT}}}"
        f"@media(prefers-color-scheme:dark){{svg{{{css_variables(DARK, RAMP_DARK)}}}}}"
        f"{ramp_classes()}.paper{{fill:var(--paper)}}text{{fill:var(--ink);font-size:13px}}"
        ".t0{font-size:22px;font-weight:600}.t1{font-size:16px;font-weight:600}.t2{font-size:12.5px;fill:var(--soft)}"
        ".t3{font-size:14px;fill:var(--soft)}"
    )
