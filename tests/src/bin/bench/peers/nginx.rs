//! nginx, with no more than the task asks for.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use sluice_tests::log::Log;
use sluice_tests::nginx::{Conf, Nginx};

use super::Protocol;
use super::plan::Plan;
use super::proxy::{Changed, Proxy, Running};
use super::site::{HOST, Site};

struct PlainNginx {
    nginx: Nginx,
    plan: Plan,
}

pub(crate) async fn start(plan: Plan, site: &Site) -> Result<Running> {
    let conf = Conf::whole(|_| Ok(conf(&plan, site.pods(plan.protocol))))?;
    let nginx = Nginx::start(conf).await?;
    Ok(Running {
        http: plan.http(),
        https: plan.https(),
        proxy: Box::new(PlainNginx { nginx, plan }),
    })
}

impl Proxy for PlainNginx {
    fn processes(&self) -> Result<Vec<u32>> {
        Ok(self.nginx.workers())
    }

    fn log(&self) -> &Log {
        self.nginx.log()
    }

    /// A reload.
    fn change<'a>(&'a mut self, pods: &'a [SocketAddr]) -> Changed<'a> {
        Box::pin(async {
            let file = self.nginx.conf().dir().join("nginx.conf");
            fs::write(file, conf(&self.plan, pods)).context("write nginx.conf")?;
            self.nginx.hang_up();
            Ok(())
        })
    }
}

fn conf(plan: &Plan, pods: &[SocketAddr]) -> String {
    let servers: String = pods.iter().map(|pod| format!("server {pod};\n")).collect();
    let (http, https) = (plan.http(), plan.https());
    let pass = match plan.protocol {
        Protocol::Grpc => "grpc_pass grpc://pods;",
        Protocol::WebSocket => {
            "proxy_pass http://pods;\nproxy_http_version 1.1;\nproxy_set_header Upgrade $http_upgrade;\n\
             proxy_set_header Connection upgrade;"
        }
        _ => "proxy_pass http://pods;\nproxy_http_version 1.1;\nproxy_set_header Connection \"\";",
    };
    let alpn = if plan.protocol.is_http2() {
        " http2"
    } else {
        ""
    };
    format!(
        "user root;\ndaemon off;\nworker_processes 1;\nerror_log stderr warn;\npid nginx.pid;\nlock_file nginx.lock;\n\
         events {{ worker_connections 8192; }}\n\
         http {{\naccess_log off;\nclient_body_temp_path body;\nproxy_temp_path proxy;\nfastcgi_temp_path fastcgi;\n\
         uwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\nkeepalive_requests 1000000000;\nkeepalive_timeout 1h;\n\
         ssl_certificate {certificate};\nssl_certificate_key {certificate};\nssl_protocols TLSv1.2 TLSv1.3;\n\
         upstream pods {{\n{servers}keepalive 320;\nkeepalive_requests 1000000000;\n}}\n\
         server {{\nlisten {http};\nlisten {https} ssl{alpn};\nserver_name {HOST};\nlocation / {{\n{pass}\n}}\n}}\n}}\n",
        certificate = plan.certificate("pem"),
    )
}
