"""The only place that imports Numba: the decorators, and the cache folder that follows every edit.

Numba's own disk cache looks at the file of the decorated function only, so an edit in a function that it calls leaves a
stale kernel behind (reproduced). Here the cache folder's name is the hash of *all* sources of the package that hold compiled
code, of Numba's version and of the processor. ``NUMBA_CACHE_DIR`` is read once at Numba's import, hence the change of
``numba.core.config.CACHE_DIR`` while a kernel is decorated.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config as _numba_config

_F = TypeVar("_F", bound=Callable[..., Any])

_UNUSED_DAYS = 30
_PACKAGE = Path(__file__).resolve().parent


def jit_enabled() -> bool:
    """Whether functions are compiled (``NUMBA_DISABLE_JIT`` is not set)."""
    return not _numba_config.DISABLE_JIT


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
    for part in (numba.__version__, platform.machine(), platform.python_version(), str(_numba_config.CPU_NAME), str(_cpu_name())):
        digest.update(part.encode() + b"\0")
    for path in sorted(_PACKAGE.rglob("*.py")):
        source = path.read_bytes()
        if b"compiled" in source:
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + source)
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


def compiled(function: _F) -> _F:
    """Compile a transition function; it is part of the kernels that call it and is not cached alone."""
    return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]


def compiled_entry(function: _F) -> _F:
    """Compile an entry kernel and keep it on disk; it runs without the GIL."""
    if not jit_enabled():
        return function
    folder = cache_folder()
    if folder is None:
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]
    previous = _numba_config.CACHE_DIR
    _numba_config.CACHE_DIR = str(folder)
    try:
        return numba.njit(nogil=True, cache=True)(function)  # type: ignore[no-any-return]
    finally:
        _numba_config.CACHE_DIR = previous


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether an entry kernel has machine code in this process already."""
    return bool(getattr(function, "signatures", ()))


def is_cached(function: Callable[..., Any]) -> bool:
    """Whether an entry kernel has been stored on disk for this version (an index file exists)."""
    folder = cache_folder() if jit_enabled() else None
    name = getattr(function, "__name__", "")
    return folder is not None and any(folder.rglob(f"*.{name}-*.nbi"))
