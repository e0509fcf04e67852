#!/usr/bin/env python3
"""Records the screen for the site: `recording.py FILE` writes an asciinema file (version 2) of 100x28 characters.

Runs the debug binary, or the one that `HAFT` names, on a written model in a scratch repository, in a `tmux` of its own:
a question, an edit that is approved with its diff in view, `git status`, and an undo. Each step waits for what the screen
must show, so that a recording that ends is one in which everything happened.
"""
import codecs, json, os, shlex, subprocess, sys, tempfile, time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
HAFT = os.path.realpath(os.environ.get("HAFT") or os.path.join(ROOT, "target", "debug", "haft"))
COLUMNS, ROWS = 100, 28
# A step that takes longer than this has failed.
STEP_TIMEOUT = 30
# The player shortens longer pauses, and the file itself does as well: waiting for a program is not worth watching.
LONGEST_PAUSE = 2.0

SOURCE = "def add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n"
MODEL = [
    {"say": "I look.", "calls": [{"name": "read", "arguments": {"path": "calc.py"}}], "usage": {"input": 2100, "output": 40}},
    {"say": "`add` in `calc.py` subtracts: line 2 is `return a - b`, so `add(2, 3)` is -1.", "pieces": 5, "delay_ms": 35,
     "usage": {"input": 2300, "output": 60}},
    {"say": "I change the operator.", "pieces": 5, "delay_ms": 35, "usage": {"input": 2500, "output": 50},
     "calls": [{"name": "edit", "arguments": {"path": "calc.py", "old": "    return a - b", "new": "    return a + b"}}]},
    {"say": "`add` adds: `add(2, 3)` is 5.", "pieces": 5, "delay_ms": 35, "usage": {"input": 2700, "output": 30}},
]


def record(folder, raw):
    """Acts the scene; what the terminal is sent goes into `raw` with the time of each piece."""
    home = os.path.join(folder, "home")
    work = os.path.join(home, "calculator")
    programs = os.path.join(folder, "bin")
    for path in (home, work, programs):
        os.mkdir(path)
    os.symlink(HAFT, os.path.join(programs, "haft"))
    with open(os.path.join(work, "calc.py"), "w") as file:
        file.write(SOURCE)
    with open(os.path.join(home, "model.jsonl"), "w") as file:
        file.writelines(json.dumps(step) + "\n" for step in MODEL)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}", "HOME": home, "HAFT_HOME": f"{folder}/data", "TERM": "tmux-256color",
        "LANG": "C.UTF-8", "PS1": "$ ", "HISTFILE": "/dev/null", "HAFT_MODEL": "script/../model.jsonl", "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "demo", "GIT_AUTHOR_EMAIL": "demo@localhost", "GIT_COMMITTER_NAME": "demo",
        "GIT_COMMITTER_EMAIL": "demo@localhost", "PYTHONDONTWRITEBYTECODE": "1",
    }
    for words in (["git", "init", "-q", "-b", "main"], ["git", "add", "."], ["git", "commit", "-qm", "Begin"]):
        subprocess.run(words, cwd=work, env=environment, check=True)

    socket = os.path.join(folder, "terminal")

    def tmux(*words):
        return subprocess.run(["tmux", "-S", socket, "-f", "/dev/null", *words], check=True, capture_output=True, text=True).stdout

    def see(text, pause=0.4):
        end = time.monotonic() + STEP_TIMEOUT
        while text not in tmux("capture-pane", "-p"):
            if time.monotonic() > end:
                sys.exit(f"error: the screen never showed {text!r}:\n" + tmux("capture-pane", "-p"))
            time.sleep(0.05)
        time.sleep(pause)

    def say(text):
        for letter in text:
            tmux("send-keys", "-l", letter)
            time.sleep(0.03)
        time.sleep(0.3)
        tmux("send-keys", "Enter")

    shell = shlex.join(["env", "-i", *(f"{name}={value}" for name, value in environment.items()), "bash", "--norc", "--noprofile", "-i"])
    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", work, f"read -r start; exec {shell}")
    try:
        tmux("pipe-pane", "-O", f"exec {shlex.quote(sys.executable)} {shlex.quote(os.path.realpath(__file__))} --stamp {shlex.quote(raw)}")
        tmux("send-keys", "Enter")
        see("$", 0.8)
        say("haft")
        see("what to do?", 1.2)
        say("why is add(2, 3) -1?")
        see("-1.", 1.0)
        see("what to do?", 1.5)
        say("fix it")
        see("Edit calc.py?", 3.0)
        tmux("send-keys", "y")
        see("is 5.", 1.0)
        see("what to do?", 1.5)
        say("/quit")
        see("haft resume", 1.2)
        say("git diff --stat")
        see("1 file changed", 1.5)
        say("haft undo")
        see("calc.py", 1.5)
        say("git status")
        see("working tree clean", 2.0)
    finally:
        tmux("kill-server")


def stamp(file):
    """Copies standard input to `file`, a line for each piece with the time when it came."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with open(file, "w") as out:
        while piece := os.read(0, 65536):
            if text := decoder.decode(piece):
                print(json.dumps([time.monotonic(), text]), file=out, flush=True)


def cast(pieces, title, rows):
    """The lines of the file: its header, then events, with pieces of the same frame joined and long pauses cut."""
    header = {"version": 2, "width": COLUMNS, "height": rows, "title": title}
    lines, now, before = [], 0.0, None
    for at, text in pieces:
        gap = 0.0 if before is None else at - before
        before = at
        if lines and gap < 0.02:
            lines[-1][2] += text
            continue
        now += min(gap, LONGEST_PAUSE)
        lines.append([round(now, 2), "o", text])
    return [json.dumps(line, ensure_ascii=False) for line in [header, *lines]]


def main():
    if sys.argv[1:2] == ["--stamp"]:
        return stamp(sys.argv[2])
    if len(sys.argv) != 2:
        sys.exit("usage: recording.py FILE")
    if not os.access(HAFT, os.X_OK):
        sys.exit(f"error: there is no program `{HAFT}`\nhint: `cargo build -p haft-cli --no-default-features`, or name one with HAFT")
    with tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, "pieces.jsonl")
        record(folder, raw)
        with open(raw) as file:
            pieces = [(at, text.replace(os.path.join(folder, "home"), "~")) for at, text in map(json.loads, file)]
    write_cast(sys.argv[1], cast(pieces, "A question, an edit and an undo with Haft", ROWS))


def write_cast(path, lines):
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
