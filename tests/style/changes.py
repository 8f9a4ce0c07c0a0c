#!/usr/bin/python3
"""Checks that a change of a key is told of in one way only. Handlers say it through their call
(Changed, Deleted, ReplaceWith, NoEffect); what changes while no handler says so, a lease that ends,
a key whose time is over, is said through a ChangeRecorder.

In server/commands no code reaches the effects, their audit or the events past these two, and in the
rest of the server none adds an effect or sends an event past them. Prints each breach as file:line
and exits 1 if there is one.

  changes.py [the source tree]
"""
import re
import sys

from lib import cpp

RECORDERS = ("server/dispatch/command.h", "server/dispatch/effects/change_recorder.h")

# (where, what is reached past the recorders, what to do instead)
RULES = (
    ("server/commands/",
     re.compile(r"(?:\.|->)\s*(?:effects|notifications)\b|<\s*(?:Effects|Notifications)\s*>"),
     "say it through the call, or through ChangeRecorder where no handler says it"),
    ("server/commands/",
     re.compile(r"\b(?:EffectSink|ChangeAudit)\b|(?:\.|->)\s*audit\s*\("),
     "what handlers say is heard and checked behind CommandCall"),
    ("server/",
     re.compile(r"\beffects_?\s*(?:\.|->)\s*Add\s*\(|\bnotifications_?\s*(?:\.|->)\s*Notify\s*\("),
     "say it through a ChangeRecorder"),
)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found, count = [], 0
    for path, text in cpp.sources(root, ("server",)):
        if path in RECORDERS:
            continue
        code = cpp.code_of(text)
        count += 1
        found += [f"{path}:{cpp.line_of(code, match.start())}: {' '.join(match.group().split())}: {sentence}"
                  for where, rule, sentence in RULES if path.startswith(where)
                  for match in rule.finditer(code)]
    print("\n".join(found) or f"changes: {count} files of the server tell of them in one way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
