-- Who may give jobs, and see and steer their own.
CREATE TABLE owners (
    name text PRIMARY KEY,
    -- SHA-256 of the bearer token in hexadecimal digits; none where nobody comes in by this name.
    token_hash text UNIQUE,
    made timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE workers (
    instance text PRIMARY KEY DEFAULT gen_random_uuid()::text,
    name text NOT NULL,
    version text NOT NULL,
    begun timestamptz NOT NULL DEFAULT now(),
    seen timestamptz NOT NULL DEFAULT now(),
    is_draining boolean NOT NULL DEFAULT false
);

CREATE TABLE jobs (
    id text PRIMARY KEY,
    owner text NOT NULL REFERENCES owners,
    kind text NOT NULL,
    title text NOT NULL,
    -- What is worked on: a URL that git takes, and the commit to begin with. None: an empty folder.
    repository text,
    base text,
    -- The larger number goes first.
    priority integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'waiting'
        CHECK (status IN ('waiting', 'running', 'completed', 'failed', 'cancelled', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL DEFAULT 5,
    made timestamptz NOT NULL DEFAULT clock_timestamp(),
    run_after timestamptz NOT NULL DEFAULT '-infinity',
    -- Fencing token: rises with every claim, and with whatever takes the job from its worker. It never falls.
    token bigint NOT NULL DEFAULT 0,
    worker text,
    leased_until timestamptz,
    is_cancelled boolean NOT NULL DEFAULT false,
    -- The last commit of the branch that stands in the repository under `refs/haft/ID/TOKEN`.
    head text,
    head_token bigint,
    -- The commit at which a worker put the branch `haft/ID`.
    published text,
    reason text,
    -- As JSON.
    conclusion text,
    ended timestamptz,
    CHECK (status <> 'running' OR (worker IS NOT NULL AND leased_until IS NOT NULL))
);
CREATE INDEX jobs_waiting ON jobs (owner, priority DESC, made, id) WHERE status = 'waiting';
CREATE INDEX jobs_running ON jobs (owner, leased_until) WHERE status = 'running';
CREATE INDEX jobs_unpublished ON jobs (ended) WHERE published IS DISTINCT FROM head;

-- Journals, line by line. A job has a session of its name, and those below it.
CREATE TABLE entries (
    job text NOT NULL REFERENCES jobs ON DELETE CASCADE,
    session text NOT NULL,
    seq bigint NOT NULL,
    -- Whose attempt wrote it.
    token bigint NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (job, session, seq)
);

-- What the changes in entries name, by SHA-256.
CREATE TABLE contents (
    job text NOT NULL REFERENCES jobs ON DELETE CASCADE,
    hash text NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (job, hash)
);

-- What people send to a job that a worker has.
CREATE TABLE commands (
    number bigserial PRIMARY KEY,
    job text NOT NULL REFERENCES jobs ON DELETE CASCADE,
    -- As JSON.
    command text NOT NULL,
    sent timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX commands_of_jobs ON commands (job, number);
