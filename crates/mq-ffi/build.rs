//! Gives the shared library its soname: the major version of the ABI, 0 until it is stable.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_FAMILY") == "unix" && target("CARGO_CFG_TARGET_VENDOR") != "apple" {
        let major = target("CARGO_PKG_VERSION_MAJOR");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmq.so.{major}");
    }
}
