#!/usr/bin/env python3
"""Says of each requirement of docs/requirements.md, and of each fault of docs/faults.md, which tests prove it, and through
what they reach it.

  scripts/requirements.py           fails where one of the pages is out of date, or something is not proven
  scripts/requirements.py --write   writes docs/requirements-coverage.md and docs/faults-coverage.md
  scripts/requirements.py --list    prints what is proven only inside a crate

A test names a requirement in a comment right above it or in it, as `A-33`, or several as `A-33 to A-35`; a fault as `A33`.
Comments elsewhere count for nothing, nor do tests that are ignored. The examples of the library and the scripts that `make test`
runs against other people's programs are tests, too."""
import collections, pathlib, re, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Only what is not behavior, or a figure, may stand here.
NOT_TESTED = {
    'A-89': "The original's plan of work.",
    'A-90': '`make test` is what it asks for.',
    'A-95': "The original's files; `ARCHITECTURE.md` shows ours.",
    'O-34': 'How the original was written.',
    'P-66': "The original's outlook.",
    'A67': '`make bench` measures it.',
    'E03': '`make bench` measures it.',
    'E04': '`make bench` measures it.',
}

# By where the test stands; the first that fits.
REACHED = [
    ('crates/haft-cli/tests/', 'binary'),
    ('crates/haft/tests/', 'library'),
    ('crates/haft/examples/', 'library'),
    ('crates/mcp/tests/', 'protocol'),
    ('crates/acp/tests/', 'protocol'),
    ('crates/telegram/tests/', 'protocol'),
    ('scripts/', 'protocol'),
    ('', 'crate'),
]

# What is proven: its name, its list, its page, how its IDs look.
LISTS = [
    ('requirement', 'docs/requirements.md', 'docs/requirements-coverage.md', r'[ACHOPT]-\d{2,3}'),
    ('fault', 'docs/faults.md', 'docs/faults-coverage.md', r'[A-E]\d\d'),
]
ID = '|'.join(id for _, _, _, id in LISTS)
TEST = re.compile(r'^\s*#\[(?:tokio::)?test\b')
MAIN = re.compile(r'^(?:async )?fn main\(')
FUNCTION = re.compile(r'^(\s*)(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)')
SCRIPTS = re.compile(r'^(mcp|acp|telegram|serve|fleet)(_\w+)?\.(sh|py|mjs|cjs)$')


def ids(comments):
    found = set()
    for comment in comments:
        found |= set(re.findall(rf'\b(?:{ID})\b', comment))
        for first, last in re.findall(rf'\b({ID}) to ({ID})\b', comment):
            found |= {f'{first[:-2]}{n:02}' for n in range(int(first[-2:]), int(last[-2:]) + 1)}
    return found


def tests_of(text, is_example):
    """Yields the name of each test with the IDs of its comments: those right above it, and those in it."""
    lines = text.split('\n')
    for at, line in enumerate(lines):
        if not (TEST.match(line) or (is_example and MAIN.match(line))):
            continue
        start = at
        while start and re.match(r'^\s*(//|#\[)', lines[start - 1]):
            start -= 1
        head = next((k for k in range(at, min(at + 8, len(lines))) if FUNCTION.match(lines[k])), None)
        if head is None or any(re.match(r'\s*#\[ignore\b', l) for l in lines[start:head]):
            continue
        indent, name = FUNCTION.match(lines[head]).groups()
        end = next((k for k in range(head, len(lines)) if lines[k] == indent + '}'), head)
        yield name, ids(c for l in lines[start:end + 1] for c in re.findall(r'//.*', l))


def tests():
    """Yields each test as its file, its name and its IDs."""
    files = [*ROOT.glob('crates/**/*.rs'), *ROOT.glob('tests/*.rs')]
    for path in sorted(path for path in files if 'target' not in path.parts):
        place = path.relative_to(ROOT).as_posix()
        for name, found in tests_of(path.read_text(), place.startswith('crates/haft/examples/')):
            yield place, name, found
    for path in sorted(path for path in ROOT.glob('scripts/*') if SCRIPTS.match(path.name)):
        comments = re.findall(r'^\s*(?:#|//).*', path.read_text(), re.M)
        yield path.relative_to(ROOT).as_posix(), '', ids(comments)


def reached(places):
    """Through what tests in these files reach what they prove, what is nearest to a person first."""
    ways = {next(way for begins, way in REACHED if place.startswith(begins)) for place in places}
    return [way for way in dict.fromkeys(way for _, way in REACHED) if way in ways]


def page(noun, known, named, summary):
    def row(one):
        shown = [f'`{place}`' + (f' {name}' if name else '') for place, name in named[one]]
        return f'| {one} | {"<br>".join(shown)} | {", ".join(reached(place for place, _ in named[one]))} |'

    unproven = [i for i in known if i not in named and i not in NOT_TESTED]
    without = [i for i in known if i in NOT_TESTED and i not in named]
    return '\n'.join([
        f'# Tests by {noun}',
        '',
        'Written by `scripts/requirements.py --write`; `make check` and `make test` fail where it is out of date.',
        'A test names what it proves in a comment. Where its file stands says through what it reaches that: the binary, the',
        'library `haft`, a protocol, or no more than a crate of this project.',
        '',
        summary + '.',
        '',
        '| id | tests | through |',
        '| --- | --- | --- |',
        *(row(i) for i in known if i in named),
        '',
        *(['## Without a test', '', '| id | why no test |', '| --- | --- |'] if without else []),
        *(f'| {i} | {NOT_TESTED[i]} |' for i in without),
        *([''] if without else []),
        *(['## Not proven yet', '', ', '.join(unproven), ''] if unproven else []),
    ])


def check(noun, source, target, pattern, every):
    """Returns what is wrong with one list and its page."""
    known = re.findall(rf'\*\*({pattern})\*\*', (ROOT / source).read_text())
    named = {i: places for i, places in every.items() if re.fullmatch(pattern, i)}
    inside = [i for i in known if i in named and reached(place for place, _ in named[i]) == ['crate']]
    missing = [i for i in known if i not in named and i not in NOT_TESTED]
    without = [i for i in NOT_TESTED if re.fullmatch(pattern, i)]
    through = sum(i in named for i in known) - len(inside)
    summary = (f'{len(known)} {noun}s: {through} proven through the binary, the library or a protocol, '
               f'{len(inside)} only inside a crate, {len(missing)} not proven yet')
    summary += f', {len(without)} without a test' if without else ''
    text = page(noun, known, named, summary)
    if '--write' in sys.argv:
        (ROOT / target).write_text(text)
    if '--list' in sys.argv:
        for i in inside:
            print(i, *(f'{place} {name}' for place, name in named[i]), sep='\n    ')
    print(summary)
    faults = [f'{i}: no test names it' for i in missing]
    faults += [f'{i}: it is said to have no test, but one names it' for i in without if i in named]
    faults += [f'{i}: there is no such {noun}, but `{named[i][0][0]}` names it' for i in sorted(set(named) - set(known))]
    if not (ROOT / target).exists() or (ROOT / target).read_text() != text:
        faults.append(f'{target} is out of date: run `scripts/requirements.py --write`')
    return faults


def main():
    named = collections.defaultdict(list)
    for place, name, found in tests():
        for one in found:
            named[one].append((place, name))
    faults = [fault for each in LISTS for fault in check(*each, named)]
    print(*faults, sep='\n', end='\n' if faults else '')
    return 1 if faults else 0


sys.exit(main())
