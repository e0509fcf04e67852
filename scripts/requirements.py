#!/usr/bin/env python3
"""Prints the requirements that no test names, and those whose reason for that is out of date.
Fails if there are any. A test names one as `A-33`, or several as `A-33 to A-35`; reasons stand in docs/requirements-coverage.md."""
import pathlib, re, sys

root = pathlib.Path(__file__).resolve().parent.parent
known = re.findall(r'\*\*([ACOPT]-\d\d)\*\*', (root / 'docs/requirements.md').read_text())
code = ''.join(p.read_text() for p in root.glob('crates/**/*.rs') if 'target' not in p.parts)
comments = '\n'.join(re.findall(r'//.*', code))
named = set(re.findall(r'\b[ACOPT]-\d\d\b', comments))
for letter, first, last in re.findall(r'\b([ACOPT])-(\d\d) to [ACOPT]-(\d\d)\b', comments):
    named |= {f'{letter}-{n:02}' for n in range(int(first), int(last) + 1)}
excused = set(re.findall(r'^\| ([ACOPT]-\d\d) ', (root / 'docs/requirements-coverage.md').read_text(), re.M))
missing = [i for i in known if i not in named and i not in excused]
proven = sorted(i for i in excused if i in named)
print(f'{len(known)} requirements, {len(set(known) & named)} named by tests, {len(excused)} with a reason')
for i in missing:
    print(f'{i}: no test names it, and there is no reason')
for i in proven:
    print(f'{i}: has a reason, but a test names it')
sys.exit(1 if missing or proven else 0)
