"""What every HTML page has: its assets, and the policy that lets it run its own scripts only."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files


def asset(name: str) -> str:
    """Return the text of a file of ``report/assets``."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def policy(*scripts: str) -> str:
    """Return the content security policy of a page with these scripts: it loads nothing and runs nothing else."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {hashes}"
