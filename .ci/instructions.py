"""Instructions per walk of each core path, counted by callgrind, against benches/baseline.json.

usage: instructions.py PROGRAM BASELINE [--bless]
"""

import json
import re
import subprocess
import sys
import tempfile

FEW, MANY = 300, 2300


def instructions(program, path, times):
    with tempfile.TemporaryDirectory() as directory:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", program, path, str(times)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"Collected : (\d+)", told).group(1))


def main():
    program, baseline_path, *flags = sys.argv[1:]
    baseline = json.load(open(baseline_path))
    allowed = baseline["tolerance"]
    failed = False
    for path, before in baseline["instructions"].items():
        # What the start of the program costs is in both, and falls away.
        now = (instructions(program, path, MANY) - instructions(program, path, FEW)) // (MANY - FEW)
        change = now / before - 1 if before else 0
        verdict = "ok"
        if change > allowed:
            verdict, failed = f"MORE than {allowed:.0%} above", True
        elif change < -allowed:
            verdict = "less: bless it, so that it stays so"
        print(f"{path:8} {now:6} instructions, {change:+.1%} of {before}: {verdict}")
        if "--bless" in flags:
            baseline["instructions"][path] = now
    if "--bless" in flags:
        with open(baseline_path, "w") as file:
            file.write(json.dumps(baseline, indent=2) + "\n")
    elif failed:
        sys.exit("a core path costs more than it did: make it cheaper, or say in the commit why, and run with --bless")


main()
