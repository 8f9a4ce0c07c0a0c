#!/usr/bin/python3
"""Checks that handlers tell of changes in one way only: through their call (Changed, Deleted,
ReplaceWith, NoEffect), or, where no command runs, through a ChangeRecorder.

In server/commands no code reaches the effects, their audit or the events past them. Prints each
breach as file:line and exits 1 if there is one.

  changes.py [the source tree]
"""
import re
import sys

from lib import cpp

FOLDER = ("server/commands",)

# What is reached past the recorders, and what to do instead.
RULES = (
    (re.compile(r"(?:\.|->)\s*(?:effects|notifications)\b|<\s*(?:Effects|Notifications)\s*>"),
     "say it through the call, or through ChangeRecorder where no command runs"),
    (re.compile(r"\b(?:EffectSink|ChangeAudit)\b|(?:\.|->)\s*audit\s*\("),
     "what handlers say is heard and checked behind CommandCall"),
)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found, count = [], 0
    for path, text in cpp.sources(root, FOLDER):
        code = cpp.code_of(text)
        count += 1
        found += [f"{path}:{cpp.line_of(code, match.start())}: {' '.join(match.group().split())}: {sentence}"
                  for rule, sentence in RULES for match in rule.finditer(code)]
    print("\n".join(found) or f"changes: {count} files of handlers tell of them in one way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
