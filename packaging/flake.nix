# `nix run ./packaging` builds Haft from this repository. Not tried here: this machine has no Nix.
{
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "haft";
          version = "0.1.0";
          src = ./..;
          cargoLock.lockFile = ../Cargo.lock;
          buildAndTestSubdir = "crates/haft-cli";
          nativeBuildInputs = [ pkgs.cmake pkgs.pkg-config pkgs.rustPlatform.bindgenHook pkgs.installShellFiles ];
          doCheck = false;
          postInstall = ''
            $out/bin/haft man --to man1
            installManPage man1/*.1
            installShellCompletion --cmd haft \
              --bash <($out/bin/haft completions bash) \
              --zsh <($out/bin/haft completions zsh) \
              --fish <($out/bin/haft completions fish)
          '';
        };
      });
    };
}
