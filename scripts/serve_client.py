"""OpenAI's Python SDK talks to `haft serve`: serve_client.py ADDRESS TOKEN. Ends with 1 where something is not as documented."""
import sys

import openai

address, token = sys.argv[1:]
client = openai.OpenAI(base_url=f"{address}/v1", api_key=token, max_retries=0)
wrong = []


def expect(what, is_so):
    if not is_so:
        wrong.append(what)


names = [model.id for model in client.models.list()]
expect(f"agents are models: {names}", "haft" in names and "reviewer" in names)

# Whole.
said = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "write it"}]
whole = client.chat.completions.create(model="haft", messages=said)
text = whole.choices[0].message.content
expect(f"the text is whole: {text!r}", text == "I write.\n\nIt is written.")
expect(f"it is finished: {whole}", whole.choices[0].finish_reason == "stop" and whole.haft["outcome"] == "finished")
expect(f"usage: {whole.usage}", whole.usage.prompt_tokens == 30 and whole.usage.completion_tokens == 10)
ended = [call for call in whole.haft["calls"] if call["type"] == "tool_ended"]
expect(f"the call is seen: {ended}", [call["name"] for call in ended] == ["write"] and ended[0]["ok"])
expect(f"the change is seen: {whole.haft}", whole.haft["changes"] == [{"path": "a.txt", "kind": "created"}])
expect(f"thoughts: {whole.choices[0].message}", "Hm." in whole.choices[0].message.reasoning_content)

# A client that sends the whole conversation goes on in its session.
said += [{"role": "assistant", "content": text}, {"role": "user", "content": "and now?"}]
text, calls, usage, session = "", [], None, None
for chunk in client.chat.completions.create(model="haft", messages=said, stream=True, stream_options={"include_usage": True}):
    if chunk.usage:
        usage = chunk.usage
    if chunk.choices:
        text += chunk.choices[0].delta.content or ""
    haft = getattr(chunk, "haft", None) or {}
    calls += [haft["event"]] if "event" in haft else []
    session = haft.get("session", session)
expect(f"it streams: {text!r}", text == "Nothing more.")
expect(f"usage of a stream: {usage}", usage and usage.completion_tokens == 7)
expect(f"the same session: {session} {whole.haft['session']}", session == whole.haft["session"])

# Pictures, and parts.
dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
parts = [{"type": "text", "text": "write it"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{dot}"}}]
expect("parts", client.chat.completions.create(model="haft", messages=[{"role": "user", "content": parts}]).choices)

# Responses: calls are items.
response = client.responses.create(model="haft", input="write it")
kinds = [item.type for item in response.output]
expect(f"items: {kinds}", kinds == ["reasoning", "message", "mcp_call", "message"])
expect(f"the text: {response.output_text!r}", response.output_text == "I write.It is written.")
call = response.output[2]
expect(f"the call: {call}", call.name == "write" and call.status in ("completed", "failed") and "a.txt" in call.arguments)
expect(f"it is completed: {response.status} {response.usage}", response.status == "completed" and response.usage.total_tokens == 40)
events = []
with client.responses.stream(model="haft", input="and now?", previous_response_id=response.id) as stream:
    events = [event.type for event in stream]
    final = stream.get_final_response()
expect(f"events: {events}", events[0] == "response.created" and events[-1] == "response.completed" and "response.output_text.delta" in events)
expect(f"it goes on: {final}", final.output_text == "Nothing more." and final.haft["session"] == response.haft["session"])

# Errors are OpenAI's own.
for kind, ask in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-9", messages=said)),
    (openai.BadRequestError, lambda: client.chat.completions.create(model="haft", messages=said, tools=[{"type": "function", "function": {"name": "x"}}])),
    (openai.NotFoundError, lambda: client.responses.create(model="haft", input="x", previous_response_id="resp_x_1")),
    (openai.AuthenticationError, lambda: openai.OpenAI(base_url=f"{address}/v1", api_key="no", max_retries=0).models.list()),
]:
    try:
        ask()
        expect(f"{kind.__name__} was expected", False)
    except kind as error:
        expect(f"an error has words: {error.body}", len(error.body["message"]) > 10)

if wrong:
    print("\n".join(f"FAILED  python: {line}" for line in wrong), file=sys.stderr)
    sys.exit(1)
