//! How the binary is linked: small in memory, and quick to start.
use std::{env, path::Path};

/// The functions that run until the first reply, in the order of their first call; `scripts/startup_order.sh` writes it.
/// What runs lies together then: the system reads code in windows of 64 kB, and code that runs once lies in two hundred
/// of them otherwise, which is half of the memory of the process. A name that is not there any more is passed over.
const ORDER: &str = "startup.order";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={ORDER}");
    for variable in ["HAFT_SYMBOLS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_LINKER"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let is_release = env::var("PROFILE").as_deref() == Ok("release");
    // Symbols are taken out here and not by the profile, so that names are the same with them and without.
    let is_linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    if is_release && is_linux && env::var_os("HAFT_SYMBOLS").is_none() {
        link("-Wl,--strip-all");
    }
    if env::var("TARGET").as_deref() != Ok("x86_64-unknown-linux-gnu") || !is_own_linker() {
        return;
    }
    // Addresses that are put right at start-up take 24 bytes each in the file, and all are read before `main`. Packed they
    // are two megabytes less of memory. It needs glibc 2.36.
    link("-Wl,-z,pack-relative-relocs");
    if is_release {
        // Functions of the same machine code become one, two percent of the file. Rust promises no function an address of its
        // own; of the C++ library, what is told apart by its address differs in code (2026-11-23).
        link("-Wl,--icf=all");
        // A text that another one ends with is kept once.
        link("-Wl,-O2");
    }
    let order = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join(ORDER);
    if is_release && order.exists() {
        link(&format!("-Wl,--symbol-ordering-file={}", order.display()));
        link("-Wl,--no-warn-symbol-ordering");
    }
}

/// The toolchain's own one, LLD, knows these options; others may refuse them.
fn is_own_linker() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    !flags.contains("fuse-ld") && !flags.contains("linker") && env::var_os("RUSTC_LINKER").is_none()
}

fn link(argument: &str) {
    println!("cargo:rustc-link-arg-bins={argument}");
}
