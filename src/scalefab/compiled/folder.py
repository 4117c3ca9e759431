"""Where compiled kernels are kept on disk: a folder that follows every edit.

Numba's own disk cache looks at the file of the decorated function only, so an edit in a function that it calls leaves a
stale kernel behind (reproduced). Here the cache folder's name is the hash of *all* sources of the rooms that hold compiled
code, of Numba's version and of the processor.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import numba
from numba.core import config

_UNUSED_DAYS = 30
_PACKAGE = Path(__file__).resolve().parents[1]
_COMPILED_ROOMS = ("compiled", "protocol", "workload", "simulator")  # compiled functions, and constants that these freeze


def jit_enabled() -> bool:
    """Whether functions are compiled (``NUMBA_DISABLE_JIT`` is not set)."""
    return not config.DISABLE_JIT


def compiler_version() -> str:
    """Return Numba's version, for manifests."""
    return str(numba.__version__)


def cache_home() -> Path:
    """Where kernels are kept: ``$SCALEFAB_CACHE``, else ``$XDG_CACHE_HOME/scalefab``, else ``~/.cache/scalefab``."""
    explicit = os.environ.get("SCALEFAB_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "scalefab"


@cache
def _source_key() -> str:
    digest = hashlib.sha256()
    for part in (numba.__version__, platform.machine(), platform.python_version(), str(config.CPU_NAME), str(_cpu_name())):
        digest.update(part.encode() + b"\0")
    sources = [path for room in _COMPILED_ROOMS for path in (_PACKAGE / room).rglob("*.py")]
    for path in sorted(path.resolve() for path in sources):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _cpu_name() -> str:
    from llvmlite import binding

    return str(binding.get_host_cpu_name())


@cache
def cache_folder() -> Path | None:
    """Return this version's own cache folder, or None where none can be written (said once on stderr)."""
    home = cache_home()
    folder = home / _source_key()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        os.utime(folder)
    except OSError as error:
        print(f"scalefab: no kernel cache in {home} ({error.strerror}); kernels compile anew in each process", file=sys.stderr)
        return None
    _remove_unused(home, folder)
    return folder


def _remove_unused(home: Path, keep: Path) -> None:
    oldest = time.time() - _UNUSED_DAYS * 86_400
    for other in home.iterdir():
        if other != keep and len(other.name) == 16 and other.is_dir() and other.stat().st_mtime < oldest:
            shutil.rmtree(other, ignore_errors=True)
