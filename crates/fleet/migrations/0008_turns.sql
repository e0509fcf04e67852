-- Turns that ended in each queue, by outcome, with their tokens.
CREATE TABLE turns (
    queue text NOT NULL,
    -- As the journal writes it: `finished`, `failed`, `interrupted` …
    outcome text NOT NULL,
    ended bigint NOT NULL,
    input bigint NOT NULL,
    output bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write bigint NOT NULL,
    PRIMARY KEY (queue, outcome)
);
