//! Hash keys of requests.

use sluice_filter_config::{self as wire, Plain, Variable};

use crate::Request;

/// Literals and variables, in the form that a request is asked for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    parts: Vec<CompiledPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum CompiledPart {
    Literal(Vec<u8>),
    Variable(Variable),
}

impl From<&wire::HashKey> for Key {
    fn from(key: &wire::HashKey) -> Self {
        let part = |part: &wire::KeyPart| match part {
            wire::KeyPart::Literal(text) => CompiledPart::Literal(text.clone().into_bytes()),
            wire::KeyPart::Variable(variable) => CompiledPart::Variable(variable.clone()),
        };
        Key {
            parts: key.0.iter().map(part).collect(),
        }
    }
}

impl Key {
    /// Appends the value for a request.
    pub fn evaluate(&self, request: &impl Request, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                CompiledPart::Literal(text) => out.extend_from_slice(text),
                CompiledPart::Variable(variable) => request.variable(variable, out),
            }
        }
    }

    /// True if the key is the same for all requests.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.parts
            .iter()
            .all(|part| matches!(part, CompiledPart::Literal(_)))
    }

    /// How many headers that reads, at most.
    #[must_use]
    pub fn headers(&self) -> usize {
        self.parts.iter().filter(|part| part.is_header()).count()
    }
}

impl CompiledPart {
    fn is_header(&self) -> bool {
        use Plain::*;
        match self {
            CompiledPart::Literal(_) => false,
            CompiledPart::Variable(Variable::Plain(plain)) => !matches!(
                plain,
                BinaryRemoteAddr
                    | Https
                    | RemoteAddr
                    | RemotePort
                    | Scheme
                    | ServerAddr
                    | ServerName
                    | ServerPort
                    | ServerProtocol
                    | SslServerName
            ),
            CompiledPart::Variable(_) => true,
        }
    }
}
