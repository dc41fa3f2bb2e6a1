//! The forward proxy of a run, which is the only way out of its sandbox.
//!
//! It listens on a socket in the scratch folder of the run, resolves names itself, and connects to allowed hosts only:
//!
//! ```text
//! api.anthropic.com          ports 80 and 443, at public addresses
//! *.githubusercontent.com    every name below it
//! gpu.lan:8000               this port, at a private address, too: the operator names it
//! 127.0.0.1:11434            a model on this machine
//! ```
//!
//! Addresses of cloud metadata services and of tollgate's own server are refused in every case. What was asked for is
//! kept for the record of the run.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::bridge::{Place, read_head, relay};

/// The timeout for the head of a request, and for a connection.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most hosts in a record.
const MAX_HOSTS: usize = 200;
/// The longest host name in a record.
const MAX_NAME: usize = 253;

/// Addresses of our own servers, which no sandbox reaches.
static OWN: Mutex<Vec<SocketAddr>> = Mutex::new(Vec::new());

/// Registers an address of this program's own server, which no sandbox may reach.
pub fn never_reach(address: SocketAddr) {
    OWN.lock().unwrap_or_else(PoisonError::into_inner).push(address);
}

/// True for the port of one of our own servers.
pub(crate) fn is_own_port(port: u16) -> bool {
    OWN.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|own| own.port() == port)
}

/// A host that may be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    /// The name in lower case, or an address; `*.` at the front stands for every name below.
    name: String,
    /// The only port; without one, 80 and 443, and public addresses only.
    port: Option<u16>,
}

impl AllowedHost {
    /// Parses `host`, `*.host` or `host:port`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, port) = split_authority(text)?;
        let rest = name.strip_prefix("*.").unwrap_or(&name);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        let is_plain = !rest.is_empty() && rest.len() <= MAX_NAME && rest.bytes().all(is_name);
        is_plain.then_some(Self { name, port })
    }

    /// The host and port of a base URL, `None` when it has none.
    #[must_use]
    pub fn of_url(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (name, port) = split_authority(authority)?;
        let usual = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
        Some(Self { name, port: Some(port.unwrap_or(usual)) })
    }

    /// The port, when it is one of this machine.
    #[must_use]
    pub fn loopback_port(&self) -> Option<u16> {
        let is_here =
            self.name == "localhost" || self.name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        self.port.filter(|_| is_here)
    }

    fn permits(&self, host: &str, port: u16) -> bool {
        let is_port = self.port.map_or(matches!(port, 80 | 443), |own| own == port);
        let is_host = match self.name.strip_prefix("*.") {
            Some(parent) => host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.') && rest.len() > 1),
            None => self.name == host || (self.loopback_port().is_some() && is_this_machine(host)),
        };
        is_port && is_host
    }
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A host in lower case without brackets and final dot, and the port.
fn split_authority(text: &str) -> Option<(String, Option<u16>)> {
    let text = text.trim();
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        (host, after.strip_prefix(':'))
    } else {
        match text.split_once(':') {
            Some((_, rest)) if rest.contains(':') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let port =
        port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0)).map_or(Some(None), |port| port.map(Some))?;
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some((host, port))
}

/// One host that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyRequest {
    /// The host and port, as the program asked for them.
    pub host: String,
    /// True when it was allowed.
    pub allowed: bool,
    /// How often.
    pub n_times: usize,
}

/// A proxy, which ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests connect to it"))]
    socket: PathBuf,
    listener: UnixListener,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    allowed: Vec<AllowedHost>,
    /// The operator's own proxy, to which connections are passed on.
    upstream: Option<String>,
    requests: Mutex<Vec<ProxyRequest>>,
    is_over: AtomicBool,
}

impl Proxy {
    /// Listens on a new socket. `upstream` is the address of the proxy that this machine has to use, if any.
    pub fn start(socket: &Path, allowed: Vec<AllowedHost>, upstream: Option<String>) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let shared = Shared { allowed, upstream, requests: Mutex::default(), is_over: AtomicBool::new(false) };
        let proxy = Self { socket: socket.to_owned(), listener: listener.try_clone()?, shared: Arc::new(shared) };
        let shared = Arc::clone(&proxy.shared);
        thread::Builder::new().name("sandbox-proxy".to_owned()).spawn(move || serve(&listener, &shared))?;
        Ok(proxy)
    }

    /// The hosts that were asked for, in the order of their first request.
    #[must_use]
    pub fn requests(&self) -> Vec<ProxyRequest> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts, also when the file of the socket is gone with the scratch folder.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
    }
}

fn serve(listener: &UnixListener, shared: &Arc<Shared>) {
    let n_open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let Some(place) = Place::take(&n_open) else { continue };
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            let _place = place;
            if let Err(refusal) = shared.handle(&stream) {
                let (status, text) = refusal.reply();
                let reply =
                    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len());
                let _ = (&stream).write_all(reply.as_bytes());
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
    }
}

/// Why a request was not passed on.
enum Refusal {
    Invalid,
    Forbidden(String),
    Unreachable(String),
}

impl Refusal {
    fn reply(&self) -> (&'static str, String) {
        match self {
            Self::Invalid => ("400 Bad Request", "The request is no request to a proxy.\n".to_owned()),
            Self::Forbidden(host) => (
                "403 Forbidden",
                format!("The sandbox does not allow `{host}`. The operator allows hosts in `sandbox.hosts`.\n"),
            ),
            Self::Unreachable(host) => ("502 Bad Gateway", format!("`{host}` cannot be reached.\n")),
        }
    }
}

impl Shared {
    fn handle(&self, inside: &UnixStream) -> Result<(), Refusal> {
        let _ = inside.set_read_timeout(Some(PATIENCE));
        let head = read_head(&mut &*inside).map_err(|_| Refusal::Invalid)?;
        let _ = inside.set_read_timeout(None);
        let request = Request::parse(&head).ok_or(Refusal::Invalid)?;
        let shown: String = format!("{}:{}", request.host, request.port).chars().take(MAX_NAME + 6).collect();
        let outside = match self.connect(&request) {
            Ok(outside) => outside,
            Err(refusal) => {
                self.note(&shown, !matches!(refusal, Refusal::Forbidden(_)));
                return Err(refusal);
            }
        };
        self.note(&shown, true);
        let sent = match &request.rewritten {
            None => (&*inside).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n"),
            Some(head) => (&outside).write_all(head),
        };
        if sent.is_ok() {
            relay(inside, &outside);
        }
        Ok(())
    }

    fn note(&self, host: &str, allowed: bool) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let known = requests.iter_mut().find(|known| known.host == host && known.allowed == allowed);
        if let Some(known) = known {
            known.n_times += 1;
        } else if requests.len() < MAX_HOSTS {
            requests.push(ProxyRequest { host: host.to_owned(), allowed, n_times: 1 });
        }
    }

    fn connect(&self, request: &Request) -> Result<TcpStream, Refusal> {
        let shown = format!("{}:{}", request.host, request.port);
        let Some(entry) = self.allowed.iter().find(|entry| entry.permits(&request.host, request.port)) else {
            return Err(Refusal::Forbidden(shown));
        };
        // Only an entry with a port may lead to a private network, because the operator named that very service.
        let may_be_private = entry.port.is_some();
        let own = OWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let literal = request.host.parse().map(|ip| SocketAddr::new(ip, request.port));
        if literal.is_ok_and(|address| !is_reachable(&address, may_be_private, &own)) {
            return Err(Refusal::Forbidden(shown));
        }
        if let Some(upstream) = self.upstream.as_deref().filter(|_| entry.loopback_port().is_none()) {
            return through(upstream, &shown).map_err(|_| Refusal::Unreachable(shown));
        }
        let found = (request.host.as_str(), request.port).to_socket_addrs();
        let found: Vec<SocketAddr> = found.map_err(|_| Refusal::Unreachable(shown.clone()))?.collect();
        let mut reachable = found.into_iter().filter(|address| is_reachable(address, may_be_private, &own)).peekable();
        if reachable.peek().is_none() {
            return Err(Refusal::Forbidden(shown));
        }
        reachable
            .find_map(|address| TcpStream::connect_timeout(&address, PATIENCE).ok())
            .ok_or(Refusal::Unreachable(shown))
    }
}

/// True for an address that may be connected to.
fn is_reachable(address: &SocketAddr, may_be_private: bool, own: &[SocketAddr]) -> bool {
    let ip = canonical(address.ip());
    let is_own = |own: &SocketAddr| {
        let is_same = canonical(own.ip()) == ip || ip.is_unspecified();
        own.port() == address.port() && (is_same || own.ip().is_unspecified() && is_of_this_machine(ip))
    };
    !is_metadata(ip) && !own.iter().any(is_own) && (may_be_private || is_public(ip))
}

/// True for an address of one of this machine's interfaces: others cannot be bound to.
fn is_of_this_machine(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

/// An address of version 4 that is written as one of version 6, as the former.
fn canonical(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

/// True for the addresses at which clouds hand out credentials.
fn is_metadata(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip == Ipv4Addr::new(100, 100, 100, 200),
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    }
}

/// True for an address of the public internet.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let [first, second, third, _] = ip.octets();
            let is_special = first == 0
                || first >= 224
                || (first == 100 && second & 0b1100_0000 == 64)
                || (first == 192 && second == 0 && third == 0)
                || (first == 198 && second & 0xfe == 18);
            !(is_special || ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_documentation())
        }
        // Global unicast, without tunnels that lead to any address of version 4, and without documentation.
        IpAddr::V6(ip) => {
            let [first, second, ..] = ip.segments();
            first & 0xe000 == 0x2000 && first != 0x2002 && !(first == 0x2001 && (second == 0 || second == 0xdb8))
        }
    }
}

/// Connects by the operator's own proxy.
fn through(upstream: &str, target: &str) -> io::Result<TcpStream> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let proxy = AllowedHost::of_url(upstream).ok_or_else(invalid)?;
    let stream = TcpStream::connect((proxy.name.as_str(), proxy.port.ok_or_else(invalid)?))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    (&stream).write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes())?;
    let head = read_head(&mut &stream)?;
    stream.set_read_timeout(None)?;
    let is_open = head.get(..12).is_some_and(|start| start.starts_with(b"HTTP/1.") && start.ends_with(b" 200"));
    if is_open { Ok(stream) } else { Err(io::ErrorKind::ConnectionRefused.into()) }
}

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    host: String,
    port: u16,
    /// The head as the host gets it, for a request in clear text; `None` for a tunnel.
    rewritten: Option<Vec<u8>>,
}

impl Request {
    fn parse(head: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(head).ok()?;
        let (line, headers) = text.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = split_authority(target)?;
            return Some(Self { host, port: port?, rewritten: None });
        }
        let rest = target.strip_prefix("http://")?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end)?;
        let (host, port) = split_authority(authority)?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        let is_kept = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
            !name.starts_with("proxy-") && name != "connection" && name != "keep-alive"
        };
        let kept: String = headers
            .lines()
            .filter(is_kept)
            .take_while(|line| !line.is_empty())
            .map(|line| format!("{line}\r\n"))
            .collect();
        // One request per connection: the next one could be for another host.
        let head = format!("{method} {slash}{path} {version}\r\n{kept}Connection: close\r\n\r\n");
        Some(Self { host, port: port.unwrap_or(80), rewritten: Some(head.into_bytes()) })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    /// Reads what is left of a connection.
    fn rest(mut stream: &UnixStream) -> String {
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }

    #[track_caller]
    fn check(entry: &str, host: &str, port: u16, expected: bool) {
        assert_eq!(AllowedHost::parse(entry).unwrap().permits(host, port), expected, "{entry} {host}:{port}");
    }

    #[test]
    fn a_host_is_allowed_by_its_whole_name() {
        check("api.example.com", "api.example.com", 443, true);
        check("API.Example.com.", "api.example.com", 80, true);
        check("api.example.com", "api.example.com", 22, false);
        check("api.example.com", "evil-api.example.com", 443, false);
        check("api.example.com", "api.example.com.evil.net", 443, false);
        check("*.example.com", "a.b.example.com", 443, true);
        check("*.example.com", "example.com", 443, false);
        check("*.example.com", "evilexample.com", 443, false);
        check("gpu.lan:8000", "gpu.lan", 8000, true);
        check("gpu.lan:8000", "gpu.lan", 443, false);
        check("127.0.0.1:11434", "localhost", 11434, true);
        check("127.0.0.1:11434", "localhost", 11435, false);
        for wrong in ["", "a b", "a:0", "a:99999", "http://a", "*.", "a/b"] {
            assert_eq!(AllowedHost::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_address_of_a_service_is_allowed_with_its_port() {
        let host = |url: &str| AllowedHost::of_url(url).map(|host| (host.name, host.port));
        assert_eq!(host("https://Gateway.example/v1"), Some(("gateway.example".to_owned(), Some(443))));
        assert_eq!(host("http://user:pass@127.0.0.1:8080"), Some(("127.0.0.1".to_owned(), Some(8080))));
        assert_eq!(host("http://[::1]:9/x"), Some(("::1".to_owned(), Some(9))));
        assert_eq!(host("gateway.example"), None);
    }

    #[test]
    fn private_and_metadata_addresses_are_not_public() {
        let private = "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 ::1 fc00::1 \
            fe80::1 ::ffff:10.0.0.1 2002:a00:1::1 64:ff9b::a00:1 fd00:ec2::254 198.18.0.1 255.255.255.255 192.0.0.1 ::";
        for text in private.split_whitespace() {
            let ip = canonical(text.parse().unwrap());
            assert!(!is_public(ip), "{text}");
        }
        for text in ["1.1.1.1", "140.82.112.3", "2606:4700:4700::1111"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn metadata_and_our_own_server_are_refused_even_when_they_are_named() {
        let own = ["127.0.0.1:7420".parse().unwrap(), "0.0.0.0:7421".parse().unwrap()];
        for (address, expected) in [
            ("169.254.169.254:80", false),
            ("[fd00:ec2::254]:80", false),
            ("[::ffff:169.254.169.254]:80", false),
            ("127.0.0.1:7420", false),
            ("[::ffff:127.0.0.1]:7420", false),
            ("0.0.0.0:7420", false),
            ("127.0.0.1:7421", false),
            ("10.0.0.5:7421", true),
            ("127.0.0.1:8080", true),
            ("10.0.0.5:8080", true),
        ] {
            assert_eq!(is_reachable(&address.parse().unwrap(), true, &own), expected, "{address}");
        }
    }

    fn proxy(entries: &[String]) -> (tempfile::TempDir, Proxy) {
        let folder = tempfile::tempdir().unwrap();
        let entries = entries.iter().map(|entry| AllowedHost::parse(entry).unwrap()).collect();
        let proxy = Proxy::start(&folder.path().join("s"), entries, None).unwrap();
        (folder, proxy)
    }

    fn ask(proxy: &Proxy, request: &str) -> UnixStream {
        let stream = UnixStream::connect(&proxy.socket).unwrap();
        (&stream).write_all(request.as_bytes()).unwrap();
        stream
    }

    /// A server on this machine that says what it heard, once.
    fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut heard = vec![0; 4096];
                let n_bytes = (&stream).read(&mut heard).unwrap();
                (&stream).write_all(&heard[..n_bytes]).unwrap();
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
        port
    }

    #[test]
    fn an_allowed_host_is_reached_and_others_are_not() {
        let port = echo();
        let (_folder, proxy) = proxy(&[format!("127.0.0.1:{port}")]);
        let stream = ask(&proxy, &format!("CONNECT localhost:{port} HTTP/1.1\r\nHost: x\r\n\r\n"));
        let head = read_head(&mut &stream).unwrap();
        assert!(head.starts_with(b"HTTP/1.1 200"));
        (&stream).write_all(b"hello").unwrap();
        assert_eq!(rest(&stream), "hello");
        let plain = ask(&proxy, &format!("GET http://127.0.0.1:{port}/a?b HTTP/1.1\r\nProxy-X: 1\r\nA: b\r\n\r\n"));
        assert_eq!(rest(&plain), "GET /a?b HTTP/1.1\r\nA: b\r\nConnection: close\r\n\r\n");
        for wrong in ["CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", "CONNECT evil.example:443 HTTP/1.1\r\n\r\n"] {
            assert!(rest(&ask(&proxy, wrong)).starts_with("HTTP/1.1 403"), "{wrong}");
        }
        for wrong in ["GET / HTTP/1.1\r\n\r\n", "CONNECT a HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n"] {
            assert!(rest(&ask(&proxy, wrong)).starts_with("HTTP/1.1 400"), "{wrong}");
        }
        let requests = proxy.requests();
        let shown: Vec<_> =
            requests.iter().map(|it| (it.host.replace(&port.to_string(), "PORT"), it.allowed)).collect();
        let expected =
            [("localhost:PORT", true), ("127.0.0.1:PORT", true), ("127.0.0.1:1", false), ("evil.example:443", false)];
        assert_eq!(shown, expected.map(|(host, allowed)| (host.to_owned(), allowed)));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_dropped_proxy_leaves_no_thread_even_when_its_folder_is_gone() {
        let (folder, proxy) = proxy(&[]);
        let shared = Arc::downgrade(&proxy.shared);
        drop(folder);
        drop(proxy);
        while shared.upgrade().is_some() {
            thread::yield_now();
        }
    }

    #[test]
    fn a_public_name_that_leads_to_a_private_address_is_refused() {
        let (_folder, proxy) = proxy(&["localhost".to_owned()]);
        assert!(rest(&ask(&proxy, "CONNECT localhost:443 HTTP/1.1\r\n\r\n")).starts_with("HTTP/1.1 403"));
    }
}
