"""What nccl-tests makes of names, sizes and counts; figures worked out from its sources by hand."""

from fractions import Fraction

import pytest

from scalefab.errors import InputError
from scalefab.sweep import nccl
from scalefab.sweep.nccl import Operation, Size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8", 8),
        ("128K", 131072),
        ("128k", 131072),
        ("256M", 1 << 28),
        ("1G", 1 << 30),
        ("0.5K", 512),
        ("64KiB", 65536),
        (" 4 M", 4 << 20),
    ],
)
def test_sizes_have_binary_suffixes(text: str, size: int) -> None:
    assert nccl.read_size(text, "-b") == size


@pytest.mark.parametrize("text", ["", "0", "-8", "64KB", "1T", "0.3K", "8x", "1e6", "9" * 50, "1025G", "nan", "8;9"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError, match=r"^-b: "):
        nccl.read_size(text, "-b")


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("all_reduce", Operation.ALL_REDUCE),
        ("all_reduce_perf", Operation.ALL_REDUCE),
        ("alltoall_perf", Operation.ALL_TO_ALL),
        ("all-to-all", Operation.ALL_TO_ALL),
        ("Reduce_Scatter", Operation.REDUCE_SCATTER),
        ("broadcast_perf", Operation.BROADCAST),
        ("sendrecv_perf", Operation.SENDRECV),
        ("all_gather_perf", Operation.ALL_GATHER),
    ],
)
def test_names(name: str, operation: Operation) -> None:
    assert nccl.read_operation(name) is operation


def test_unknown_names_have_a_near_miss() -> None:
    with pytest.raises(InputError, match="did you mean 'all_to_all'"):
        nccl.read_operation("altoall")
    with pytest.raises(InputError, match="did you mean 'bfloat16'"):
        nccl.read_datatype("bfloat_16")


@pytest.mark.parametrize(
    ("operation", "asked", "datatype", "ranks", "size"),
    [
        (Operation.ALL_REDUCE, 8, "float", 64, Size(8, 2)),
        (Operation.ALL_REDUCE, 7, "float", 64, Size(4, 1)),
        (Operation.BROADCAST, 1023, "double", 8, Size(1016, 127)),
        (Operation.SENDRECV, 1023, "half", 8, Size(1022, 511)),
        (Operation.ALL_GATHER, 1 << 20, "float", 8, Size(1 << 20, 32768)),
        (Operation.ALL_GATHER, 1 << 20, "float", 72, Size(1043712 + 4608, 3640)),  # 262144 / 72 = 3640.9 -> 3640, 16 B aligned
        (Operation.REDUCE_SCATTER, 1000, "int8", 3, Size(3 * 320, 320)),  # 333 -> 320
        (Operation.ALL_TO_ALL, 1000, "double", 3, Size(3 * 40 * 8, 40)),  # 125 / 3 = 41 -> 40
        (Operation.ALL_TO_ALL, 512, "float", 64, Size(0, 0)),  # 8 B a rank is less than 16
    ],
)
def test_rounding(operation: Operation, asked: int, datatype: str, ranks: int, size: Size) -> None:
    assert nccl.rounded(operation, asked, datatype, ranks) == size


def test_bus_factors_are_those_of_performance_md() -> None:
    factors = {operation.value: nccl.bus_factor(operation, 8) for operation in Operation}
    assert factors == {
        "all_reduce": Fraction(14, 8),
        "all_gather": Fraction(7, 8),
        "reduce_scatter": Fraction(7, 8),
        "all_to_all": Fraction(7, 8),
        "broadcast": 1,
        "sendrecv": 1,
    }


def test_steps() -> None:
    assert nccl.sizes(8, 100, 2) == (8, 16, 32, 64)
    assert nccl.sizes(5, 5, 10) == (5,)
    with pytest.raises(InputError) as caught:
        nccl.sizes(8, 4, 1)
    assert [problem.file for problem in caught.value.problems] == ["-e", "-f"]
