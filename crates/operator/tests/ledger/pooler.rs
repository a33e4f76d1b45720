//! A pooler in transaction mode before PostgreSQL: each transaction of a connection may be served by another session of the
//! server, as by PgBouncer with `pool_mode = transaction`.

use crate::{
    bench::{Bench, account, accounts, check, now, place, want},
    crash::repeating_ends_where_it_would_have_ended,
};
use allotment_operator::ledger::{About, Ledger};
use std::{collections::VecDeque, io, net::Ipv4Addr, path::PathBuf, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    sync::Mutex,
};

/// The version of the protocol, as a startup message has it.
const VERSION: u32 = 196_608;

/// Sessions of the server, to be taken from the front and given back at the end: two transactions never follow each other in
/// one.
struct Pooler {
    socket: PathBuf,
    database: String,
    idle: Mutex<VecDeque<UnixStream>>,
}

impl Pooler {
    /// Stands before a database, and returns itself and the URL.
    async fn before(url: &str) -> (Arc<Self>, String) {
        let (socket, database) = url.strip_prefix("postgres://allotment@").unwrap().split_once('/').unwrap();
        let (folder, port) = socket.split_once(':').unwrap();
        let socket = PathBuf::from(folder.replace("%2F", "/")).join(format!(".s.PGSQL.{port}"));
        let pooler = Self { socket, database: database.to_owned(), idle: Mutex::default() };
        for _ in 0..3 {
            let session = pooler.session().await.unwrap();
            pooler.idle.lock().await.push_back(session);
        }
        let pooler = Arc::new(pooler);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = pooler.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let pooler = serving.clone();
                // A client or a server that goes away ends it.
                tokio::spawn(async move { pooler.serve(client).await });
            }
        });
        (pooler, format!("postgres://allotment@127.0.0.1:{port}/{database}"))
    }

    /// A new session of the server.
    async fn session(&self) -> io::Result<UnixStream> {
        let mut server = UnixStream::connect(&self.socket).await?;
        let mut body = VERSION.to_be_bytes().to_vec();
        for word in ["user", "allotment", "database", &self.database, ""] {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        server.write_u32(u32::try_from(body.len()).unwrap() + 4).await?;
        server.write_all(&body).await?;
        while message(&mut server).await?.0 != b'Z' {}
        Ok(server)
    }

    /// The session that has been idle for longest, unless it is the last: it may have served this connection before.
    async fn next(&self) -> Option<UnixStream> {
        let mut idle = self.idle.lock().await;
        if idle.len() > 1 { idle.pop_front() } else { None }
    }

    async fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let length = client.read_u32().await?;
        client.read_exact(&mut vec![0; usize::try_from(length).unwrap() - 4]).await?;
        // Come in; nothing is going on.
        client.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 0, b'Z', 0, 0, 0, 5, b'I']).await?;
        let mut linked: Option<UnixStream> = None;
        loop {
            let (kind, bytes) = message(&mut client).await?;
            if kind == b'X' {
                return Ok(());
            }
            let server = match &mut linked {
                Some(server) => server,
                None => {
                    let idle = self.next().await;
                    linked.insert(match idle {
                        Some(server) => server,
                        None => self.session().await?,
                    })
                }
            };
            server.write_all(&bytes).await?;
            if ![b'Q', b'S'].contains(&kind) {
                continue;
            }
            let mut answer = Vec::new();
            while {
                let (kind, bytes) = message(server).await?;
                answer.extend(bytes);
                kind != b'Z'
            } {}
            // In one piece: small ones would wait for each other.
            client.write_all(&answer).await?;
            let state = answer.last().copied();
            if state == Some(b'I') {
                self.idle.lock().await.extend(linked.take());
            }
        }
    }
}

/// Reads a message: its letter, and all of its bytes.
async fn message(from: &mut (impl AsyncReadExt + Unpin)) -> io::Result<(u8, Vec<u8>)> {
    let kind = from.read_u8().await?;
    let length = from.read_u32().await?;
    let mut bytes = vec![0; usize::try_from(length).unwrap() + 1];
    bytes[0] = kind;
    bytes[1..5].copy_from_slice(&length.to_be_bytes());
    from.read_exact(&mut bytes[5..]).await?;
    Ok((kind, bytes))
}

pub async fn every_operation_works_through_a_pooler(bench: Bench) {
    let (_, url) = Pooler::before(&bench.url).await;
    repeating_ends_where_it_would_have_ended(Bench::at(url)).await;
}

pub async fn errors_and_cut_connections_leave_nothing_behind(bench: Bench) {
    let (pooler, url) = Pooler::before(&bench.url).await;
    let ledger = Ledger::open(&url, place()).await.unwrap();
    let epoch = ledger.lead("me", "a term", now()).await.unwrap();
    let free = accounts("a", 3);
    for round in 0..5 {
        // An error within a transaction, then the same statements again, in another session of the server.
        let stale = allotment_core::pool::Epoch(epoch.0 + 1);
        want("r", "t", &free).ask(&ledger, stale).await.unwrap_err();
        let uid = format!("r-{round}");
        want(&uid, "t", &free).ask(&ledger, epoch).await.unwrap();
        // A call that is dropped on the way.
        let dropped = want("dropped", "u", &[account("b-1")]);
        let _ = tokio::time::timeout(std::time::Duration::from_millis(1), dropped.ask(&ledger, epoch)).await;
        ledger.history(About::Everything, 10).await.unwrap();
    }
    check(&ledger).await;
    // Nothing is prepared, nothing is set, nothing is locked in any session of the server.
    let mut sessions = pooler.idle.lock().await;
    assert!(sessions.len() > 1);
    for server in sessions.iter_mut() {
        let sql = "SELECT (SELECT count(*) FROM pg_prepared_statements) || ' ' || current_setting('lock_timeout') || ' ' || \
             current_setting('statement_timeout') || ' ' || current_setting('transaction_read_only') || ' ' || \
             (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory')\0";
        server.write_u8(b'Q').await.unwrap();
        server.write_u32(u32::try_from(sql.len()).unwrap() + 4).await.unwrap();
        server.write_all(sql.as_bytes()).await.unwrap();
        let mut said = String::new();
        loop {
            let (kind, bytes) = message(server).await.unwrap();
            if kind == b'D' {
                said = String::from_utf8_lossy(&bytes[11..]).into_owned();
            }
            if kind == b'Z' {
                break;
            }
        }
        assert_eq!(said, "0 0 0 off 0");
    }
}
