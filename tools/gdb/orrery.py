# SPDX-License-Identifier: MIT
# Pretty-printers of gdb for Orrery. `./dev install` installs this file as share/orrery/gdb/orrery.py; load it with
#
#     (gdb) source PREFIX/share/orrery/gdb/orrery.py
#
# Ids print as in all texts of the library: an entity as 6v1. Convenience functions read the world, which needs a library
# with symbols (`./dev install --debug`):
#
#     print world                                  # tick, and numbers of entities, clusters, types and systems
#     print $orr_type_name(world, type)            # "Position"
#     print $orr_system_name(world, system)        # "move"
#     print $orr_cluster_types(world, cluster)     # "Position, Velocity"
#     print $orr_string_text(world, string)        # "a text"
#
# print/r shows a value without these printers. docs/BUILDING.md has an example.
import gdb
import gdb.printing

NO_SYMBOLS = "no symbols of the library; link orrery-debug, which ./dev install --debug installs"


class EntityPrinter:
    """As orr_id_print(): index, generation, and the salt if it is not 0."""

    def __init__(self, value):
        self.id = int(value["id"])

    def to_string(self):
        if self.id == 0:
            return "null"
        salt = self.id >> 56
        text = "%dv%d" % (self.id & 0xFFFFFFFF, self.id >> 32 & 0xFFFFFF)
        return text + ("s%d" % salt if salt != 0 else "")


class TypePrinter:
    """The name needs a world: $orr_type_name(world, type)."""

    def __init__(self, value):
        self.id = int(value["id"])

    def to_string(self):
        return "type %d" % self.id if self.id != 0 else "null"


class HandlePrinter:
    """A handle of an id and a generation: "cluster 3v1"; null if the id is 0."""

    def __init__(self, kind, value):
        self.kind = kind
        self.id, self.generation = int(value["id"]), int(value["generation"])

    def to_string(self):
        return "%s %dv%d" % (self.kind, self.id, self.generation) if self.id != 0 else "null"


class WorldPrinter:
    """A world, or a pointer to one."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        address = ""
        if self.value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            if int(self.value) == 0:
                return "null"
            address = "%s " % hex(int(self.value))
        try:
            return "%sworld {%s}" % (address, world_summary(world_of(self.value)))
        except gdb.error as error:
            return "%sworld (%s)" % (address, error)


# ---- reading a world ---------------------------------------------------------------------------------


def world_of(value):
    """The struct of a world, given a world or a pointer to one."""
    try:
        struct = gdb.lookup_type("struct orr_world")
    except gdb.error:
        raise gdb.error(NO_SYMBOLS)
    if len(struct.fields()) == 0:
        raise gdb.error(NO_SYMBOLS)
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        value = value.cast(struct.pointer()).dereference()
    return value


def world_summary(world):
    schedule = world["schedule"]
    parts = [
        ("tick", world["tick"]),
        ("entities", world["index"]["live_count"]),
        ("clusters", world["clusters"]["count"]),
        ("types", world["schema"]["type_count"]),
        ("systems", schedule["system_count"] if int(schedule) != 0 else 0),
    ]
    return ", ".join("%s = %d" % (name, int(value)) for name, value in parts)


def type_name(world, number):
    """Name of the type with this id; None if it is not of this world."""
    schema = world["schema"]
    index = number - int(schema["type_base"])
    if number == 0 or index < 0 or index >= int(schema["type_count"]):
        return None
    return schema["types"][index]["info"]["name"].string()


class OrreryFunction(gdb.Function):
    """A convenience function (world, handle)."""

    def invoke(self, world, handle):
        if handle.type.strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
            raise gdb.GdbError("pass a world and a handle, not a number: %s" % self.__doc__)
        return self.text(world_of(world), handle)


class TypeName(OrreryFunction):
    """$orr_type_name(world, type): name of an orr_type."""

    def __init__(self):
        super().__init__("orr_type_name")

    def text(self, world, handle):
        return type_name(world, int(handle["id"])) or "(not a type of this world)"


class SystemName(OrreryFunction):
    """$orr_system_name(world, system): name of an orr_system."""

    def __init__(self):
        super().__init__("orr_system_name")

    def text(self, world, handle):
        schedule, slot = world["schedule"], int(handle["id"]) - 1
        if int(schedule) == 0 or slot < 0 or slot >= int(schedule["slot_count"]):
            return "(not a system of this world)"
        system = schedule["slots"][slot]
        if int(system) == 0 or int(schedule["generations"][slot]) != int(handle["generation"]):
            return "(removed)"
        return system["desc"]["name"].string()


class ClusterTypes(OrreryFunction):
    """$orr_cluster_types(world, cluster): names of the types of an orr_cluster."""

    def __init__(self):
        super().__init__("orr_cluster_types")

    def text(self, world, handle):
        clusters, number = world["clusters"], int(handle["id"])
        if number == 0 or number > int(clusters["slot_count"]):
            return "(not a cluster of this world)"
        cluster = clusters["slots"][number - 1]["cluster"]
        if int(cluster) == 0 or int(cluster["generation"]) != int(handle["generation"]):
            return "(deleted)"
        ids = [int(cluster["types"][i]["id"]) for i in range(int(cluster["type_count"]))]
        return ", ".join(type_name(world, number) or "?" for number in ids)


class StringText(OrreryFunction):
    """$orr_string_text(world, string): text of an orr_string."""

    def __init__(self):
        super().__init__("orr_string_text")

    def text(self, world, handle):
        schema, number = world["schema"], int(handle["id"])
        if number == 0:
            return ""
        if number > int(schema["blob_count"]):
            return "(not a string of this world)"
        blob = schema["blobs"][number - 1]
        if int(blob["data"]) == 0 or int(blob["generation"]) != int(handle["generation"]):
            return "(freed)"
        chars = gdb.lookup_type("char").pointer()
        return blob["data"].cast(chars).string(length=int(blob["size"]))


# ---- registration ------------------------------------------------------------------------------------

PRINTERS = {
    "orr_entity": EntityPrinter,
    "orr_type": TypePrinter,
    "orr_cluster": lambda value: HandlePrinter("cluster", value),
    "orr_system": lambda value: HandlePrinter("system", value),
    "orr_string": lambda value: HandlePrinter("string", value),
    "orr_array": lambda value: HandlePrinter("array", value),
    "orr_world": WorldPrinter,
}


class OrreryPrinters(gdb.printing.PrettyPrinter):
    """Finds the printer of a value by the name of its struct; of pointers only those to worlds."""

    def __init__(self):
        super().__init__("orrery")

    def __call__(self, value):
        plain = value.type.strip_typedefs().unqualified()
        if plain.code == gdb.TYPE_CODE_PTR:
            target = plain.target().strip_typedefs().unqualified()
            return WorldPrinter(value) if target.tag == "orr_world" else None
        if plain.code != gdb.TYPE_CODE_STRUCT or plain.tag not in PRINTERS:
            return None
        return PRINTERS[plain.tag](value)


gdb.printing.register_pretty_printer(None, OrreryPrinters(), replace=True)
TypeName()
SystemName()
ClusterTypes()
StringText()
