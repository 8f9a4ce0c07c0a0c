"""The libraries of the server, as the lines sluice_library(name folder needs...) of CMake list them. For the checks
beside it: these lines are the one place that says which rooms there are, in which order, and who may use whom."""
import pathlib
import re

LISTS = ("CMakeLists.txt", "cmake/library.cmake")
LINE = re.compile(r"^sluice_library\((\w+)\s+(\S+?)((?:\s+[^)]*)?)\)$", re.M)


class Library:
    def __init__(self, folder, needs):
        self.folder = folder
        self.needs = needs  # other libraries of this list, directly and through others; itself among them


def libraries(root):
    """All of them in their order, from the lowest, by name."""
    found = {}
    for listed in LISTS:
        for name, folder, words in LINE.findall((pathlib.Path(root) / listed).read_text()):
            found[name] = Library(folder, {name, *words.split()})
    for library in found.values():
        while True:
            needs = set().union(*(found[name].needs for name in library.needs if name in found))
            needs &= found.keys()
            if needs == library.needs:
                break
            library.needs = needs
    return found


def may_include(root):
    """A folder: the folders that it may include, itself among them."""
    found = libraries(root)
    return {library.folder: {found[name].folder for name in library.needs} for library in found.values()}


def rooms(root):
    """The folders just below server/, from the lowest."""
    names = (library.folder.split("/") for library in libraries(root).values())
    return list(dict.fromkeys(parts[1] for parts in names if parts[0] == "server"))
