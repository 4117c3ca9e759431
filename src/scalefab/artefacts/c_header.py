"""The C header: sizes, bit positions and widths of all fields, enumerations, and two functions that read and write a field."""

from __future__ import annotations

from collections.abc import Iterator

from ..protocol.fields import Field, Header
from ..protocol.naming import enumerations, header_key, headers
from .constants import constants
from .names import head

_FUNCTIONS = """
/* Read `width` bits from bit `bit` (0 = most significant bit of p[0]), width 1 .. 64. */
static inline uint64_t scalefab_get(const uint8_t *p, unsigned bit, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = bit; i < bit + width; i++)
        value = value << 1 | (uint64_t)(p[i / 8] >> (7 - i % 8) & 1);
    return value;
}

/* Write them; other bits stay. */
static inline void scalefab_set(uint8_t *p, unsigned bit, unsigned width, uint64_t value)
{
    for (unsigned i = bit + width; i-- > bit; value >>= 1)
        p[i / 8] = (uint8_t)((p[i / 8] & ~(0x80u >> i % 8)) | ((value & 1) ? 0x80u >> i % 8 : 0u));
}

/* The field F of layout L in the bytes at p; ICRC and FCS are least significant byte first, read those with scalefab_get_le32. */
#define SCALEFAB_GET(p, L, F) scalefab_get((p), SCALEFAB_##L##_##F##_BIT, SCALEFAB_##L##_##F##_WIDTH)
#define SCALEFAB_SET(p, L, F, value) scalefab_set((p), SCALEFAB_##L##_##F##_BIT, SCALEFAB_##L##_##F##_WIDTH, (value))

static inline uint32_t scalefab_get_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
"""


def c_header() -> str:
    """Return the text of ``scalefab.h``."""
    lines = [
        head("//").replace("// ", "/* ", 1).replace("\n// ", "\n   ") + " */",
        "#ifndef SCALEFAB_H",
        "#define SCALEFAB_H",
        "",
    ]
    lines += ["#include <stdint.h>", ""]
    for name, (value, text) in constants().items():
        lines.append(f"#define SCALEFAB_{name} {_number(value)} /* {text} */")
    for enumeration in enumerations():
        lines += ["", f"enum scalefab_{enumeration.name} {{"]
        lines += [f"    SCALEFAB_{enumeration.name.upper()}_{name} = {value}," for name, value in enumeration.values.items()]
        lines.append("};")
    for header in headers():
        lines += ["", *_header(header)]
    return "\n".join(lines) + "\n" + _FUNCTIONS + "\n#endif\n"


def _header(header: Header) -> Iterator[str]:
    key = header_key(header).upper()
    order = "" if header.byte_order == "big" else ", least significant byte first"
    yield f"#define SCALEFAB_{key}_BYTES {header.size_bytes} /* {header.name}{order} */"
    for f in header.fields:
        for one in (f, *f.parts):
            yield from _field(key, one)
    if header.repeat:
        element = header.repeat.element
        name = f"SCALEFAB_{key}_{element.name.upper()}"
        yield f"#define {name}_WIDTH {element.width} /* each of the {header.repeat.count} that follow: {element.meaning} */"


def _field(key: str, f: Field) -> Iterator[str]:
    name = f"SCALEFAB_{key}_{f.name.upper()}"
    yield f"#define {name}_BIT {f.bit} /* {f.meaning} ({f.origin}) */"
    yield f"#define {name}_WIDTH {f.width}"
    if f.bias:
        yield f"#define {name}_BIAS {f.bias} /* value = bits + this */"
    if f.constant is not None:
        yield f"#define {name}_VALUE {_number(f.constant)}"


def _number(value: int) -> str:
    if value < 1 << 15:
        return str(value)
    return f"0x{value:X}u" if value < 1 << 32 else f"UINT64_C(0x{value:X})"
