#!/usr/bin/env python3
"""Checks that every relative link of the Markdown files leads to a file of the project."""

import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
listed = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
    cwd=root, capture_output=True, text=True, check=True,
).stdout.split()
broken = 0
for name in listed:
    text = re.sub(r"```.*?```", "", (root / name).read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path = link.split("#")[0]
        if path and "://" not in link and not ((root / name).parent / path).exists():
            print(f"{name}: broken link {link}")
            broken += 1
print(f"{len(listed)} documents, {broken} broken links")
sys.exit(broken > 0)
