//! [`Download`]: downloads a file, with limits of size and time.
use crate::{
    Address, Proxy,
    cause::{io_kind, says},
};
use reqwest::{Client, Response, StatusCode, redirect};
use std::{io, time::Duration};
use tokio::time::{Instant, timeout_at};

/// Minimum bytes that must arrive within [`Download::timeout`]; otherwise the connection counts as dead.
const MIN_BYTES: u64 = 16 << 10;
/// Maximum number of redirects: a release is often stored one or two addresses further.
const MAX_REDIRECTS: usize = 5;

/// A file to download, without decompression.
#[derive(Clone, Debug)]
pub struct Download {
    /// The address to download from.
    pub address: Address,
    /// Maximum size in bytes.
    pub max_bytes: u64,
    /// Timeout for each 16 KiB.
    pub timeout: Duration,
    /// The proxy for encrypted addresses; the one of the process's own environment is not used.
    pub proxy: Option<Proxy>,
}

/// Why a download failed.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The connection failed.
    #[error("cannot reach `{host}`{}: {why}", .proxy.as_ref().map(|proxy| format!(" through the proxy `{proxy}`")).unwrap_or_default())]
    Unreachable {
        /// The host.
        host: String,
        /// The proxy, if one was used.
        proxy: Option<Proxy>,
        /// The reason.
        why: &'static str,
    },
    /// The server does not have the file, or refuses it.
    #[error("`{address}` answered with HTTP status {status}")]
    Status {
        /// The address.
        address: String,
        /// Status of the response.
        status: u16,
    },
    /// A redirect leads to an address that cannot be used.
    #[error("`{address}` redirects to an address without HTTPS, or too often")]
    Redirected {
        /// The address.
        address: String,
    },
    /// The file is too large.
    #[error("`{address}` has more than {max_bytes} bytes")]
    TooLarge {
        /// The address.
        address: String,
        /// See [`Download::max_bytes`].
        max_bytes: u64,
    },
    /// The connection ended too early.
    #[error("the download of `{address}` was cut off after {bytes} bytes")]
    CutOff {
        /// The address.
        address: String,
        /// What came.
        bytes: u64,
    },
    /// The server sends nothing, or too little.
    #[error("`{address}` is too slow: {bytes} bytes came, and less than 16 KiB in the last {seconds} s")]
    TooSlow {
        /// The address.
        address: String,
        /// What came.
        bytes: u64,
        /// [`Download::timeout`] in seconds.
        seconds: u64,
    },
    /// The receiver failed to store the bytes.
    #[error(transparent)]
    NotKept(io::Error),
}

impl Download {
    /// Passes every piece of the file to `keep`, and returns the number of bytes.
    ///
    /// # Errors
    ///
    /// See [`DownloadError`]; `keep` may then have got the beginning of the file.
    pub async fn fetch(&self, mut keep: impl FnMut(&[u8]) -> io::Result<()>) -> Result<u64, DownloadError> {
        let mut until = Instant::now() + self.timeout;
        let request = self.client()?.get(self.address.0.clone()).send();
        let answered = timeout_at(until, request).await.map_err(|_| self.too_slow(0))?;
        let mut response = self.accepted(answered.map_err(|error| self.failed(&error))?)?;
        let (mut bytes, mut recent) = (0, 0);
        loop {
            let chunk = timeout_at(until, response.chunk()).await.map_err(|_| self.too_slow(bytes))?;
            let Some(chunk) = chunk.map_err(|_| self.cut_off(bytes))? else { return Ok(bytes) };
            bytes += chunk.len() as u64;
            if bytes > self.max_bytes {
                return Err(self.too_large());
            }
            keep(&chunk).map_err(DownloadError::NotKept)?;
            recent += chunk.len() as u64;
            if recent >= MIN_BYTES {
                (recent, until) = (0, Instant::now() + self.timeout);
            }
        }
    }

    /// The error for a file that ended after `bytes`, too early.
    #[must_use]
    pub fn cut_off(&self, bytes: u64) -> DownloadError {
        DownloadError::CutOff { address: self.address.to_string(), bytes }
    }

    fn client(&self) -> Result<Client, DownloadError> {
        let from = self.address.clone();
        let follow = redirect::Policy::custom(move |attempt| {
            let is_allowed = from.join(attempt.url().as_str()).is_ok();
            match is_allowed && attempt.previous().len() <= MAX_REDIRECTS {
                true => attempt.follow(),
                false => attempt.error("not followed"),
            }
        });
        let mut builder = self.address.reach().builder().redirect(follow).no_gzip().no_proxy();
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(proxy.for_client().map_err(|_| self.unreachable("it has no address"))?);
        }
        builder.build().map_err(|_| self.unreachable("the system's root certificates cannot be read"))
    }

    fn accepted(&self, response: Response) -> Result<Response, DownloadError> {
        if response.status() != StatusCode::OK {
            let status = response.status().as_u16();
            return Err(DownloadError::Status { address: self.address.to_string(), status });
        }
        match response.content_length() {
            Some(length) if length > self.max_bytes => Err(self.too_large()),
            _ => Ok(response),
        }
    }

    fn failed(&self, error: &reqwest::Error) -> DownloadError {
        if error.is_redirect() {
            return DownloadError::Redirected { address: self.address.to_string() };
        }
        self.unreachable(match io_kind(error) {
            _ if says(error, "proxy authorization required") => "the proxy wants a user name and a password",
            _ if says(error, "tunnel error: unsuccessful") => "the proxy refuses the connection",
            Some(io::ErrorKind::ConnectionRefused) => "nothing listens there",
            _ if says(error, "dns error") => "unknown host name",
            _ if says(error, "certificate") => "its certificate is not trusted",
            _ if error.is_timeout() => "no connection within 10 s",
            _ if error.is_connect() => "no connection",
            _ => "the connection was cut off before an answer came",
        })
    }

    fn unreachable(&self, why: &'static str) -> DownloadError {
        let proxy = self.proxy.clone().filter(|proxy| proxy.serves(&self.address));
        DownloadError::Unreachable { host: self.address.host().to_owned(), proxy, why }
    }

    fn too_large(&self) -> DownloadError {
        DownloadError::TooLarge { address: self.address.to_string(), max_bytes: self.max_bytes }
    }

    fn too_slow(&self, bytes: u64) -> DownloadError {
        let seconds = self.timeout.as_secs();
        DownloadError::TooSlow { address: self.address.to_string(), bytes, seconds }
    }
}
