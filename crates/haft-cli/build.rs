//! How the binary is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Addresses that are put right at start-up take 24 bytes each in the file, and all are read before `main`. Packed they
    // are two megabytes less of memory. A linker that does not know it says so and goes on; it needs glibc 2.36.
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
