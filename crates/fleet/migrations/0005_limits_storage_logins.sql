-- The oldest version of a program that can use tables of this version. None: only programs that know this version.
ALTER TABLE migrations ADD COLUMN oldest integer;

-- Jobs of a queue are taken by workers of that queue, and by those of all queues.
ALTER TABLE jobs ADD COLUMN queue text NOT NULL DEFAULT 'default';
-- What its turns have cost that ended, as far as prices are known.
ALTER TABLE jobs ADD COLUMN cost_usd double precision NOT NULL DEFAULT 0;
DROP INDEX jobs_pending;
CREATE INDEX jobs_pending ON jobs (owner, queue, priority DESC, made, id) WHERE status = 'pending';
CREATE INDEX jobs_running_in_queue ON jobs (queue) WHERE status = 'running';
DROP VIEW standing;
CREATE VIEW standing AS
    SELECT *, CASE WHEN status = 'running' AND is_asking THEN 'waiting' ELSE status END AS stands FROM jobs;
-- The queues whose jobs it takes; none: all.
ALTER TABLE workers ADD COLUMN queues text[] NOT NULL DEFAULT '{}';
-- Queues whose jobs no worker begins. Jobs that run go on.
CREATE TABLE queue_pauses (
    queue text PRIMARY KEY,
    made timestamptz NOT NULL DEFAULT now()
);

-- The owners that may give jobs to a queue, and `admin`; all owners where a queue is not here.
CREATE TABLE queue_owners (
    queue text NOT NULL,
    owner text NOT NULL REFERENCES owners ON DELETE CASCADE,
    PRIMARY KEY (queue, owner)
);

-- What workers run in a work tree before a job of the queue begins.
CREATE TABLE queue_setups (
    queue text PRIMARY KEY,
    commands text NOT NULL
);
-- What those commands get in a variable.
CREATE TABLE queue_secrets (
    queue text NOT NULL,
    name text NOT NULL,
    -- A nonce of 12 bytes, then the value under AES-256-GCM and its tag. The database does not have the key.
    sealed bytea NOT NULL,
    made timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (queue, name)
);

-- What the jobs of an owner or of a queue may use together.
CREATE TABLE limits (
    owner text UNIQUE REFERENCES owners,
    queue text UNIQUE,
    -- At the same time.
    running integer,
    pending integer,
    -- In the current day, week or month of UTC.
    budget_usd double precision,
    period text CHECK (period IN ('day', 'week', 'month')),
    CHECK (num_nonnulls(owner, queue) = 1),
    CHECK ((budget_usd IS NULL) = (period IS NULL))
);
CREATE TABLE spending (
    owner text NOT NULL,
    queue text NOT NULL,
    -- Of UTC.
    day date NOT NULL,
    usd double precision NOT NULL,
    PRIMARY KEY (owner, queue, day)
);
CREATE INDEX spending_of_queues ON spending (queue, day);
-- Limits, and what is used of them.
CREATE VIEW limit_usage AS
    SELECT owner, queue, running, pending, budget_usd, period,
        (SELECT count(*) FROM jobs j
            WHERE j.status = 'running' AND (j.owner = l.owner OR j.queue = l.queue)) AS used_running,
        (SELECT count(*) FROM jobs j
            WHERE j.status = 'pending' AND (j.owner = l.owner OR j.queue = l.queue)) AS used_pending,
        (SELECT coalesce(sum(s.usd), 0) FROM spending s WHERE (s.owner = l.owner OR s.queue = l.queue)
            AND s.day >= date_trunc(l.period, clock_timestamp() AT TIME ZONE 'UTC')::date) AS used_usd
    FROM limits l;

-- Gives a worker the next job of these queues (none: of all): of the owner with the fewest running jobs in them; of these
-- the one with the highest priority; of these the oldest. No row where none can begin.
CREATE FUNCTION claim_job(instance text, seconds double precision, wanted text[]) RETURNS SETOF jobs
LANGUAGE plpgsql
-- One plan for each connection, made for indexes also where the tables are empty yet.
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off
AS $claim$
BEGIN
    -- A worker that is to take no more jobs may not know it yet.
    IF EXISTS (SELECT FROM workers w WHERE w.instance = claim_job.instance AND w.is_draining) THEN
        RETURN;
    END IF;
    -- Limited claims follow each other. The statement below begins after the lock is taken, so it counts what all
    -- earlier ones have claimed.
    IF EXISTS (SELECT FROM limits l WHERE l.running IS NOT NULL) THEN
        PERFORM pg_advisory_xact_lock(x'6861666c'::int);
    END IF;
    RETURN QUERY
    -- Jumps from one owner and queue to the next, past all jobs between.
    WITH RECURSIVE waiting (owner, queue) AS (
        (SELECT j.owner, j.queue FROM jobs j WHERE j.status = 'pending' ORDER BY j.owner, j.queue LIMIT 1)
        UNION ALL
        SELECT next.owner, next.queue FROM waiting w CROSS JOIN LATERAL (
            SELECT j.owner, j.queue FROM jobs j
            WHERE j.status = 'pending' AND (j.owner, j.queue) > (w.owner, w.queue)
            ORDER BY j.owner, j.queue LIMIT 1) next
    ),
    at_work AS MATERIALIZED (
        SELECT j.owner, count(*) AS running FROM jobs j
        WHERE j.status = 'running' AND NOT j.is_asking AND j.leased_until > clock_timestamp()
            AND (wanted = '{}' OR j.queue = ANY (wanted))
        GROUP BY j.owner
    ),
    reached AS MATERIALIZED (
        SELECT u.owner, u.queue FROM limit_usage u WHERE u.used_running >= u.running OR u.used_usd >= u.budget_usd
    ),
    fair AS MATERIALIZED (
        SELECT w.owner, w.queue FROM waiting w LEFT JOIN at_work a ON a.owner = w.owner
        CROSS JOIN LATERAL (
            SELECT j.priority, j.made FROM jobs j
            WHERE j.owner = w.owner AND j.queue = w.queue AND j.status = 'pending' AND j.run_after <= clock_timestamp()
            ORDER BY j.priority DESC, j.made, j.id LIMIT 1) best
        WHERE (wanted = '{}' OR w.queue = ANY (wanted))
            AND NOT EXISTS (SELECT FROM pauses p WHERE p.owner IN ('*', w.owner))
            AND NOT EXISTS (SELECT FROM queue_pauses p WHERE p.queue = w.queue)
            AND NOT EXISTS (SELECT FROM reached r WHERE r.owner = w.owner OR r.queue = w.queue)
        ORDER BY coalesce(a.running, 0), best.priority DESC, best.made
    ),
    next AS (
        SELECT found.id FROM fair CROSS JOIN LATERAL (
            SELECT j.id FROM jobs j WHERE j.owner = fair.owner AND j.queue = fair.queue
                AND j.status = 'pending' AND j.run_after <= clock_timestamp()
            ORDER BY j.priority DESC, j.made, j.id LIMIT 1 FOR UPDATE SKIP LOCKED) found
        LIMIT 1
    )
    UPDATE jobs SET status = 'running', is_asking = false, token = jobs.token + 1, attempts = jobs.attempts + 1,
        worker = instance, leased_until = clock_timestamp() + seconds * interval '1 second'
    FROM next WHERE jobs.id = next.id AND jobs.status = 'pending'
    RETURNING jobs.*;
END
$claim$;

-- Refuses a job beyond what may be pending. One that is there already is no new one.
CREATE FUNCTION check_pending() RETURNS trigger LANGUAGE plpgsql AS $check$
DECLARE
    reached record;
BEGIN
    IF NOT EXISTS (SELECT FROM limits l WHERE l.pending IS NOT NULL AND (l.owner = NEW.owner OR l.queue = NEW.queue))
        OR EXISTS (SELECT FROM jobs j WHERE j.id = NEW.id) THEN
        RETURN NEW;
    END IF;
    PERFORM pg_advisory_xact_lock(x'6861666c'::int);
    SELECT u.owner, u.queue, u.pending INTO reached FROM limit_usage u
        WHERE (u.owner = NEW.owner OR u.queue = NEW.queue) AND u.used_pending >= u.pending LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'HF001', MESSAGE = format('the %s `%s` is at its limit of %s pending jobs',
            CASE WHEN reached.owner IS NULL THEN 'queue' ELSE 'owner' END, coalesce(reached.owner, reached.queue),
            reached.pending);
    END IF;
    RETURN NEW;
END
$check$;
CREATE TRIGGER jobs_pending_limit BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION check_pending();

-- Refuses a job of an owner that may not use its queue. One that is there already stays.
CREATE FUNCTION check_queue_owner() RETURNS trigger LANGUAGE plpgsql AS $check$
BEGIN
    IF NEW.owner <> 'admin' AND EXISTS (SELECT FROM queue_owners q WHERE q.queue = NEW.queue)
        AND NOT EXISTS (SELECT FROM queue_owners q WHERE q.queue = NEW.queue AND q.owner = NEW.owner)
        AND NOT EXISTS (SELECT FROM jobs j WHERE j.id = NEW.id) THEN
        RAISE EXCEPTION USING ERRCODE = 'HF002',
            MESSAGE = format('the owner `%s` may not use the queue `%s`', NEW.owner, NEW.queue);
    END IF;
    RETURN NEW;
END
$check$;
CREATE TRIGGER jobs_queue_owner BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION check_queue_owner();

-- What holds for the whole fleet.
CREATE TABLE settings (
    name text PRIMARY KEY,
    value text NOT NULL
);
-- A content is here, or in the object store at `place`, under its hash.
ALTER TABLE contents ALTER COLUMN bytes DROP NOT NULL;
ALTER TABLE contents ADD COLUMN place text;
ALTER TABLE contents ADD CHECK ((bytes IS NULL) <> (place IS NULL));

-- People who have logged in at an OpenID provider, as owners, until then.
CREATE TABLE logins (
    -- SHA-256 of the bearer token in hexadecimal digits.
    token_hash text PRIMARY KEY,
    owner text NOT NULL REFERENCES owners ON DELETE CASCADE,
    -- Whether the person sees and steers the jobs of all owners.
    is_admin boolean NOT NULL,
    until timestamptz NOT NULL
);
