-- People who have logged in at an OpenID provider, as owners, until then.
CREATE TABLE logins (
    -- SHA-256 of the bearer token in hexadecimal digits.
    token_hash text PRIMARY KEY,
    owner text NOT NULL REFERENCES owners ON DELETE CASCADE,
    -- Whether the person sees and steers the jobs of all owners.
    is_admin boolean NOT NULL,
    until timestamptz NOT NULL
);
