#!/usr/bin/env python3
"""Runs `cargo test …`, and fails where a test does not end: names it, with the processes that are there.

Usage: watched.py COMMAND…

libtest waits for a test without end, and tells of it once, after a minute."""

import os
import re
import signal
import subprocess
import sys
import threading

# The longest test compiles a program, which takes some minutes, and many on a slow machine.
SLOW_SECONDS = int(os.environ.get("HAFT_TEST_SECONDS", "2400"))
IS_SLOW = re.compile(r"^test (.*) has been running for over 60 seconds$")
HAS_ENDED = re.compile(r"\btest (\S+) \.\.\. ")


def kill(root):
    """Ends a process and all that it started."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(pid): int(parent) for pid, parent in (line.split() for line in listed.splitlines())}
    killed = {root}
    while begun := {pid for pid, parent in parents.items() if parent in killed} - killed:
        killed |= begun
    for pid in killed:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def give_up(test, root):
    print(f"error: test {test} has not ended {SLOW_SECONDS + 60} s after it began; these processes are there:", flush=True)
    subprocess.run(["ps", "-ww", "-eo", "pid,ppid,etimes,stat,wchan:24,args", "--forest"], check=False)
    kill(root)
    # A process that has lost its parent may hold the output, which would never end then.
    os._exit(1)


def main():
    slow = {}
    command = subprocess.Popen(
        sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    for line in command.stdout:
        print(line, end="", flush=True)
        if begun := IS_SLOW.match(line):
            slow[begun[1]] = threading.Timer(SLOW_SECONDS, give_up, (begun[1], command.pid))
            slow[begun[1]].daemon = True
            slow[begun[1]].start()
        elif ended := HAS_ENDED.search(line):
            if timer := slow.pop(ended[1], None):
                timer.cancel()
    return 0 if command.wait() == 0 else 1


sys.exit(main())
