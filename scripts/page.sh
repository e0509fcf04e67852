#!/bin/bash
# The page of a session (`haft sessions export --format html`) in a real browser: nothing leaves it, what the model said
# does nothing, and people with a keyboard, a screen reader or a phone can read it.
#
# HAFT names the binary; without it the debug build is taken. PAGES names a folder that screenshots are kept in.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/peers.sh
haft=${HAFT:-$PWD/target/debug/haft}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ] || [ ! -d "$packages/axe-core" ]; then
    left_out "the page of a session in a browser"
    exit 0
fi

copy_beside_libraries scripts/browser.mjs scripts/page_reader.mjs
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HAFT_HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config
mkdir -p "$scratch/work/src" "$scratch/config/haft"
cat >"$scratch/config/haft/config.toml" <<TOML
[models."script/$scratch/model"]
price = { input = 3.0, output = 15.0, cache_read = 0.3 }
TOML
cat >"$scratch/work/src/parser.py" <<'PYTHON'
def parse(text):
    """The number that `text` holds."""
    digits = text.strip("-+ ")
    return int(digits)
PYTHON
cat >"$scratch/model" <<'SCRIPT'
{"think": "I look at `parse` first.\n\n<img src=x onerror=\"document.title='hacked'\">", "say": "I will look.", "calls": [{"name": "read", "arguments": {"path": "src/parser.py"}}, {"name": "grep", "arguments": {"pattern": "</script><script>document.title='hacked'</script>"}}], "usage": {"input": 4200, "output": 180}}
{"calls": [{"name": "edit", "arguments": {"path": "src/parser.py", "old_text": "    digits = text.strip(\"-+ \")\n    return int(digits)", "new_text": "    return int(text.strip())"}}], "usage": {"input": 700, "output": 240, "cache_read": 4200}}
{"calls": [{"name": "write", "arguments": {"path": "<b onmouseover=document.title=1>.md", "content": "<script>document.title='hacked'</script>\n"}}], "usage": {"input": 500, "output": 120, "cache_read": 4900}}
{"say": "## Done\n\n1. `src/parser.py` keeps the *sign*.\n2. [documentation](https://docs.example/)\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```python\nassert parse(\"-5\") == -5\n```\n\n<script>document.title = 'hacked'; fetch('https://evil.example/s')</script>\n\n<img src=\"https://evil.example/p.png\" onerror=\"document.title='hacked'\"> ![pixel](https://evil.example/q.png) [run](javascript:document.title='hacked') <iframe src=\"https://evil.example\"></iframe> <style>@import 'https://evil.example/c.css'</style> <meta http-equiv=refresh content=\"0;url=https://evil.example\">", "usage": {"input": 400, "output": 420, "cache_read": 5400}}
{"calls": [{"name": "write", "arguments": {"path": "../outside.md", "content": "x"}}], "usage": {"input": 600, "output": 80, "cache_read": 5900}}
{"say": "Nobody allowed it.", "usage": {"input": 300, "output": 40, "cache_read": 6400}}
{"calls": [{"name": "write", "arguments": {"path": "notes.md", "content": "one\n"}}], "usage": {"input": 300, "output": 40, "cache_read": 6400}}
{"say": "Noted.", "usage": {"input": 300, "output": 40, "cache_read": 6700}}
SCRIPT
cd "$scratch/work"
say() { "$haft" run --quiet --continue --permission accept-edits --model "script/$scratch/model" "$@" >/dev/null 2>&1 || true; }
"$haft" run --quiet --permission accept-edits --model "script/$scratch/model" 'The sign is lost. <script>document.title="hacked"</script>' >/dev/null
say "Push it."
say "Take a note."
"$haft" undo >/dev/null
"$haft" sessions export "$(ls "$HAFT_HOME/sessions")" --format html >"$scratch/page.html"

node "$beside/page_reader.mjs" "$browser" "$scratch/page.html" "${PAGES:-}"
