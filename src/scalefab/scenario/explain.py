"""What a setting is, by its key or by the end of it."""

from __future__ import annotations

from ..errors import InputError, Problem
from .paths import near_miss, printable
from .settings import Section, Setting, all_settings, sections


def find(text: str) -> tuple[Section | None, tuple[Setting, ...]]:
    """Return what a key speaks of.

    Parameters
    ----------
    text
        A dotted key (``fabric.frame_max``, ``workload.0.moe.ranks``, ``workload[].moe.ranks``), the key of a section, or the
        end of a key (``frame_max``), which may fit several.

    Returns
    -------
    section, settings
        The section when the key is one's, and its settings; else None and the settings that the key fits.

    Raises
    ------
    InputError
        None such, with the near miss.
    """
    wanted = _bare(text)
    for section in sections():
        if section.key and _bare(section.key) == wanted:
            return section, tuple(setting for setting in all_settings() if setting.section == section.key)
    exact = tuple(setting for setting in all_settings() if _bare(setting.key) == wanted)
    found = exact or tuple(setting for setting in all_settings() if _bare(setting.key).endswith(f".{wanted}")) if wanted else ()
    if found:
        return None, found
    keys = [setting.key for setting in all_settings()] + [section.key for section in sections() if section.key]
    bare = {_bare(key): key for key in keys}
    near = bare.get(near_miss(wanted, bare), "") or near_miss(wanted.rpartition(".")[2], {key.rpartition(".")[2] for key in keys})
    raise InputError([Problem(f"'{printable(text)}' is no setting", "a key that 'scalefab explain' lists", near)])


def _bare(key: str) -> str:
    """Return a key without positions: ``workload[0].moe``, ``workload.0.moe`` and ``workload[].moe`` are alike."""
    parts = [part.partition("[")[0].strip() for part in key.strip().strip(".").split(".")]
    return ".".join(part for part in parts if part and not part.isdecimal())


def override(setting: Setting) -> str:
    """Return ``key=value`` with the example, as ``--set`` takes it; entries of the workload are the first."""
    return f"{setting.key.replace('[]', '.0')}={setting.example}"


def form_words(setting: Setting) -> str:
    """Return form, unit and limits in one text."""
    form = f"{setting.form}: {setting.unit}" if setting.unit else setting.form
    if setting.form == "word" or (setting.form == "text" and setting.allowed):
        return setting.allowed
    return f"{form}; {setting.allowed}" if setting.allowed else form
