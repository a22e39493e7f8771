//! A handler that does nothing, on the HTTP stack of the server: what `scripts/bench-server.sh`
//! measures the server against.

use std::convert::Infallible;
use std::env;
use std::error::Error;
use std::io::{self, Write};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    writeln!(io::stdout(), "listening http={}", listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let answer = service_fn(async |_: Request<Incoming>| {
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            });
            let builder = Builder::new(TokioExecutor::new());
            // A client that goes away is nobody's business here.
            let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}
