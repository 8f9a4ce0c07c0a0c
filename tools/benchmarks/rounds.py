"""Rounds in which two sides do the same in turn, so that what else the machine does hits both."""
from .servers import server


def alternate(bench, name, ours, theirs):
    """What each of two functions gives in every round: two tuples."""
    rounds = []
    for number in bench.rounds():
        bench.progress(f"{name}: round {number}")
        rounds.append((ours(), theirs()))
    return tuple(zip(*rounds))


def on_both(bench, name, measure):
    """The same of `measure(target)` on Sluice and on Redis, each one server for all rounds."""
    with server(bench.binary("sluice")) as ours, server(bench.binary("redis")) as theirs:
        return alternate(bench, name, lambda: measure(ours), lambda: measure(theirs))
