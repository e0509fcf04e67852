-- Whose jobs no worker begins, by the name of the owner; `*` stands for all owners. Jobs that run go on.
CREATE TABLE pauses (
    owner text PRIMARY KEY,
    made timestamptz NOT NULL DEFAULT now()
);
