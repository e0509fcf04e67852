-- Requests that clients may send again: what came of the first one is the answer to all.
CREATE TABLE requests (
    -- Stands for the client and the key that it chose.
    name text PRIMARY KEY,
    -- Tells the request from others.
    request text NOT NULL,
    -- The job that it makes, if it makes one.
    job text NOT NULL,
    -- What it sends to a job was put down.
    is_sent boolean NOT NULL DEFAULT false,
    -- The answer, once there is one.
    status integer,
    kind text,
    body text,
    made timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX requests_made ON requests (made);
