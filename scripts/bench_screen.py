#!/usr/bin/env python3
"""What the screen costs: wake-ups while nothing happens, and CPU while 20,000 deltas stream.

Runs the release binary, or the one that `HAFT` names, in a terminal of its own (`tmux`) against a written model.
"""
import json, os, shutil, subprocess, sys, tempfile, time

HAFT = os.environ.get("HAFT") or os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "target", "release", "haft"))
DELTAS = 20_000
PIECE = 5


def tmux(socket, *arguments):
    return subprocess.run(["tmux", "-S", socket, *arguments], check=True, capture_output=True, text=True).stdout


def wait_for(socket, text):
    for _ in range(600):
        if text in tmux(socket, "capture-pane", "-p"):
            return
        time.sleep(0.05)
    sys.exit(f"the screen never showed {text!r}")


def wake_ups(pid):
    """Of all threads: each switch that they asked for ended with one."""
    count = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status") as status:
            count += sum(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
    return count


def cpu(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    if not shutil.which("tmux"):
        return print("the screen is not measured: there is no tmux here")
    with tempfile.TemporaryDirectory() as folder:
        paragraph = "Some words that make a paragraph, with `code` and **bold** in it, and so on. " * 3 + "\n\n"
        code = "```rust\nfn main() {\n    println!(\"hello\");\n}\n```\n\n"
        text = ((paragraph * 8 + code) * 200)[: DELTAS * PIECE - 20] + "\n\nThe last words."
        with open(os.path.join(folder, "model.jsonl"), "w") as script:
            script.write(json.dumps({"say": text, "pieces": PIECE}) + "\n")
        socket = os.path.join(folder, "terminal")
        command = f"exec env HOME={folder} HAFT_HOME={folder}/home {HAFT} --model script/model.jsonl"
        os.mkdir(os.path.join(folder, "work"))
        os.rename(os.path.join(folder, "model.jsonl"), os.path.join(folder, "work", "model.jsonl"))
        tmux(socket, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", f"{folder}/work", command)
        try:
            wait_for(socket, "what to do?")
            time.sleep(1)
            pid = tmux(socket, "display-message", "-p", "#{pane_pid}").strip()
            before = wake_ups(pid)
            time.sleep(10)
            idle = wake_ups(pid) - before
            before = cpu(pid)
            tmux(socket, "send-keys", "talk", "Enter")
            wait_for(socket, "The last words.")
            wait_for(socket, "what to do?")
            print(f"screen, idle             {idle:6d}      wake-ups in 10 s   (bar: 0)")
            print(f"screen, {DELTAS} deltas     {cpu(pid) - before:6.2f} s    of CPU   (bar: 0.06)")
        finally:
            tmux(socket, "kill-server")


main()
