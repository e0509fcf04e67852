#!/usr/bin/env python3
"""How long `haft run` takes from its start to its first request, how long rounds take that read a file or run a command,
what views and long sessions cost, and how much memory. `HAFT` names another binary than the release build.

Starts a server on loopback that speaks chat completions, then the release binary against it, many times.
Prints medians; the ratio compares with the same binary only printing its version, in the same run.
"""
import http.server, json, os, shutil, statistics, subprocess, sys, tempfile, threading, time

HAFT = os.environ.get("HAFT") or os.path.join(os.path.dirname(__file__), "..", "target", "release", "haft")
RUNS = 30
ARRIVED = []


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        ARRIVED.append(time.perf_counter())
        self.rfile.read(int(self.headers["content-length"]))
        chunk = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": None}]}
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        body = "".join(f"data: {json.dumps(part)}\n\n" for part in (chunk, end)) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def run(arguments, environment, folder):
    began = time.perf_counter()
    subprocess.run([HAFT, *arguments], env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return began, time.perf_counter()


def peak_of(arguments, environment, folder):
    """In MB. The kernel's own maximum would count this program too, from before the new one took its place."""
    child = subprocess.Popen([HAFT, *arguments], env=environment, cwd=folder, stdout=subprocess.DEVNULL)
    peak = 0
    while child.poll() is None:
        try:
            with open(f"/proc/{child.pid}/status") as status:
                lines = [line for line in status if line.startswith("VmHWM")]
            if os.readlink(f"/proc/{child.pid}/exe") == os.path.realpath(HAFT):
                peak = max(peak, *(int(line.split()[1]) for line in lines), 0)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return peak / 1024


def round_of_reading(environment, folder, work, rounds=100):
    """Seconds of a round in which a written model reads a small file: request, call, journal, and no wire."""
    took = {}
    for count in (1, rounds + 1):
        script = os.path.join(folder, f"{count}.jsonl")
        with open(script, "w") as lines:
            for number in range(count):
                name = f"{number}.txt"
                with open(os.path.join(work, name), "w") as file:
                    file.write("A line.\n" * 20)
                lines.write(json.dumps({"calls": [{"name": "read", "arguments": {"path": name}}]}) + "\n")
            lines.write(json.dumps({"say": "done"}) + "\n")
        times = [run(["run", "-q", "--model", f"script/{script}", "go"], environment, work) for _ in range(7)]
        took[count] = statistics.median(ended - began for began, ended in times)
    return (took[rounds + 1] - took[1]) / rounds


def written(folder, name, replies):
    """What `--model` takes for a model that says these replies."""
    path = os.path.join(folder, name)
    with open(path, "w") as lines:
        lines.writelines(json.dumps(reply) + "\n" for reply in replies)
    return f"script/{path}"


def shell(*commands):
    return {"calls": [{"name": "bash", "arguments": {"command": command}} for command in commands]}


def seconds(model, environment, work, *options, runs=7, after=lambda: None):
    """The median of whole turns. `after` is called behind each."""
    times = []
    for _ in range(runs):
        began, ended = run(["run", "-q", "--permission", "full", *options, "--model", model, "go"], environment, work)
        times.append(ended - began)
        after()
    return statistics.median(times)


def round_of_a_command(environment, folder, work, sandbox, rounds=50):
    """Seconds of a round in which a command runs that changes nothing; none is the same as another one."""
    took = {}
    for count in (1, rounds + 1):
        replies = [shell(f"true {number}") for number in range(count)] + [{"say": "done"}]
        model = written(folder, "rounds.jsonl", replies)
        took[count] = seconds(model, environment, work, "--sandbox", sandbox, runs=5)
    return (took[rounds + 1] - took[1]) / rounds


def bare_round(work, rounds=50):
    """Seconds of the same commands in a loop that does nothing else."""
    began = time.perf_counter()
    for number in range(rounds):
        subprocess.run(["bash", "-c", f"true {number}"], cwd=work, stdin=subprocess.DEVNULL, capture_output=True)
    return (time.perf_counter() - began) / rounds


def fill(work, files):
    for number in range(files):
        parent = os.path.join(work, f"d{number // 100}")
        os.makedirs(parent, exist_ok=True)
        with open(os.path.join(parent, str(number)), "w") as file:
            file.write("A line.\n")


def sleepers(environment, folder, work):
    """Seconds that eight commands of one reply take together which sleep half a second each."""
    model = written(folder, "sleep.jsonl", [shell(*[f"sleep 0.5; true {number}" for number in range(8)]), {"say": "done"}])
    none = written(folder, "none.jsonl", [{"say": "done"}])
    return seconds(model, environment, work, runs=3) - seconds(none, environment, work)


def build_folder(environment, folder, work, megabytes=500):
    """Seconds that it takes to settle what a build leaves in a folder that git ignores."""
    with open(os.path.join(work, ".gitignore"), "w") as file:
        file.write("/target\n")
    build = f"mkdir target; for n in $(seq {megabytes // 10}); do head -c 10M /dev/zero >target/$n; done"
    model = written(folder, "build.jsonl", [shell(build), {"say": "done"}])
    target = os.path.join(work, "target")
    clear = lambda: shutil.rmtree(target)
    return [seconds(model, environment, work, "--sandbox", sandbox, runs=3, after=clear) for sandbox in ("require", "off")]


def long_session(environment, folder, work, entries=100_000):
    """Seconds and MB until a turn has ended in a session with so many entries; and seconds of its rounds, late and early."""
    for number in range(100):
        with open(os.path.join(work, f"{number}.txt"), "w") as file:
            file.write("A line.\n" * 20)
    look = lambda n: {"calls": [{"name": "read", "arguments": {"path": f"{n % 100}.txt", "limit": 1 + n // 100}}]}
    replies = [look(n) for n in range(entries // 3)] + [{"say": "done"}] * 9
    model = written(folder, "long.jsonl", replies)
    options = ["-q", "--max-rounds", str(entries), "--max-time", "100000", "--model", model]
    run(["run", *options, "go"], environment, work)
    sessions = os.path.join(environment["HAFT_HOME"], "sessions")
    newest = max(os.scandir(sessions), key=lambda entry: entry.stat().st_mtime)
    with open(os.path.join(newest.path, "journal.jsonl")) as journal:
        at = [json.loads(line)["at"] for line in journal]
    span = lambda first, last: (at[last] - at[first]) / (last - first) * 3 / 1000
    # Its replies of before are not what is measured.
    spent = written(folder, "spent.jsonl", [{"say": "."}] * (entries // 3 + 1) + [{"say": "done"}] * 8)
    again = ["run", *options[:-1], spent, "--continue", "more"]
    times = [run(again, environment, work) for _ in range(5)]
    took = statistics.median(ended - began for began, ended in times)
    return took, peak_of(again, environment, work), span(300, 6_300), span(len(at) // 3, len(at) - 100)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        work = os.path.join(folder, "work")
        os.mkdir(work)
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "HAFT_HOME": os.path.join(folder, "home"),
                       "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_API_KEY": "x"}
        request, whole, version = [], [], []
        for number in range(RUNS + 1):
            began, ended = run(["run", "--model", "openai/any", "hello"], environment, work)
            started, printed = run(["--version"], environment, work)
            if number:  # the first run warms the disk
                request.append(ARRIVED[-1] - began)
                whole.append(ended - began)
                version.append(printed - started)
        reading = round_of_reading(environment, folder, work)
        commands = {sandbox: round_of_a_command(environment, folder, work, sandbox) for sandbox in ("off", "require")}
        bare = bare_round(work)
        together = sleepers(environment, folder, work)
        settled, plain = build_folder(environment, folder, work)
        peak = max(peak_of(["run", "--model", "openai/any", "hello"], environment, work) for _ in range(5))
        resumed, resumed_peak, early, late = long_session({**environment, "HAFT_HOME": os.path.join(folder, "long")}, folder, work)
        fill(work, 100_000)
        large = {sandbox: round_of_a_command(environment, folder, work, sandbox) for sandbox in ("off", "require")}
    milliseconds = lambda values: statistics.median(values) * 1000
    print(f"start to first request   {milliseconds(request):6.1f} ms   (bar: 4)")
    print(f"whole turn               {milliseconds(whole):6.1f} ms")
    print(f"`haft --version`         {milliseconds(version):6.1f} ms   ratio {milliseconds(request) / milliseconds(version):.1f}")
    print(f"round that reads a file  {reading * 1000:6.2f} ms   (bar: 0.4)")
    print(f"peak memory              {peak:6.1f} MB   (bar: 14)")
    print(f"round with a command     {commands['off'] * 1000:6.2f} ms   {commands['off'] / bare:.2f} of a bare loop's   (bar: 2)")
    for files, took in ((10, commands), (100_000, large)):
        more = (took["require"] - took["off"]) * 1000
        print(f"  in a view, confined    {more:+6.2f} ms   in {files:,} files   (bar: +3)")
    print(f"8 commands of 0.5 s      {together * 1000:6.0f} ms   (bar: 560)")
    print(f"500 MB of a build        {settled - plain:6.2f} s to settle, beside {plain:.2f} s without a view   (bar: 1)")
    print(f"100,000 entries resumed  {resumed:6.2f} s, {resumed_peak:.0f} MB   (bar: 0.5 s, 300 MB)")
    print(f"  rounds of a session    {early * 1000:6.2f} ms among the first 2,000, {late * 1000:.2f} ms at the end   (bar: 2 of each other)")


if __name__ == "__main__":
    sys.exit(main())
