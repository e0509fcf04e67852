"""An environment of Harbor without a container engine: a copy-on-write layer over a folder with a system, entered by
`chroot` in namespaces of its own. For `scripts/harbor.sh`, as root. The folder is named by HAFT_HARBOR_SYSTEM."""

import asyncio
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities


class Chroot(BaseEnvironment):
    """Runs the commands of a task in a layer that is gone afterwards."""

    @staticmethod
    def type() -> str:
        return "chroot"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities()

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities()

    def _validate_definition(self):
        if not Path(os.environ.get("HAFT_HARBOR_SYSTEM", "")).joinpath("bin/sh").exists():
            raise FileNotFoundError("HAFT_HARBOR_SYSTEM must name a folder with a system")

    async def start(self, force_build: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="haft-harbor-"))
        self.root = self.folder / "root"
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir()
        lower = os.environ["HAFT_HARBOR_SYSTEM"]
        layers = f"lowerdir={lower},upperdir={self.folder}/upper,workdir={self.folder}/work"
        await self._run("mount", "-t", "overlay", "overlay", "-o", layers, str(self.root))
        # What the Dockerfile of a task would do.
        for name in ("app", "logs/agent", "logs/verifier", "logs/artifacts", "tests", "installed-agent"):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    async def stop(self, delete: bool):
        await self._run("umount", str(self.root))
        shutil.rmtree(self.folder)

    def _inside(self, path: str) -> Path:
        return self.root / str(path).lstrip("/")

    async def upload_file(self, source_path: Path | str, target_path: str):
        target = self._inside(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)

    async def upload_dir(self, source_dir: Path | str, target_dir: str):
        shutil.copytree(source_dir, self._inside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str):
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self._inside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str):
        shutil.copytree(self._inside(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None) -> ExecResult:
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **(self._persistent_env or {}), **(env or {})}
        inner = f"cd {shlex.quote(str(cwd or '/app'))} && {command}"
        outer = f"mount -t proc proc {self.root}/proc && mount --rbind /dev {self.root}/dev && exec chroot {self.root} bash -c {shlex.quote(inner)}"
        program = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "slave", "sh", "-c", outer]
        started = await asyncio.create_subprocess_exec(
            *program, env=variables, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            out, err = await asyncio.wait_for(started.communicate(), timeout_sec)
        except TimeoutError:
            started.kill()
            await started.wait()
            return ExecResult(stdout="", stderr="the command took too long", return_code=124)
        return ExecResult(stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"), return_code=started.returncode)

    async def _run(self, *command: str):
        started = await asyncio.create_subprocess_exec(*command)
        if await started.wait() != 0:
            raise RuntimeError(f"cannot set up the environment: `{shlex.join(command)}` failed")
