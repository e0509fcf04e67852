-- The role that the server of the login gives, and whether it may answer approvals and questions.
ALTER TABLE logins ADD COLUMN role text;
ALTER TABLE logins ADD COLUMN may_approve boolean NOT NULL DEFAULT true;
