//! Measures the proxy of programs beside direct connections to the same server, in the same run:
//! what passes through a tunnel, what it adds to the first byte of an answer, and how many tunnels
//! are open at once.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::policy::host::{Host, WebUrl};
use orchestrate_core::policy::web::{Destinations, WebFailure};
use orchestrate_web::{Egress, Recording, WebClient};

use crate::measuring::{Figure, Pairs, ms, runtime};
use crate::support::client_hello;

/// The size of what passes at once.
const PASSED: usize = 512 << 20;
const GIB: f64 = (1 << 30) as f64;
const SAMPLES: usize = 5;
const ANSWERS: usize = 300;
const TUNNELS: usize = 200;
const BUFFER: usize = 256 << 10;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let runtime = runtime()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let proxy = listener.local_addr()?.port();
    let serving = runtime.spawn(async move {
        WebClient::default()
            .serve_proxy(listener, Arc::new(Everything))
            .await
    });
    let figures = [through(proxy)?, first_byte(proxy)?, at_once(proxy)?];
    serving.abort();
    Ok(figures.into())
}

/// A program that may reach everything; its decisions are not kept, so what is measured is beyond a
/// journal's commits.
struct Everything;

impl Egress for Everything {
    fn unreached(&self, _: &str, _: &WebFailure) {}

    fn destinations(&self) -> &dyn Destinations {
        self
    }

    fn record(&self, _: EgressDecision) -> Recording<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Destinations for Everything {
    fn admit(&self, _: &WebUrl) -> Result<String, WebFailure> {
        Ok("everything".to_owned())
    }

    fn admit_address(&self, _: &Host, _: IpAddr) -> Result<(), WebFailure> {
        Ok(())
    }
}

/// Starts a server that answers each connection that has sent something with this many bytes.
fn server(bytes: usize) -> Result<u16, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        let block = vec![7; BUFFER.min(bytes)];
        for mut stream in listener.incoming().flatten() {
            let block = block.clone();
            std::thread::spawn(move || {
                let _ = stream.set_nodelay(true);
                let is_asked = stream.read(&mut [0; 4096]).is_ok();
                let mut left = if is_asked { bytes } else { 0 };
                while left > 0 && stream.write_all(&block).is_ok() {
                    left = left.saturating_sub(block.len());
                }
            });
        }
    });
    Ok(port)
}

/// Connects directly, or through the proxy, and sends what the server waits for.
fn connect(port: u16, proxy: Option<u16>) -> Result<TcpStream, Failed> {
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.unwrap_or(port)))?;
    stream.set_nodelay(true)?;
    if proxy.is_some() {
        write!(stream, "CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n")?;
        let (mut head, mut one) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut one)?;
            head.push(one[0]);
        }
        if !head.starts_with(b"HTTP/1.1 200 ") {
            return Err(String::from_utf8_lossy(&head).into());
        }
    }
    stream.write_all(&client_hello(None))?;
    Ok(stream)
}

fn through(proxy: u16) -> Result<Figure, Failed> {
    let port = server(PASSED)?;
    let seconds_per_gib = |proxy: Option<u16>| -> Result<f64, Failed> {
        let (begun, mut stream) = (Instant::now(), connect(port, proxy)?);
        let (mut buffer, mut passed) = (vec![0; BUFFER], 0);
        while passed < PASSED {
            match stream.read(&mut buffer)? {
                0 => return Err(Failed::from("the connection ended early")),
                count => passed += count,
            }
        }
        Ok(begun.elapsed().as_secs_f64() * GIB / passed as f64)
    };
    let proxied = || seconds_per_gib(Some(proxy));
    let pairs = Pairs::measure(SAMPLES, proxied, || seconds_per_gib(None))?;
    let (direct, measured) = (pairs.bare()?, pairs.ours()?);
    Ok(Figure {
        name: "1 GiB through the proxy (500 MB/s)",
        measured,
        limit: 2.1,
        unit: "s",
        beside: format!("direct {direct:.2} s; {:.0} MB/s", GIB / measured / 1e6),
    })
}

fn first_byte(proxy: u16) -> Result<Figure, Failed> {
    let port = server(1)?;
    let answered = |proxy: Option<u16>| -> Result<f64, Failed> {
        let begun = Instant::now();
        connect(port, proxy)?.read_exact(&mut [0])?;
        Ok(ms(begun.elapsed()))
    };
    let pairs = Pairs::measure(ANSWERS, || answered(Some(proxy)), || answered(None))?;
    let (direct, proxied) = (pairs.bare()?, pairs.ours()?);
    Ok(Figure {
        name: "added to the first byte by the proxy",
        measured: proxied - direct,
        limit: 1.0,
        unit: "ms",
        beside: format!("direct {direct:.2} ms, proxied {proxied:.2} ms"),
    })
}

fn at_once(proxy: u16) -> Result<Figure, Failed> {
    let port = server(1)?;
    let all = |proxy: Option<u16>| -> Result<f64, Failed> {
        let begun = Instant::now();
        let mut open = Vec::new();
        for _ in 0..TUNNELS {
            open.push(connect(port, proxy)?);
        }
        for stream in &mut open {
            stream.read_exact(&mut [0])?;
        }
        Ok(ms(begun.elapsed()))
    };
    let (direct, measured) = (all(None)?, all(Some(proxy))?);
    Ok(Figure {
        name: "200 tunnels open at once, all answered",
        measured,
        limit: 1_000.0,
        unit: "ms",
        beside: format!("direct {direct:.0} ms"),
    })
}
