"""Looks at what a collector has received: otel_received.py WRITTEN SESSIONS
WRITTEN is what `rotel` writes out of traces and metrics, SESSIONS the folder of the sessions that sent them. Ends with 1 and a
line for each thing that is not as it should be."""
import collections, json, pathlib, re, sys

written = pathlib.Path(sys.argv[1]).read_text()
journals = [path.read_text().splitlines() for path in pathlib.Path(sys.argv[2]).glob('*/journal.jsonl')]
facts = [json.loads(line) for journal in journals for line in journal]
wrong = []


def expect(what, is_so):
    if not is_so:
        wrong.append(what)


def attributes(text):
    """`     -> gen_ai.tool.name: Str(bash)`"""
    return dict(re.findall(r'^ +-> ([\w.]+): \w+\((.*)\)$', text, re.M))


def spans():
    for text in re.split(r'^Span #\d+$', written, flags=re.M)[1:]:
        text = re.split(r'^(?:Resource|Scope)', text, flags=re.M)[0]
        fields = dict(re.findall(r'^ +(Trace ID|Parent ID|ID|Name|Kind|Status code) *: ?(.*)$', text, re.M))
        yield {**fields, 'attributes': attributes(text)}


def points():
    """The data points of each metric: its attributes, its count and its sum."""
    for text in re.split(r'^Metric #\d+$', written, flags=re.M)[1:]:
        name = re.search(r'-> Name: (\S+)', text)[1]
        text = re.split(r'^(?:Resource|Scope)', text, flags=re.M)[0]
        for point in re.split(r'DataPoints #\d+$', text, flags=re.M)[1:]:
            count, total = re.search(r'^Count: (\d+)$', point, re.M), re.search(r'^Sum: ([\d.e-]+)$', point, re.M)
            if count:
                yield name, attributes(point), int(count[1]), float(total[1])


def of(kind):
    return [fact for fact in facts if fact['type'] == kind]


received = list(spans())
by_id = {span['ID']: span for span in received}
names = collections.Counter(span['Name'].split()[0] for span in received)
expected = {'invoke_agent': len(of('turn_ended')), 'chat': len(of('replied')), 'execute_tool': len(of('tool_ended'))}
expect(f'each turn, request and call is a span: {dict(names)}, in the journals {expected}', dict(names) == expected)
expect('each span is received once', len(by_id) == len(received))

# Each stands below its turn, and a subagent's turn below its call.
above = lambda span: by_id.get(span['Parent ID'], {}).get('Name', '').split(' ')[0]
places = collections.Counter((above(span), span['Name'].split()[0]) for span in received)
known = {('', 'invoke_agent'), ('invoke_agent', 'chat'), ('invoke_agent', 'execute_tool'), ('execute_tool', 'invoke_agent')}
expect(f'spans stand below their turns: {dict(places)}', set(places) == known and places['', 'invoke_agent'] == 2)
expect('a turn is one trace', len({span['Trace ID'] for span in received}) == 2)

# The conventions for generative AI.
NEEDED = {
    'invoke_agent': ('gen_ai.operation.name', 'gen_ai.agent.name', 'gen_ai.conversation.id', 'gen_ai.request.model', 'haft.outcome'),
    'chat': ('gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model', 'gen_ai.usage.input_tokens',
             'gen_ai.usage.output_tokens', 'gen_ai.response.finish_reasons', 'gen_ai.conversation.id'),
    'execute_tool': ('gen_ai.operation.name', 'gen_ai.tool.name', 'gen_ai.tool.call.id', 'gen_ai.tool.type'),
}
for span in received:
    kind = span['Name'].split()[0]
    given = span['attributes']
    lacking = [name for name in NEEDED[kind] if not given.get(name)]
    expect(f'{span["Name"]} says {lacking}', not lacking)
    expect(f'{span["Name"]} says what it is: {given}', given.get('gen_ai.operation.name') == kind)
kinds = {span['Name'].split()[0]: span['Kind'] for span in received}
expect(f'a request is that of a client: {kinds}', kinds['chat'] == 'SPAN_KIND_CLIENT' and kinds['execute_tool'] == 'SPAN_KIND_INTERNAL')
failed = [span for span in received if span['Status code'] == 'STATUS_CODE_ERROR']
expect(f'the call that failed is an error: {failed}', len(failed) == 1 and failed[0]['attributes'].get('error.type'))

# Metrics: each session has ended before it would report a second time, so that its only report holds the sums.
counts, sums = collections.Counter(), collections.Counter()
for name, given, count, total in points():
    kind = given.get('gen_ai.token.type') or given.get('gen_ai.operation.name')
    counts[name, kind] += count
    sums[name, kind] += total
usage = [fact['usage'] for fact in of('replied')]
read = sum(one['input'] + one.get('cache_read', 0) + one.get('cache_write', 0) for one in usage)
wanted = {
    ('gen_ai.client.token.usage', 'input'): (len(usage), read),
    ('gen_ai.client.token.usage', 'output'): (len(usage), sum(one['output'] for one in usage)),
}
for key, (count, total) in wanted.items():
    expect(f'{key}: {counts[key]} points with {sums[key]}, not {count} with {total}', (counts[key], sums[key]) == (count, total))
duration = 'gen_ai.client.operation.duration'
expect(f'durations: {dict(counts)}', counts[duration, 'chat'] == len(usage) and counts[duration, 'execute_tool'] == len(of('tool_ended')))

expect('no text of a prompt, a thought, a reply, a task or a result is sent', 'SECRET' not in written)
expect('the program and its surroundings are named', all(words in written for words in ('service.name: Str(haft)', 'deployment.environment.name: Str(trial)')))
print(*(f'FAILED  telemetry: {line}' for line in dict.fromkeys(wrong)), sep='\n', end='\n' if wrong else '')
sys.exit(1 if wrong else 0)
