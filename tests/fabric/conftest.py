from collections.abc import Callable

import pytest
from fabric_domain import spec_of

from scalefab.fabric.spec import FabricSpec


@pytest.fixture(scope="session")
def make_spec() -> Callable[..., FabricSpec]:
    return spec_of
