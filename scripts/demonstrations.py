#!/usr/bin/env python3
"""Runs the demonstrations of `docs/demonstrations.md`; fails where a command prints something else than the page says.

    demonstrations.py             all of them, one after the other in one folder, as the page is read
    demonstrations.py TITLE…      each of these in a new folder; a part of a title is enough
    demonstrations.py --alone     those of RECORDED, each in a new folder
    demonstrations.py --record    the same, recorded for the site: `docs/site/recordings/NAME.cast`
    demonstrations.py --write     all of them; writes what they print into the page

Runs the debug binary, or the one that HAFT names. Where commands cannot be confined, it says so and ends with exit code 3.
"""
import os, pty, re, subprocess, sys, tempfile, time
from recording import COLUMNS, cast, write_cast

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
HAFT = os.path.realpath(os.environ.get("HAFT") or os.path.join(ROOT, "target", "debug", "haft"))
PAGE = os.path.join(ROOT, "docs", "demonstrations.md")
RECORDINGS = os.path.join(ROOT, "docs", "site", "recordings")
# What no other agent does. `docs/site/site.js` shows the recording of each below its title.
RECORDED = (
    "One call is undone, and the later ones stay",
    "A session shows how a change came about",
    "A night without questions",
    "Other attempts begin only where the first one fails",
    "Models are compared on your own tasks",
)
LANGUAGE_SERVER = "What a change breaks, by the language server"
# Folder with the language servers of npm; without one, the section above is left out.
NODE_MODULES = os.environ.get("HAFT_NODE_MODULES")
UNCONFINED = 3


class Place:
    """A new home and a new workspace, and nothing of the environment but where programs and models are."""

    def __init__(self, folder):
        self.home = os.path.join(folder, "home")
        self.workspace = os.path.join(self.home, "demo")
        programs = os.path.join(folder, "bin")
        os.makedirs(self.workspace)
        os.mkdir(programs)
        os.symlink(HAFT, os.path.join(programs, "haft"))
        path = [programs, os.environ["PATH"], *([os.path.join(NODE_MODULES, ".bin")] if NODE_MODULES else [])]
        kept = {name: os.environ[name] for name in ("HAFT_MODELS", "LD_LIBRARY_PATH") if name in os.environ}
        self.environment = {"PATH": ":".join(path), "HOME": self.home, "HAFT_HOME": os.path.join(folder, "data"), "LANG": "C.UTF-8", **kept}

    def can_confine(self):
        return "commands: can be confined here" in self.printed("haft doctor")

    def write(self, name, content):
        with open(os.path.join(self.workspace, name), "w") as file:
            file.write(content)

    def printed(self, command):
        """Runs `command` as a person would in a shell, and returns all that it prints."""
        done = subprocess.run(["bash", "-c", f"exec 2>&1\n{command}"], cwd=self.workspace, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        return done.stdout.decode()

    def recorded(self, command):
        """Runs `command` in a terminal, and yields what it prints in pieces, each with the time when it came."""
        terminal, inside = pty.openpty()
        os.set_inheritable(inside, True)
        subprocess.run(["stty", "-F", os.ttyname(inside), "cols", str(COLUMNS), "rows", "40"], check=True)
        process = subprocess.Popen(["bash", "-c", command], cwd=self.workspace, env={**self.environment, "TERM": "xterm-256color"},
                                   stdin=subprocess.DEVNULL, stdout=inside, stderr=inside)
        os.close(inside)
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            yield time.monotonic(), piece.decode(errors="replace")
        os.close(terminal)
        process.wait()


def sections(page):
    """The blocks of each section: `{title: [(language, text)]}`; the title of what stands before the first is `None`."""
    found, title = {None: []}, None
    for index, part in enumerate(page.split("```")):
        if index % 2:
            found[title].append(tuple(part.split("\n", 1)))
        elif headings := re.findall(r"^## (.+)$", part, re.MULTILINE):
            title = headings[-1]
            found[title] = []
    return found


def commands(block):
    """Splits a `console` block into commands (`$ …`, more lines of one as `> …`), each with what it prints."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        else:
            found[-1][1] += line + "\n"
    return found


def is_same(said, printed):
    """Whether `printed` is what the page says; `…` at the end of a line stands for any rest of it."""
    said, printed = said.splitlines(), [line.rstrip() for line in printed.splitlines()]
    return len(said) == len(printed) and all(
        line.startswith(text[:-1]) if text.endswith("…") else line == text for text, line in zip(said, printed))


def run(place, blocks):
    """Runs the blocks of a section. Returns what differs, as triples: command, what the page says, what was printed."""
    differences = []
    for language, block in blocks:
        if block.startswith("# "):
            name, content = block[2:].split("\n", 1)
            place.write(name, content)
        if language == "console":
            for command, said in commands(block):
                printed = place.printed(command)
                if not is_same(said, printed):
                    differences.append((command, said, printed))
    return differences


def record(place, title, blocks):
    """Acts the commands of a section in a terminal, typed letter by letter, and writes the recording."""
    pieces, now = [], time.monotonic()
    for language, block in blocks:
        if block.startswith("# "):
            name, content = block[2:].split("\n", 1)
            place.write(name, content)
        for command, _ in commands(block) if language == "console" else []:
            for letter in f"$ {command}".replace("\n", "\n> "):
                now += 0.03
                pieces.append((now, letter.replace("\n", "\r\n")))
            now += 0.4
            pieces.append((now, "\r\n"))
            begun = time.monotonic()
            pieces += [(now + at - begun, text) for at, text in place.recorded(command)]
            now += time.monotonic() - begun + 1.2
    pieces.append((now, ""))
    rows = min(40, 2 + sum(text.count("\n") for _, text in pieces))
    write_cast(os.path.join(RECORDINGS, f"{anchor(title)}.cast"), cast(pieces, title, rows))


def anchor(title):
    """The name that mdBook gives a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def report(differences):
    for command, said, printed in differences:
        print(f"$ {command}\n{printed}instead of\n{said}")
    return not differences


def write(page, differences):
    for command, said, printed in differences:
        shown = command.replace("\n", "\n> ")
        lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
        page = page.replace(f"$ {shown}\n{said}", f"$ {shown}\n{lines}", 1)
    with open(PAGE, "w") as file:
        file.write(page)


def in_new_place(act):
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        if not place.can_confine():
            print("left out: commands cannot be confined here, and so their changes cannot be undone")
            sys.exit(UNCONFINED)
        return act(place)


def main():
    with open(PAGE) as file:
        page = file.read()
    found = sections(page)
    beginning = found.pop(None)
    option = sys.argv[1] if sys.argv[1:2] and sys.argv[1].startswith("--") else None
    if option in (None, "--write") and len(sys.argv) == (2 if option else 1):
        if not NODE_MODULES:
            print(f"left out: {LANGUAGE_SERVER}: HAFT_NODE_MODULES names no folder with pyright")
            del found[LANGUAGE_SERVER]
        blocks = beginning + [block for blocks in found.values() for block in blocks]
        differences = in_new_place(lambda place: run(place, blocks))
        if option:
            return write(page, differences)
        sys.exit(not report(differences))
    titles = RECORDED if option in ("--alone", "--record") else [
        next((title for title in found if part.lower() in title.lower()), None) or sys.exit(f"error: no title of {PAGE} has `{part}` in it")
        for part in sys.argv[1:]]
    well = True
    for title in titles:
        if option == "--record":
            in_new_place(lambda place: (run(place, beginning), record(place, title, found[title])))
            continue
        start = time.monotonic()
        well &= report(in_new_place(lambda place: run(place, beginning + found[title])))
        print(f"{time.monotonic() - start:5.1f} s  {title}")
    sys.exit(not well)


main()
