-- What holds for the whole fleet.
CREATE TABLE settings (
    name text PRIMARY KEY,
    value text NOT NULL
);
-- A content is here, or in the object store at `place`, under its hash.
ALTER TABLE contents ALTER COLUMN bytes DROP NOT NULL;
ALTER TABLE contents ADD COLUMN place text;
ALTER TABLE contents ADD CHECK ((bytes IS NULL) <> (place IS NULL));
