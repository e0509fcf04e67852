#!/usr/bin/env python3
"""Runs one turn of a binary with symbols below callgrind and writes the names of its functions that were called."""
import http.server, os, re, subprocess, sys, tempfile, threading


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        chunk = '{"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}'
        parts = [chunk % ('{"content":"hi"}', "null"), chunk % ("{}", '"stop"'), "[DONE]"]
        body = "".join(f"data: {part}\n\n" for part in parts).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def called(binary, folder):
    """Names in the order of their first mention, which is that of their first call."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    out = os.path.join(folder, "calls")
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "HAFT_HOME": os.path.join(folder, "home"),
                   "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_API_KEY": "x"}
    work = os.path.join(folder, "work")
    os.mkdir(work)
    command = ["valgrind", "--quiet", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}",
               binary, "run", "--model", "openai/any", "hi"]
    subprocess.run(command, cwd=work, env=environment, check=True, stdout=subprocess.DEVNULL)
    with open(out) as calls:
        found = (re.match(r"c?fn=\(\d+\) (.+)", line) for line in calls)
        names = [re.sub(r"'\d+$", "", match[1].strip()) for match in found if match]
    return list(dict.fromkeys(names))


def main(binary, order):
    binary = os.path.abspath(binary)
    symbols = subprocess.run(["nm", binary], check=True, capture_output=True, text=True).stdout.splitlines()
    own = {line.split()[-1] for line in symbols if line.split()[-2:-1] and line.split()[-2] in "tTwW"}
    with tempfile.TemporaryDirectory() as folder:
        names = [name for name in called(binary, folder) if name in own]
    with open(order, "w") as file:
        file.write("\n".join(names) + "\n")
    print(f"{len(names)} functions in {order}")


main(*sys.argv[1:])
