"""The reference of all settings as Markdown, ``docs/scenario.md``: written from the models, so it says what the reader does."""

from __future__ import annotations

from .explain import form_words
from .settings import Section, Setting, all_settings, sections

_HEAD = """\
# Scenario files

Written by `scalefab explain --markdown > docs/scenario.md`; a test compares the two.

A scenario is one YAML file: a supernode (`fabric`), what goes wrong on it (`faults`), what it is asked to do (`workload`) and how
the run is carried out (`run`).

- The first line is `scalefab: 1`, the version of this layout.
- Quantities carry their unit: `800Gb/s`, `3m`, `64KiB`, `1.5us`. `Gb/s` is bits, `GB/s` bytes; `KiB` is 1024 bytes, `kB` 1000.
- A preset fills in what is not written; `scalefab catalogue` lists them with their sources. What is written goes before it.
- A setting that nothing reads is an error, and so is one that is unknown; all faults are told at once, with file and line.
- Links have names, in `faults` as in reports. By one of their ports: `gpu3.port0`, `switch0.port5`, `plane0.leaf2.uplink5`; by
  both ends, which also says the direction: `gpu3.port0 -> switch`, `GPU 12 -> switch plane 3`, `plane 0 leaf 2 -> spine 1`.
- `--set key=value` changes one setting of a file: `--set fabric.frame_max=4160B --set workload.0.moe.tokens_per_gpu=64`.
- `scalefab explain KEY` says what is below of one setting. Source tags: `pub` published about EthLink, `pub2` by a secondary
  source only, `sib` taken from a public sibling, `own` this project's choice; sections are those of the open profile.

Editors complete and check scenario files with the JSON schema. With the YAML extension of VS Code (or any editor that speaks to
yaml-language-server): `scalefab schema > scalefab.schema.json`, then in the file

```yaml
# yaml-language-server: $schema=scalefab.schema.json
scalefab: 1
```
"""


def reference() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for section in sections():
        settings = [setting for setting in all_settings() if setting.section == section.key]
        if settings:
            parts.append(_section(section, settings))
    return "\n".join(parts)


def _section(section: Section, settings: list[Setting]) -> str:
    title = f"`{section.key}`" if section.key else "Top of the file"
    rows = ["| setting | what it is | form | default | what it matters for | source |", "| --- | --- | --- | --- | --- | --- |"]
    for setting in settings:
        default = f"**{setting.default}**" if setting.required else setting.default
        cells = (
            f"`{setting.key.rpartition('.')[2]}`",
            setting.meaning,
            form_words(setting),
            default,
            setting.matters,
            setting.source,
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join((f"## {title}", "", section.meaning, "", *rows, ""))
