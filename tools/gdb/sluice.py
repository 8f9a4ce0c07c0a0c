"""Pretty-printers for gdb: keys with their values (Entry), arguments (Args).

  gdb -x tools/gdb/sluice.py build-gdb/sluice
  (gdb) print *entry          "lock:build" = "worker-1", db 0, ends at 30000 ms of engine time
  (gdb) print call.args       SET "lock:build" "worker-1" "NX"

They need a build with the types in it: the preset `gdb`, not the -g1 of build-test/. An Entry is read
by its layout, which storage/keyspace/entry.h describes: change both together.
"""
import gdb
import gdb.printing

TEXT_MAX = 200  # bytes shown of one text


def quoted(data):
    """Bytes as redis-cli shows them."""
    shown = bytes(data[:TEXT_MAX])
    text = "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\x{byte:02x}"
                   for byte in shown)
    return f'"{text}"' + (f"... ({len(data)} bytes)" if len(data) > TEXT_MAX else "")


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size)) if size else b""


class EntryPrinter:
    """sluice::Entry: header, timer, Unix deadline, long key's length, key, value."""

    HEADER, TIMER, DEADLINE, LONG_LENGTH, OUTSIDE = 8, 18, 8, 4, 12
    TIMER_DEADLINE_AT = 12  # behind the two links of 6 bytes each
    VOLATILE, ABSOLUTE, FORM_SHIFT, LONG_KEY = 1, 2, 4, 255
    INT32, INT64, INLINE, OUTSIDE_FORM = range(4)

    def __init__(self, value):
        self.value = value
        self.base = int(value.address)

    def field(self, name):
        return int(self.value[name])

    def number(self, at, size, signed=False):
        return int.from_bytes(memory(self.base + at, size), "little", signed=signed)

    def content(self, at):
        form = self.field("flags_") >> self.FORM_SHIFT
        if form in (self.INT32, self.INT64):
            return str(self.number(at, 4 if form == self.INT32 else 8, signed=True))
        if form == self.INLINE:
            return quoted(memory(self.base + at, self.field("value_length_")))
        address = self.number(at, 6)
        kind = gdb.Value(self.field("type_")).cast(gdb.lookup_type("sluice::ValueType"))
        name = str(kind).rsplit("::", 1)[-1].removeprefix("k")
        pointed = "TextBlock" if name == "String" else "Value"
        return f"{name} in *(sluice::{pointed}*)0x{address:x}"

    def to_string(self):
        flags = self.field("flags_")
        at, ends = self.HEADER, ""
        if flags & self.VOLATILE:
            ends = f", ends at {self.number(at + self.TIMER_DEADLINE_AT, 6)} ms of engine time"
            at += self.TIMER
        if flags & self.ABSOLUTE:
            ends = f", ends at {self.number(at, self.DEADLINE, signed=True)} ms of Unix time"
            at += self.DEADLINE
        length = self.field("key_length_")
        if length == self.LONG_KEY:
            length = self.number(at, self.LONG_LENGTH)
            at += self.LONG_LENGTH
        key = quoted(memory(self.base + at, length))
        return f"{key} = {self.content(at + length)}, db {self.field('database_id_')}{ends}"


class ArgsPrinter:
    """sluice::Args, a std::span of string views: the request as it would be typed."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        count = int(self.value["_M_extent"]["_M_extent_value"])
        words = []
        for i in range(min(count, TEXT_MAX)):
            word = self.value["_M_ptr"][i]
            data = memory(int(word["_M_str"]), min(int(word["_M_len"]), TEXT_MAX + 1))
            plain = i == 0 and data.isalnum()
            words.append(data.decode() if plain else quoted(data))
        return " ".join(words) + (f" ... ({count} words)" if count > TEXT_MAX else "")


def register():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("sluice")
    printers.add_printer("Entry", r"^sluice::Entry$", EntryPrinter)
    printers.add_printer("Args", r"^std::span<std::basic_string_view<char.*> const,", ArgsPrinter)
    # With the program itself, so that they come before those of libstdc++, where that is shared.
    program = gdb.objfiles()[0] if gdb.objfiles() else None
    gdb.printing.register_pretty_printer(program, printers, replace=True)


register()
