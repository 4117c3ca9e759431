"""One tree of errors: each has a stable code, an exit code and its facts as attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says when it ends; documented in the README and in ``scalefab --help``."""

    OK = 0
    FAILED = 1  #: a check or a case failed
    INPUT = 2  #: the user's input cannot be used
    INFEASIBLE = 3  #: the input is valid, what it asks for cannot be built
    NO_PROGRESS = 4  #: the simulated network stopped moving
    INTERRUPTED = 5  #: Ctrl-C or a limit; partial results are valid


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in the user's input, printed as one line.

    Parameters
    ----------
    message
        What was wrong, with the value that was found.
    expected
        What would have been right ("" when the message says it all).
    near
        The near miss: a known name that looks like the unknown one ("" when none does).
    file, line
        Where; ``line`` counts from 1, 0 = unknown (for example a ``--set`` override).
    key
        Dotted path of the setting, "" at the top.
    """

    message: str
    expected: str = ""
    near: str = ""
    file: str = ""
    line: int = 0
    key: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.line else (f"{self.file}: " if self.file else "")
        key = f"{self.key}: " if self.key else ""
        expected = f"; expected {self.expected}" if self.expected else ""
        near = f"; did you mean '{self.near}'?" if self.near else ""
        return f"{where}{key}{self.message}{expected}{near}"


class ScalefabError(Exception):
    """Root of all errors that a user may meet.

    Attributes
    ----------
    code
        Stable identifier, for scripts.
    exit_code
        What the command line exits with.
    """

    code = "SCALEFAB"
    exit_code = ExitCode.FAILED


class UnitError(ScalefabError, ValueError):
    """A text is not a quantity of the wanted kind."""

    code = "UNIT"
    exit_code = ExitCode.INPUT

    def __init__(self, text: object, expected: str, reason: str = "") -> None:
        self.text = text
        self.expected = expected
        self.reason = reason
        super().__init__(f"{reason or f'{text!r} cannot be read'}; expected {expected}")


class InputError(ScalefabError):
    """The user's input cannot be used. All problems found are carried at once."""

    code = "INPUT"
    exit_code = ExitCode.INPUT

    def __init__(self, problems: Sequence[Problem]) -> None:
        if not problems:
            raise ValueError("an InputError carries at least one problem")
        self.problems = tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class InfeasibleError(InputError):
    """The input is valid but what it describes does not fit (radix, ports, memory)."""

    code = "INFEASIBLE"
    exit_code = ExitCode.INFEASIBLE


class WireError(ScalefabError, ValueError):
    """Bytes that are not a frame of the profile, or values that no frame can carry.

    Attributes
    ----------
    reason
        Stable word: ``LENGTH``, ``FCS``, ``ICRC``, ``VERSION``, ``OPCODE``, ``RANGE``...
    field
        Name of the field at fault, ``layer.field``.
    offset_bytes
        Offset of that field from the first byte of what was read (a frame's first OEFH byte), -1 when none.
    """

    code = "WIRE"
    exit_code = ExitCode.INPUT

    def __init__(self, reason: str, field: str, offset_bytes: int, message: str) -> None:
        self.reason = reason
        self.field = field
        self.offset_bytes = offset_bytes
        super().__init__(f"{reason} at {field} (byte {offset_bytes}): {message}")


class NoProgressError(ScalefabError):
    """The simulated network stopped with work left."""

    code = "NO_PROGRESS"
    exit_code = ExitCode.NO_PROGRESS


class RunInterrupted(ScalefabError):
    """A run was stopped early; its partial result is valid."""

    code = "INTERRUPTED"
    exit_code = ExitCode.INTERRUPTED


class MissingExtraError(ScalefabError):
    """What was asked for needs a package that is not installed.

    Attributes
    ----------
    package
        What is missing.
    extra
        The extra of this package that brings it.
    """

    code = "MISSING_EXTRA"
    exit_code = ExitCode.INPUT

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed; expected: pip install 'scalefab[{extra}]'")
