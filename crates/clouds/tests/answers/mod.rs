//! A server that gives the answers of a list, whatever it is asked.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Answers each connection with the next of these, and keeps what it was sent. An empty answer is none.
pub async fn server(answers: Vec<String>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    tokio::spawn(async move {
        for answer in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            let request = read(&mut socket).await;
            seen.lock().unwrap().push(request);
            if answer.is_empty() {
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, requests)
}

/// A whole request: head and body may come in two pieces.
async fn read(socket: &mut TcpStream) -> String {
    let mut request = String::new();
    let mut piece = vec![0; 16 * 1024];
    loop {
        let length = socket.read(&mut piece).await.unwrap();
        request.push_str(&String::from_utf8_lossy(&piece[..length]));
        let Some((head, body)) = request.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let wanted = head.split_once("content-length: ").map_or(0, |(_, rest)| {
            rest.split("\r\n").next().unwrap_or_default().parse::<usize>().unwrap_or_default()
        });
        if length == 0 || body.len() >= wanted {
            return request;
        }
    }
}

pub fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

pub fn error(code: &str, message: &str) -> String {
    format!("<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>")
}
