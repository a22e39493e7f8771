//! The binary `tollgate`; see the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate_server::cli::main()
}
