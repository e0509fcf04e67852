#!/usr/bin/env python3
"""How long `haft run` takes from its start to its first request, how long a round that reads a file, and how much memory.

Starts a server on loopback that speaks chat completions, then the release binary against it, many times.
Prints medians; the ratio compares with the same binary only printing its version, in the same run.
"""
import http.server, json, os, statistics, subprocess, sys, tempfile, threading, time

HAFT = os.path.join(os.path.dirname(__file__), "..", "target", "release", "haft")
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
        peak = max(peak_of(["run", "--model", "openai/any", "hello"], environment, work) for _ in range(5))
    milliseconds = lambda values: statistics.median(values) * 1000
    print(f"start to first request   {milliseconds(request):6.1f} ms   (bar: 25)")
    print(f"whole turn               {milliseconds(whole):6.1f} ms")
    print(f"`haft --version`         {milliseconds(version):6.1f} ms   ratio {milliseconds(request) / milliseconds(version):.1f}")
    print(f"round that reads a file  {reading * 1000:6.2f} ms   (bar: 1)")
    print(f"peak memory              {peak:6.1f} MB   (bar: 20)")


if __name__ == "__main__":
    sys.exit(main())
