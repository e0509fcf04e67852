-- A job that no worker has is pending, as everywhere else; one that waits asks a person, and its worker has it.
ALTER TABLE jobs DROP CONSTRAINT jobs_status_check;
UPDATE jobs SET status = 'pending' WHERE status = 'waiting';
ALTER TABLE jobs ALTER COLUMN status SET DEFAULT 'pending';
ALTER TABLE jobs ADD CONSTRAINT jobs_status_check
    CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled', 'dead'));
DROP INDEX jobs_waiting;
CREATE INDEX jobs_pending ON jobs (owner, priority DESC, made, id) WHERE status = 'pending';
CREATE INDEX jobs_newest ON jobs (made DESC, id DESC);
CREATE INDEX jobs_newest_of_owner ON jobs (owner, made DESC, id DESC);
-- While a worker has it.
ALTER TABLE jobs ADD COLUMN is_asking boolean NOT NULL DEFAULT false;
-- How a job stands, for people.
CREATE VIEW standing AS
    SELECT *, CASE WHEN status = 'running' AND is_asking THEN 'waiting' ELSE status END AS stands FROM jobs;
