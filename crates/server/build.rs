//! Compiles the published `.proto`, without `protoc`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message;
use prost_types::FileDescriptorSet;
use prost_types::field_descriptor_proto::Type;

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
        .bytes(".")
        .compile_fds(with_bytes_for_strings(descriptors))?;
    Ok(())
}

/// The same messages on the wire, whose requests are read without a copy and without a failure.
///
/// The service itself says what is wrong with a text that is not UTF-8; the decoder could only say
/// that of the whole message, with the status of a broken server.
fn with_bytes_for_strings(mut descriptors: FileDescriptorSet) -> FileDescriptorSet {
    for file in &mut descriptors.file {
        for message in &mut file.message_type {
            if message.name() == "AllowRequest" {
                for field in message
                    .field
                    .iter_mut()
                    .filter(|f| f.r#type() == Type::String)
                {
                    field.set_type(Type::Bytes);
                }
            }
        }
    }
    descriptors
}
