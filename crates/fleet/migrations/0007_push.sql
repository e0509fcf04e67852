-- Browsers that are notified of the jobs of an owner (Web Push).
CREATE TABLE devices (
    id text PRIMARY KEY,
    owner text NOT NULL REFERENCES owners ON DELETE CASCADE,
    -- SHA-256, in hexadecimal digits, of the token that the device was added with: it is notified no longer than that holds.
    -- None: a person who has logged in at an OpenID provider, until the owner is logged out or removed.
    token_hash text,
    -- The address of its push service and its keys, as JSON.
    subscription text NOT NULL,
    -- What it is told and when, as JSON.
    wishes text NOT NULL,
    made timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX devices_of_owners ON devices (owner);

-- What devices are to be told of. Whichever server takes a row sends it, and removes the row.
CREATE TABLE notices (
    number bigserial PRIMARY KEY,
    job text NOT NULL REFERENCES jobs ON DELETE CASCADE,
    -- The call that waits for a person; empty: the job has ended.
    call text NOT NULL DEFAULT '',
    device text NOT NULL REFERENCES devices ON DELETE CASCADE,
    made timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When a server may take it. A server that takes it moves this on, so that another one takes it if that server is gone.
    due timestamptz NOT NULL DEFAULT clock_timestamp(),
    tries integer NOT NULL DEFAULT 0,
    UNIQUE (job, call, device)
);

CREATE FUNCTION announce_end() RETURNS trigger LANGUAGE plpgsql AS $announce$
BEGIN
    INSERT INTO notices (job, device) SELECT NEW.id, d.id FROM devices d WHERE d.owner = NEW.owner ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$announce$;
CREATE TRIGGER jobs_announce_end AFTER UPDATE OF status ON jobs FOR EACH ROW
    WHEN (NEW.status <> OLD.status AND NEW.status IN ('completed', 'failed', 'dead')) EXECUTE FUNCTION announce_end();
