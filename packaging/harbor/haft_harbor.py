"""Haft as an agent of Harbor, which runs Terminal-Bench: `harbor run --agent haft_harbor:Haft …`, see docs/evaluation.md.

It installs Haft in the container of a task, lets it do the task in one turn, and leaves the journal, the page of the
session and what was printed in the trial's `agent` directory.
"""

import json
import shlex
from pathlib import Path
from typing import Annotated, override

from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.agents.options import Cli, InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from pydantic import Field

# What Harbor collects from the container.
LOGS = "/logs/agent"
# Sessions lie outside of the workspace, whichever that is.
ENVIRONMENT = {"HAFT_HOME": "/installed-agent/haft-home"}
PROGRAM = "/installed-agent/haft"


class HaftOptions(InstalledAgentOptions):
    binary: str | None = Field(
        default=None, description="Program to copy from this machine; without it, `install` is run."
    )
    install: str | None = Field(
        default=None, description="Address of `install.sh` of a release."
    )
    model_file: str | None = Field(
        default=None, description="Model to copy: a script (`.jsonl`) or a GGUF file, which Haft runs in its own process."
    )
    reasoning_effort: Annotated[str | None, Cli("--effort")] = Field(
        default=None, description="Reasoning effort: low, medium or high."
    )
    max_rounds: Annotated[int | None, Cli("--max-rounds")] = Field(
        default=None, description="Maximum requests to the model."
    )
    max_cost: Annotated[float | None, Cli("--max-cost")] = Field(
        default=None, description="Maximum cost in US dollars."
    )


class Haft(BaseInstalledAgent):
    """Installs Haft in the container of a task and runs it there."""

    capabilities = AgentCapabilities(base_url=True, reasoning_effort=True)
    options_model = HaftOptions

    @staticmethod
    @override
    def name() -> str:
        return "haft"

    @override
    def get_version_command(self) -> str | None:
        return f"{PROGRAM} --version"

    @override
    def parse_version(self, stdout: str) -> str:
        return stdout.strip().removeprefix("haft ")

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        if self.options.binary:
            await environment.upload_file(Path(self.options.binary), PROGRAM)
            await self.exec_as_root(environment, command=f"chmod 755 {PROGRAM}")
        elif self.options.install:
            await self.ensure_system_dependencies(environment, ("curl", "ca_certificates", "tar"))
            address = shlex.quote(self.options.install)
            await self.exec_as_root(
                environment,
                command=f"curl -fsSL {address} | HAFT_PREFIX=/installed-agent/prefix sh"
                f" && ln -sf prefix/bin/haft {PROGRAM}",
            )
        else:
            raise ValueError(
                "Haft cannot be installed: pass `--agent-kwarg binary=PATH` or `--agent-kwarg install=ADDRESS/install.sh`"
            )
        if self.options.model_file:
            file = Path(self.options.model_file)
            await environment.upload_file(file, f"/installed-agent/{file.name}")
        await self.exec_as_root(
            environment, command="mkdir -p /installed-agent/haft-home && chmod 1777 /installed-agent/haft-home"
        )

    def model(self) -> str:
        if self.options.model_file:
            file = Path(self.options.model_file)
            provider = "script" if file.suffix == ".jsonl" else "local"
            return f"{provider}//installed-agent/{file.name}"
        if not self.model_name:
            raise ValueError("there is no model: pass `--model PROVIDER/MODEL` or `--agent-kwarg model_file=FILE`")
        return self.model_name

    @override
    @with_prompt_template
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        connection = self.model_connection
        options = f"--model {shlex.quote(self.model())} {self.build_cli_flags()}"
        if connection.execution_base_url is not None:
            options += f" --base-url {shlex.quote(connection.execution_base_url)}"
        # The container belongs to the task, so nothing is asked. An exit code that is not 0 is the agent's failure only
        # if it could not work at all: what it did is left to the task's own checks.
        script = f"""
            {PROGRAM} run --permission full --output json {options} -- {shlex.quote(instruction)} \
                >{LOGS}/result.json 2>{LOGS}/stderr.txt
            code=$?
            for session in {ENVIRONMENT["HAFT_HOME"]}/sessions/*/; do
                name=$(basename "$session")
                {PROGRAM} sessions export "$name" --format json >"{LOGS}/$name.jsonl"
                {PROGRAM} sessions export "$name" --format html >"{LOGS}/$name.html"
            done
            cat {LOGS}/stderr.txt >&2
            case $code in 1|2) exit "$code" ;; esac
        """
        await self.exec_as_agent(environment, command=script, env={**connection.env, **ENVIRONMENT})

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        try:
            result = json.loads((self.logs_dir / "result.json").read_text())
        except (OSError, ValueError):
            return
        usage = result["usage"]
        context.n_input_tokens = usage["input"] + usage["cache_read"] + usage["cache_write"]
        context.n_cache_tokens = usage["cache_read"]
        context.n_output_tokens = usage["output"]
        context.cost_usd = result["cost_usd"]
        context.metadata = {name: result[name] for name in ("session", "outcome", "rounds")}
