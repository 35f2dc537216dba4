//! Decompression of consecutive gzip members, and of nothing else.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The first bytes of every gzip member (RFC 1952, section 2.3.1).
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads all members as one stream. Other bytes after the end of a member are a distinct error.
pub(crate) struct Members<R> {
    /// Always present, except between two members.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    /// Begins with the first member.
    pub(crate) fn new(input: R) -> Self {
        let member = Some(GzDecoder::new(input));
        Self { member }
    }

    /// Moves to the next member; false at the end of the input.
    fn next_member(&mut self) -> io::Result<bool> {
        let Some(member) = &mut self.member else {
            return Ok(false);
        };
        match member.get_mut().fill_buf()?.first() {
            None => return Ok(false),
            Some(&first) if first != MAGIC[0] => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, Followed));
            }
            Some(_) => {}
        }
        let input = self.member.take().map(GzDecoder::into_inner);
        self.member = input.map(GzDecoder::new);
        Ok(true)
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let bytes = member.read(buffer)?;
            if bytes > 0 || buffer.is_empty() || !self.next_member()? {
                return Ok(bytes);
            }
        }
        Ok(0)
    }
}

/// Bytes that are not a gzip member follow the last member.
#[derive(Debug)]
struct Followed;

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes follow the end of the gzip stream")
    }
}

impl Error for Followed {}

/// Whether the error says that bytes follow a complete gzip stream.
pub(crate) fn is_followed(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<Followed>())
}
