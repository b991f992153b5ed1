//! nginx, with no more than the task asks for.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use sluice_tests::log::Log;
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;

use super::Protocol;
use super::contender::Proxy;
use super::site::{HOST, Site};

pub(crate) struct Running {
    nginx: Nginx,
    plan: Plan,
}

/// Parts of its configuration that stay when pods change.
struct Plan {
    http: Port,
    https: Port,
    protocol: Protocol,
    certificate: String,
}

impl Running {
    pub(crate) async fn start(site: &Site, protocol: Protocol) -> Result<Running> {
        let plan = Plan {
            http: Port::reserve()?,
            https: Port::reserve()?,
            protocol,
            certificate: site.certificate("pem").display().to_string(),
        };
        let conf = Conf::whole(|_| Ok(plan.conf(site.pods(protocol))))?;
        Ok(Running {
            nginx: Nginx::start(conf).await?,
            plan,
        })
    }
}

impl Proxy for Running {
    fn http(&self) -> SocketAddr {
        self.plan.http.addr()
    }

    fn https(&self) -> SocketAddr {
        self.plan.https.addr()
    }

    fn processes(&self) -> Result<Vec<u32>> {
        Ok(self.nginx.workers())
    }

    fn log(&self) -> &Log {
        self.nginx.log()
    }

    /// A reload.
    async fn change(&mut self, pods: &[SocketAddr]) -> Result<()> {
        let file = self.nginx.conf().dir().join("nginx.conf");
        fs::write(file, self.plan.conf(pods)).context("write nginx.conf")?;
        self.nginx.hang_up();
        Ok(())
    }
}

impl Plan {
    fn conf(&self, pods: &[SocketAddr]) -> String {
        let servers: String = pods.iter().map(|pod| format!("server {pod};\n")).collect();
        let (http, https) = (self.http.addr(), self.https.addr());
        let pass = match self.protocol {
            Protocol::Grpc => "grpc_pass grpc://pods;",
            Protocol::WebSocket => {
                "proxy_pass http://pods;\nproxy_http_version 1.1;\nproxy_set_header Upgrade $http_upgrade;\n\
                 proxy_set_header Connection upgrade;"
            }
            _ => {
                "proxy_pass http://pods;\nproxy_http_version 1.1;\nproxy_set_header Connection \"\";"
            }
        };
        let alpn = match self.protocol {
            Protocol::Http2 | Protocol::Grpc => " http2",
            _ => "",
        };
        format!(
            "user root;\ndaemon off;\nworker_processes 1;\nerror_log stderr warn;\npid nginx.pid;\nlock_file nginx.lock;\n\
             events {{ worker_connections 8192; }}\n\
             http {{\naccess_log off;\nclient_body_temp_path body;\nproxy_temp_path proxy;\nfastcgi_temp_path fastcgi;\n\
             uwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\nkeepalive_requests 1000000000;\nkeepalive_timeout 1h;\n\
             ssl_certificate {certificate};\nssl_certificate_key {certificate};\nssl_protocols TLSv1.2 TLSv1.3;\n\
             upstream pods {{\n{servers}keepalive 320;\nkeepalive_requests 1000000000;\n}}\n\
             server {{\nlisten {http};\nlisten {https} ssl{alpn};\nserver_name {HOST};\nlocation / {{\n{pass}\n}}\n}}\n}}\n",
            certificate = self.certificate,
        )
    }
}
