# Made by scripts/dist.sh of a release: @…@ are filled in there.
class Haft < Formula
  desc "Coding agent that records every tool call and can undo its file changes"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_linux do
    on_intel do
      url "@DOWNLOADS@/haft-@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_x86_64-unknown-linux-gnu@"
    end
  end

  def install
    bin.install "bin/haft"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/bash-completion/completions/haft"
    zsh_completion.install "share/zsh/site-functions/_haft"
    fish_completion.install "share/fish/vendor_completions.d/haft.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/haft --version")
  end
end
