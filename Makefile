# The commands of this project. `make demo` and `make test` do their own set-up.
CARGO ?= cargo
MODELS := $(CURDIR)/models
export HAFT_MODELS ?= $(MODELS)

.PHONY: demo test check soak escape bench figures fresh site recording

# A question, an edit, an undo, a crash and the page of a session, on the embedded model, in a scratch repository.
demo:
	scripts/setup.sh build
	scripts/demo.sh

# Everything: unit tests, real servers, the embedded model.
test:
	scripts/setup.sh test
	scripts/test.sh

# Both commands above, as on machines that are new. Needs root; run before a release, see docs/releasing.md.
fresh:
	scripts/fresh.sh

# The quick one: format, lints, unit tests. Leaves the embedded model out.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --exclude haft-local --exclude haft-cli --all-targets -- -D warnings
	$(CARGO) clippy -p haft-cli --no-default-features --all-targets -- -D warnings
	$(CARGO) test --workspace --exclude haft-local --exclude haft-cli --lib --quiet
	$(CARGO) test -p haft-cli --no-default-features --bins --test floors --test structure --quiet
	python3 scripts/requirements.py

# What takes too long for every day: random scripts in views against the same ones without, random calls side by side
# against the same ones one after the other, random sessions replayed, single calls of random sessions undone, the lines of random sessions attributed,
# sessions killed at random instants and at every step of settling, outboxes killed while they queue and send, how long eight
# attempts take to begin, 10,000 jobs, as many on workers that are killed and paused, and evaluations of models of known quality.
soak:
	HAFT_SOAK=2000 $(CARGO) test -p haft-stage --test it commands::
	HAFT_SOAK=2000 $(CARGO) test -p haft-cli --no-default-features --test it tools::parallel_calls
	HAFT_SOAK=1000 $(CARGO) test -p haft-cli --no-default-features --test it sessions::random_replays -- --nocapture
	HAFT_SOAK=1000 $(CARGO) test -p haft-cli --no-default-features --test it sessions::random_undos
	HAFT_SOAK=500 $(CARGO) test -p haft-cli --no-default-features --test it sessions::random_blames -- --nocapture
	HAFT_SOAK=1000 $(CARGO) test -p haft-cli --no-default-features --test it a_changed_byte_anywhere -- --nocapture
	HAFT_SOAK=600 $(CARGO) test -p haft-cli --no-default-features --test it robustness::kills
	HAFT_SOAK=1000 $(CARGO) test -p haft-cli --no-default-features --test it sessions::outbox::killed -- --nocapture
	$(CARGO) run --release --quiet -p haft-stage --example attempts
	HAFT_SOAK=10000 $(CARGO) test -p haft-cli --no-default-features --test it queued_jobs
	HAFT_SOAK=10000 $(CARGO) test -p haft-cli --no-default-features --test it in_a_storm -- --nocapture
	HAFT_SOAK=200 $(CARGO) test -p haft-cli --no-default-features --test it simulated_models -- --nocapture
	HAFT_SOAK=100000 $(CARGO) test -p haft-fleet --test simulation -- --nocapture

# Ways out of the sandboxes of agents; none leads out. A part of `make test`.
escape:
	$(CARGO) test -p haft-cli --no-default-features --test it sandbox::escape

# Speed and memory, as ratios and medians of one run.
bench:
	scripts/setup.sh test
	scripts/bench.sh

# The documentation as a site, in `target/site`. Needs npm and Python; fetches mdBook at the first time.
site:
	scripts/site.sh

# Its recordings, again: that of the front page, and those of what only Haft does. After a change of the screen.
recording:
	$(CARGO) build -p haft-cli --no-default-features
	scripts/recording.py docs/site/recording.cast
	scripts/demonstrations.py --record

# How well the demo model calls tools: the table in docs/models.md.
APART := crates/app/src/evaluation/apart.toml

figures:
	scripts/setup.sh build
	$(CARGO) build --release -p haft-cli
	target/release/haft models pull smollm2-135m
	target/release/haft models check local/smollm2-135m --full --tasks $(APART)
	target/release/haft models check local/smollm2-135m --full --tasks $(APART) --dialect hermes
