//! scratch
use sluice_ir::*;use sluice_xds::*;
fn main(){
 let mut s=Settings::new(FilterCode::File("/f.wasm".into()),b"{\"a\":1}".to_vec()); s.http=vec!["127.0.0.1:80".parse().unwrap(),"[::1]:80".parse().unwrap()];s.access_log=true;
 let b=Backend{load_balance:LoadBalance::RoundRobin,attempts:std::num::NonZeroU8::new(3).unwrap(),endpoints:vec![Endpoint{address:"10.0.0.1:80".parse().unwrap()}]};
 let id=BackendId::new("a","b",80);
 let mut c=Config::default(); c.backends.insert(id.clone(),b);
 let loc=|n:&ServerName,p:PathMatch,a:Action| Location{id:LocationId::new(n,&p),path:p,action:a};
 for h in ["","*.w.test","a.test"] { let n=ServerName::parse(h).unwrap();
  let server=Server{locations:vec![loc(&n,PathMatch::Exact("/e".into()),Action::Denied),loc(&n,PathMatch::Prefix("/m/".into()),Action::MovedPermanently{path:"/x".into()}),loc(&n,PathMatch::Prefix("/p".into()),Action::Forward(id.clone()))]};
  c.servers.insert(n,server);}
 println!("{:#}", Resources::of(&c,&s).to_json());
}
