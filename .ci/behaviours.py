#!/usr/bin/env python3
"""Checks that each promise of tests/behaviours.toml is held by tests that ran and passed.

usage: behaviours.py behaviours.toml cargo-test.log...

The logs are what `cargo test` printed (both streams): the check builds and runs nothing.
"""

import re
import sys
import tomllib

HEADER = re.compile(r"^\s+Running .*\(.*?([^/\\]+)-[0-9a-f]{16}(?:\.exe)?\)$")
# Not only at a line's start: what a test prints past the harness can stand before it.
RESULT = re.compile(r"\btest (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")


def outcomes(logs):
    """Each test's outcomes, one per run of it: `binary::path` to a set of `ok`, `FAILED`, `ignored`."""
    found = {}
    for log in logs:
        binary = None
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                line = line.rstrip("\n")
                if header := HEADER.match(line):
                    binary = "lib" if header[1] == "subagent" else header[1]
                elif line.lstrip().startswith("Doc-tests "):
                    binary = None
                elif binary:
                    for test, outcome in RESULT.findall(line):
                        found.setdefault(f"{binary}::{test}", set()).add(outcome)
    return found


def complaints(table, ran):
    required = {id for group in table["required"].values() for id in group}
    entries = {id: entry for id, entry in table.items() if id != "required"}
    for id in sorted(required - entries.keys()):
        yield f"{id}: required, and there is no entry"
    for id, entry in entries.items():
        if "none" in entry:
            if not str(entry["none"]).strip() or "test" in entry:
                yield f"{id}: `none` stands alone and gives the reason"
            continue
        tests = entry.get("test", "")
        tests = [tests] if isinstance(tests, str) else tests
        if not tests or not all(tests):
            yield f"{id}: no test holds it yet ({entry['holds']})"
            continue
        for test in tests:
            if test not in ran:
                yield f"{id}: {test} did not run"
            elif ran[test] != {"ok"}:
                yield f"{id}: {test} was {', '.join(sorted(ran[test]))}"


def main():
    path, *logs = sys.argv[1:]
    with open(path, "rb") as file:
        table = tomllib.load(file)
    ran = outcomes(logs)
    if not ran:
        sys.exit("no test in " + ", ".join(logs))
    found = list(complaints(table, ran))
    for line in found:
        print(line)
    entries = [entry for id, entry in table.items() if id != "required"]
    none = sum("none" in entry for entry in entries)
    print(f"behaviours: {len(entries)} entries, {none} without a counterpart here, {len(found)} complaints; {len(ran)} tests ran")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
