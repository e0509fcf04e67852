#!/usr/bin/env python3
"""Prints the requirements that no test names, and those whose reason for that is out of date. Fails if there are any.
With --list it prints each requirement with the tests that name it.

A test names one in a comment above it or in it, as `A-33`, or several as `A-33 to A-35`; comments elsewhere count for
nothing. Reasons stand in docs/requirements-coverage.md."""
import collections, pathlib, re, sys

root = pathlib.Path(__file__).resolve().parent.parent
ID = r'[ACOPT]-\d\d'
TEST = re.compile(r'^\s*#\[(?:tokio::)?test\b')
FUNCTION = re.compile(r'^(\s*)(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)')


def ids(comment):
    found = set(re.findall(rf'\b{ID}\b', comment))
    for letter, first, last in re.findall(r'\b([ACOPT])-(\d\d) to [ACOPT]-(\d\d)\b', comment):
        found |= {f'{letter}-{n:02}' for n in range(int(first), int(last) + 1)}
    return found


def tests_of(text):
    """Yields the name of each test with the IDs of its comments: those right above it, and those in it."""
    lines = text.split('\n')
    for at, line in enumerate(lines):
        if not TEST.match(line):
            continue
        start = at
        while start and re.match(r'^\s*(//|#\[)', lines[start - 1]):
            start -= 1
        head = next((k for k in range(at, min(at + 8, len(lines))) if FUNCTION.match(lines[k])), None)
        if head is None:
            continue
        indent, name = FUNCTION.match(lines[head]).groups()
        end = next((k for k in range(head, len(lines)) if lines[k] == indent + '}'), head)
        yield name, set().union(*(ids(c) for l in lines[start:end + 1] for c in re.findall(r'//.*', l)), set())


known = re.findall(rf'\*\*({ID})\*\*', (root / 'docs/requirements.md').read_text())
named = collections.defaultdict(list)
for path in sorted(root.glob('crates/**/*.rs')):
    if 'target' in path.parts:
        continue
    for name, found in tests_of(path.read_text()):
        for i in found:
            named[i].append(f'{path.relative_to(root)}: {name}')
excused = set(re.findall(rf'^\| ({ID}) ', (root / 'docs/requirements-coverage.md').read_text(), re.M))
missing = [i for i in known if i not in named and i not in excused]
proven = sorted(i for i in excused if i in named)
if '--list' in sys.argv:
    for i in known:
        print(i, *(named[i] if i in named else ['no test, with a reason' if i in excused else 'NO TEST']), sep='\n    ')
print(f'{len(known)} requirements, {sum(i in named for i in known)} named by tests, {len(excused)} with a reason')
for i in missing:
    print(f'{i}: no test names it, and there is no reason')
for i in proven:
    print(f'{i}: has a reason, but a test names it')
sys.exit(1 if missing or proven else 0)
