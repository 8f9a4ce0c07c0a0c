#!/usr/bin/python3
"""Checks that parts stand alone: no unit and no folder reaches itself through others.

A unit is a header with its source. It uses a unit whose header it includes, and one whose class it
names in a forward declaration. Headers of bodies (…_impl.h) belong to the unit whose name theirs
begins with. Folders are those that lie below protocol, storage, scripting and server; what
lies directly in one of these is a folder of its own. No folder has more than 25 units. Prints each
breach, with the file:line of a circle's first step, and exits 1 if there is one.

  units.py [the source tree]
"""
import collections
import pathlib
import re
import sys

TOPS = ("protocol", "storage", "scripting", "server")
UNITS_MAX = 25

INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
DECLARED = re.compile(r"^(?:class|struct) (\w+);", re.M)
PUBLIC = "inline namespace v1"
DEFINED = re.compile(r"^(?:class|struct) (\w+)\b[^;{]*\{", re.M)


def stem(path):
    return re.sub(r"\.(h|cc)$", "", path)


def unit_of(path, plain):
    """Of a/b.h that is a/b. Of a header of bodies it is the one whose name its own begins with."""
    name = stem(path)
    if name.endswith("_impl"):
        name = name.removesuffix("_impl")
        while name not in plain and "_" in name:
            name = name.rpartition("_")[0]
    return name


def read(root):
    """The text of every unit, and its files."""
    files = [file.relative_to(root).as_posix() for top in TOPS for file in sorted((root / top).rglob("*"))
             if file.suffix in (".h", ".cc")]
    plain = {stem(file) for file in files if not stem(file).endswith("_impl")}
    texts = collections.defaultdict(str)
    parts = collections.defaultdict(list)
    for file in files:
        unit = unit_of(file, plain)
        texts[unit] += (root / file).read_text() + "\n"
        parts[unit].append(file)
    return texts, parts


def homes(texts):
    """Which unit defines a class. The public ones stand in a namespace of their own, where they may have the
    names of others, and nothing but public headers declares them."""
    return {name: unit for unit, text in texts.items() if PUBLIC not in text for name in DEFINED.findall(text)}


def place(root, parts, texts, unit, other):
    """The file:line where one unit uses another."""
    home = homes(texts)
    for file in parts[unit]:
        for number, line in enumerate((root / file).read_text().split("\n"), 1):
            paths, names = INCLUDE.findall(line), DECLARED.findall(line)
            if other in [unit_of(path, texts) for path in paths] + [home.get(name) for name in names]:
                return f"{file}:{number}"
    return unit


def uses(texts):
    """Which units each unit uses."""
    home = homes(texts)
    graph = {}
    for unit, text in texts.items():
        used = {unit_of(path, texts) for path in INCLUDE.findall(text)} & texts.keys()
        used |= {home[name] for name in DECLARED.findall(text) if name in home}
        graph[unit] = used - {unit}
    return graph


def knots(graph):
    """Sets of nodes that reach each other (Tarjan's strongly connected components, without recursion)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    knot, stack[at:] = stack[at:], []
                    on_stack -= set(knot)
                    if len(knot) > 1:
                        found.append(sorted(knot))
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(sorted(graph.get(following, ())))))
            elif following in on_stack:
                low[node] = min(low[node], index[following])
    return found


def a_circle(graph, knot):
    """One way from the first of the knot back to it, as a list."""
    ways = {knot[0]: [knot[0]]}
    queue = collections.deque(knot[:1])
    while queue:
        node = queue.popleft()
        for following in sorted(graph[node] & set(knot)):
            if following == knot[0]:
                return ways[node] + [following]
            if following not in ways:
                ways[following] = ways[node] + [following]
                queue.append(following)
    return []


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    texts, parts = read(root)
    graph = uses(texts)
    folders = collections.defaultdict(set)
    sizes = collections.Counter()
    for unit, used in graph.items():
        here = unit.rpartition("/")[0]
        sizes[here] += 1
        folders[here] |= {other.rpartition("/")[0] for other in used} - {here}
    found = []
    for knot in knots(graph):
        circle = a_circle(graph, knot)
        where = place(root, parts, texts, circle[0], circle[1])
        found.append(f"{where}: {len(knot)} units reach each other: {' -> '.join(circle)}")
    for knot in knots(dict(folders)):
        circle = a_circle(folders, knot)
        where = next(place(root, parts, texts, unit, other)
                     for unit in sorted(graph) if unit.rpartition("/")[0] == circle[0]
                     for other in sorted(graph[unit]) if other.rpartition("/")[0] == circle[1])
        found.append(f"{where}: {len(knot)} folders reach each other: {' -> '.join(circle)}")
    found += [f"{folder}: {count} units, more than {UNITS_MAX}"
              for folder, count in sorted(sizes.items()) if count > UNITS_MAX]
    print("\n".join(found) or f"units: {len(graph)}, and none reaches itself through others")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
