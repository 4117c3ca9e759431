"""The only room that imports Numba: decorators, bundles of arrays, and the cache of kernels on disk."""

from .arrays import Bundle, bundle
from .decorators import compiled, compiled_entry, direct, inlined, interpreted, is_cached, is_compiled, named
from .folder import cache_folder, cache_home, compiler_version, jit_enabled

__all__ = [
    "Bundle",
    "bundle",
    "cache_folder",
    "cache_home",
    "compiled",
    "compiled_entry",
    "compiler_version",
    "direct",
    "inlined",
    "interpreted",
    "is_cached",
    "is_compiled",
    "jit_enabled",
    "named",
]
