//! Sets the shared library's soname to the versions that are compatible by Cargo's rules: the major
//! version, and while that is 0 the minor version too.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_FAMILY") == "unix"
        && variable("CARGO_CFG_TARGET_VENDOR") != "apple"
    {
        let (major, minor) = (
            variable("CARGO_PKG_VERSION_MAJOR"),
            variable("CARGO_PKG_VERSION_MINOR"),
        );
        let interface = if major == "0" {
            format!("0.{minor}")
        } else {
            major
        };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmq.so.{interface}");
    }
}
