//! A Kubernetes API server to try out with kubectl:
//!
//! ```sh
//! cargo run -p allotment-apiserver --example serve > /tmp/kubeconfig
//! kubectl --kubeconfig /tmp/kubeconfig create configmap hello --from-literal=a=b
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program")]

use allotment_apiserver::ApiServer;
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let local = ApiServer::new().serve_locally(0, None).await?;
    println!("{:#}", local.admin_kubeconfig);
    eprintln!("listening on {}; Ctrl-C stops it", local.listening.url());
    tokio::signal::ctrl_c().await?;
    Ok(())
}
