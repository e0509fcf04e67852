"""A session and a job, driven by the client that openapi-python-client makes of openapi.json: serve_generated.py ADDRESS TOKEN

The package `generated` is looked for on PYTHONPATH. The first prompt of a session writes a file.
"""

import base64
import io
import sys

from generated import AuthenticatedClient
from generated.api.jobs import cancel_job, create_job, list_jobs, show_job
from generated.api.lists import list_agents, list_tools
from generated.api.openai import list_models
from generated.api.server import health
from generated.api.sessions import (
    change_session, create_session, delete_session, entry_diff, export_session, fork_session, list_asked, list_sessions,
    prompt, redo, show_session, undo, upload,
)
from generated.models import (
    Accepted, ErrorBody, ForkRequest, NewJob, NewSession, PromptPartType0, PromptPartType0Type, PromptPartType2,
    PromptPartType2Type, PromptRequest, Report, SessionChange, SessionState, UndoRequest,
)
from generated.types import File

address, token = sys.argv[1:]
client = AuthenticatedClient(base_url=address, token=token, timeout=60, raise_on_unexpected_status=True)
wrong = AuthenticatedClient(base_url=address, token="0" * 64)

assert health.sync(client=client).status == "ok"
refused = list_sessions.sync(client=wrong)
assert isinstance(refused, ErrorBody) and refused.error.type_ == "unauthorized", refused

made = create_session.sync(client=client, body=NewSession(name="generated"), idempotency_key="made once")
again = create_session.sync(client=client, body=NewSession(name="generated"), idempotency_key="made once")
assert made.id == again.id and made.state == SessionState.IDLE and made.is_job is False, (made, again)

# A turn to its end, and what it came to.
report = prompt.sync(made.id, client=client, body=PromptRequest(text="write it", wait=True))
assert isinstance(report, Report) and report.outcome == "finished", report
assert [(change.path, change.kind) for change in report.changes] == [("a.txt", "created")], report.changes
assert report.usage.output > 0 and report.text == "It is written.", report
assert list_asked.sync(made.id, client=client) == []
entries = export_session.sync_detailed(made.id, client=client).content.decode().splitlines()
staged = next(number for number, line in enumerate(entries) if '"type":"staged"' in line)
assert entry_diff.sync(made.id, client=client, seq=staged)[0].path == "a.txt"

# A picture, said later.
dot = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
sent = upload.sync(client=client, body=File(payload=io.BytesIO(dot)))
assert sent.mime == "image/png" and sent.bytes_ == len(dot), sent
parts = [PromptPartType0(type_=PromptPartType0Type.TEXT, text="look"), PromptPartType2(type_=PromptPartType2Type.UPLOAD, id=sent.id)]
taken = prompt.sync(made.id, client=client, body=PromptRequest(parts=parts))
assert isinstance(taken, Accepted) and taken.session == made.id, taken

fork = fork_session.sync(made.id, client=client, body=ForkRequest(at=0))
assert fork.forked_from == made.id and fork.entries == 1, fork
assert change_session.sync(fork.id, client=client, body=SessionChange(name="a fork")).title == "a fork"
back = undo.sync(fork.id, client=client, body=UndoRequest(dry_run=True))
assert back is not None and redo.sync_detailed(fork.id, client=client).status_code in (200, 409)

# Pages.
first = list_sessions.sync(client=client, limit=1)
rest = list_sessions.sync(client=client, limit=500, after=first.next_)
ids = [row.id for row in first.sessions + rest.sessions]
assert len(ids) == len(set(ids)) and {made.id, fork.id} <= set(ids) and rest.next_ is None, ids
assert delete_session.sync(fork.id, client=client).deleted == [fork.id]
assert isinstance(show_session.sync(fork.id, client=client), ErrorBody)

job = create_job.sync(client=client, body=NewJob(kind="triager", description="look"))
assert job.job in [row.job for row in list_jobs.sync(client=client, limit=5).jobs]
cancel_job.sync_detailed(job.job, client=client)
assert show_job.sync(job.job, client=client).description == "look"
assert any(agent.takes_jobs for agent in list_agents.sync(client=client).agents)
assert list_tools.sync(client=client).tools and list_models.sync(client=client).data
