"""What makes two scenarios the same run."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scenario import Scenario


def scenario_hash(scenario: Scenario) -> str:
    """Return the SHA-256 of the user's text and the resolved configuration: equal hash and version = equal picoseconds."""
    canonical = json.dumps(scenario.resolved, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    digest = hashlib.sha256()
    for part in (scenario.text, canonical):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
