//! The signals that stop the process.

use std::io;
use std::process;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT and SIGTERM: the first asks for a stop, the second ends the process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Takes the signals from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the first signal. From then on, the next one ends the process at once.
    pub(crate) async fn first(mut self) {
        self.next().await;
        tokio::spawn(async move {
            let signal = self.next().await;
            tracing::warn!("a second signal: ending at once");
            // What a shell reports of a process that a signal has ended.
            process::exit(128 + signal);
        });
    }

    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
        }
    }
}
