//! Compiles the published `.proto`, without `protoc`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message;

const ROOT: &str = "../../proto";
const FILE: &str = "ratelimiter/v1/ratelimiter.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={ROOT}");
    let descriptors = protox::compile([FILE], [ROOT])?;
    // Server reflection hands these out.
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("ratelimiter.v1.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(false)
        .compile_fds(descriptors)?;
    Ok(())
}
