-- What people did, in order: requests that change something, log-ins, and commands of `haft fleet`. Lines are only appended.
CREATE TABLE audit (
    -- From 1, without gaps.
    number bigint PRIMARY KEY,
    -- A line of JSON. Its last field, `chain`, is `value` in hexadecimal digits.
    line text NOT NULL,
    -- SHA-256 of the value before and of the SHA-256 of the line without this value; 32 zero bytes stand before the first line.
    value bytea NOT NULL
);

-- Appends an object without its value of the chain.
CREATE FUNCTION append_to_audit(entry text) RETURNS void LANGUAGE plpgsql AS $append$
DECLARE
    last record;
    behind bytea;
BEGIN
    -- Each statement below begins after the lock is taken, so it sees the last line.
    PERFORM pg_advisory_xact_lock(x'68616661'::int);
    SELECT a.number, a.value INTO last FROM audit a ORDER BY a.number DESC LIMIT 1;
    behind := sha256(coalesce(last.value, decode(repeat('00', 32), 'hex')) || sha256(convert_to(entry, 'UTF8')));
    INSERT INTO audit (number, line, value)
        VALUES (coalesce(last.number, 0) + 1, left(entry, -1) || ',"chain":"' || encode(behind, 'hex') || '"}', behind);
END
$append$;

CREATE FUNCTION keep_audit() RETURNS trigger LANGUAGE plpgsql AS $keep$
BEGIN
    RAISE EXCEPTION 'the audit log can only be appended to';
END
$keep$;
CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION keep_audit();
