"""What all tests share: hypothesis draws the same examples in each run of the usual set, new ones in the long set.

No example has a deadline: the first one compiles what it calls.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("usual", derandomize=True, deadline=None)
settings.register_profile("long", deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    chosen = str(config.getoption("-m"))
    settings.load_profile("long" if "long" in chosen and "not long" not in chosen else "usual")
