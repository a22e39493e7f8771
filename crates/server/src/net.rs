//! Connections: how many, how long they may take, and how they end.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::config::Limits;

/// What a listener speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Protocol {
    /// HTTP/1.1, and HTTP/2 by those who know that it is spoken here.
    Http,
    /// HTTP/2 only.
    Http2,
}

/// A place where connections are taken, until told to stop.
#[derive(Debug)]
pub(crate) struct Listener {
    name: &'static str,
    tcp: TcpListener,
    address: SocketAddr,
    protocol: Protocol,
}

impl Listener {
    /// Listens at `address`. The error says where.
    pub(crate) async fn bind(
        name: &'static str,
        address: SocketAddr,
        protocol: Protocol,
    ) -> Result<Self, io::Error> {
        let name_it = |error: io::Error| {
            io::Error::new(error.kind(), format!("listen {name} on {address}: {error}"))
        };
        let tcp = TcpListener::bind(address).await.map_err(name_it)?;
        let address = tcp.local_addr().map_err(name_it)?;
        Ok(Self {
            name,
            tcp,
            address,
            protocol,
        })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves connections until `stop` becomes true, and then until the last of them is done.
    pub(crate) async fn serve<S, B>(
        self,
        service: S,
        limits: Limits,
        mut stop: watch::Receiver<bool>,
    ) where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let builder = builder(self.protocol, &limits);
        let slots = Arc::new(Semaphore::new(limits.max_connections));
        let connections = GracefulShutdown::new();
        loop {
            let accept = async {
                // Without a slot, clients wait in the queue of the operating system.
                let slot = Arc::clone(&slots).acquire_owned().await;
                (self.accept().await, slot)
            };
            let (stream, slot) = tokio::select! {
                accepted = accept => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let answering = Arc::new(AtomicBool::new(false));
            let service = noting(service.clone(), Arc::clone(&answering));
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            let connection = connections.watch(connection.into_owned());
            let name = self.name;
            tokio::spawn(async move {
                if let Err(error) =
                    first_within(limits.header_timeout, connection, &answering).await
                {
                    tracing::debug!(listener = name, error = &*error, "connection ended");
                }
                drop(slot);
            });
        }
        drop(self.tcp);
        connections.shutdown().await;
    }

    async fn accept(&self) -> TcpStream {
        /// Long enough not to spin, short enough not to be noticed.
        const PAUSE: Duration = Duration::from_millis(50);
        loop {
            match self.tcp.accept().await {
                Ok((stream, _)) => {
                    // Answers are small and must not wait for more.
                    let _ = stream.set_nodelay(true);
                    return stream;
                }
                // A client that went away in the queue, or no more file descriptors.
                Err(error) => {
                    tracing::warn!(listener = self.name, %error, "cannot accept");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

fn builder(protocol: Protocol, limits: &Limits) -> Builder<TokioExecutor> {
    /// How often a silent HTTP/2 peer is asked whether it is there, and how long it may think.
    const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(10));
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(limits.max_header_bytes as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1)
        .max_concurrent_streams(limits.max_streams)
        .max_header_list_size(limits.max_header_bytes);
    match protocol {
        Protocol::Http => builder,
        Protocol::Http2 => builder.http2_only(),
    }
}

/// `service`, which sets `answering` when it is asked for the first time.
fn noting<S>(
    service: S,
    answering: Arc<AtomicBool>,
) -> impl Service<Request<Incoming>, Response = S::Response, Error = S::Error, Future = S::Future>
where
    S: Service<Request<Incoming>>,
{
    struct Noting<S>(S, Arc<AtomicBool>);
    impl<S: Service<Request<Incoming>>> Service<Request<Incoming>> for Noting<S> {
        type Response = S::Response;
        type Error = S::Error;
        type Future = S::Future;

        fn call(&self, request: Request<Incoming>) -> S::Future {
            self.1.store(true, Ordering::Relaxed);
            self.0.call(request)
        }
    }
    Noting(service, answering)
}

/// Drives `connection`, unless it does not come to its first request within `time`.
///
/// The protocol's own timeout begins only once the client has said which protocol it speaks.
async fn first_within<E>(
    time: Duration,
    connection: impl Future<Output = Result<(), E>>,
    answering: &AtomicBool,
) -> Result<(), Box<dyn Error + Send + Sync>>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    tokio::pin!(connection);
    match tokio::time::timeout(time, &mut connection).await {
        Err(_) if !answering.load(Ordering::Relaxed) => Err("no request in time".into()),
        Err(_) => connection.await.map_err(Into::into),
        Ok(ended) => ended.map_err(Into::into),
    }
}
