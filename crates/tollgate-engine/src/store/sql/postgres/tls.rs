//! Verifies the server certificate (TLS).

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use rustls_platform_verifier::ConfigVerifierExt as _;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::location::Address;
use crate::store::sql::error::{Error, Result};

/// The TLS configuration: it trusts the given root certificates, or those of the system.
pub(super) fn connector(address: &Address) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let failed = |problem: String| Error::Unreachable(format!("TLS cannot be set up: {problem}"));
    let config = match address.root_certificate() {
        Some(path) => {
            let unreadable = |problem: String| failed(format!("`{}`: {problem}", path.display()));
            let mut roots = RootCertStore::empty();
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(unreadable("there is no certificate in it".to_owned()));
            }
            ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|error| failed(error.to_string()))?
                .with_root_certificates(roots)
                .with_no_client_auth()
        }
        // Without encryption no certificates are needed.
        None if address.config().get_ssl_mode() == SslMode::Disable => ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.to_string()))?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth(),
        None => ClientConfig::with_platform_verifier().map_err(|error| failed(error.to_string()))?,
    };
    Ok(MakeRustlsConnect::new(config))
}
