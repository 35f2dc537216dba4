//! Writing a trace, plain or gzip-compressed.

use std::fs::File;
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::Path;

#[cfg(feature = "full")]
use flate2::Compression;
#[cfg(feature = "full")]
use flate2::write::GzEncoder;

use crate::header::Header;
use crate::line::{Line, MAX_LINE_BYTES};

/// Bytes of text gathered before the compressor or the stream sees them.
const CHUNK_BYTES: usize = 64 * 1024;

/// A trace being written.
///
/// End it with [`finish`](Self::finish): only that tells whether everything was written. A writer that
/// is dropped instead still tries to write, so that no line is lost silently while the disc has room,
/// but it cannot report a failure. After a failed write nothing more reaches the stream, not even the
/// gzip trailer: the output is a prefix of the trace, and a reader of a compressed one reports that it
/// ends early.
///
/// The writer does not check the lines: a reader will refuse what a [`Validator`](crate::Validator)
/// refuses.
///
/// ```
/// use mq_trace::{Header, Line, TraceWriter};
/// let mut writer = TraceWriter::new(Vec::new(), &Header::new().with("rank", 0))?;
/// writer.write(&Line::Arrive { comm: 0, source: 3, tag: 5, matched: None })?;
/// assert_eq!(writer.finish()?, b"# mqtrace 1 rank=0\na 0 3 5\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    sink: Sink<W>,
}

#[derive(Debug)]
enum Sink<W: Write> {
    Plain(BufWriter<Latch<W>>),
    #[cfg(feature = "full")]
    Gzip(BufWriter<GzEncoder<Latch<W>>>),
}

impl TraceWriter<File> {
    /// Creates a trace file, or truncates an existing one, and writes the header. The file is
    /// gzip-compressed if its name ends in `.gz`.
    ///
    /// # Errors
    /// The file cannot be created, or as [`TraceWriter::new`]. Without the feature `full`, a name that ends in `.gz` is
    /// [`io::ErrorKind::Unsupported`].
    pub fn create(path: impl AsRef<Path>, header: &Header) -> io::Result<Self> {
        let path = path.as_ref();
        // Before the file: a refused header must not destroy an older trace.
        let header = header_line(header)?;
        let extension = path.extension();
        let is_compressed = extension.is_some_and(|name| name.eq_ignore_ascii_case("gz"));
        if is_compressed && !cfg!(feature = "full") {
            let reason = "this build of mq-trace does not compress";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        let file = File::create(path)?;
        #[cfg(feature = "full")]
        if is_compressed {
            return Self::begin(Sink::gzip(file), &header);
        }
        Self::begin(Sink::plain(file), &header)
    }
}

impl<W: Write> TraceWriter<W> {
    /// Writes a plain-text trace to a stream, beginning with the header. Buffers; `writer` need
    /// not.
    ///
    /// # Errors
    /// The header is longer than the 4,096 bytes that a reader accepts
    /// ([`io::ErrorKind::InvalidInput`]), or the stream fails.
    pub fn new(writer: W, header: &Header) -> io::Result<Self> {
        Self::begin(Sink::plain(writer), &header_line(header)?)
    }

    /// Writes a gzip-compressed trace to a stream, beginning with the header. Buffers; `writer`
    /// need not.
    ///
    /// # Errors
    /// As [`TraceWriter::new`].
    #[cfg(feature = "full")]
    pub fn gzip(writer: W, header: &Header) -> io::Result<Self> {
        Self::begin(Sink::gzip(writer), &header_line(header)?)
    }

    fn begin(sink: Sink<W>, header: &str) -> io::Result<Self> {
        let mut writer = Self { sink };
        writeln!(writer.sink.as_write(), "{header}")?;
        Ok(writer)
    }

    /// Adds a line.
    ///
    /// # Errors
    /// The stream failed, on this line or on an earlier one that was still in the buffer; the trace
    /// cannot be continued.
    pub fn write(&mut self, line: &Line) -> io::Result<()> {
        writeln!(self.sink.as_write(), "{line}")
    }

    /// Writes buffered data to the stream, so that a reader may see it before the end.
    ///
    /// # Errors
    /// The stream failed; the trace cannot be continued.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.as_write().flush()
    }

    /// Writes buffered data and the gzip trailer, flushes, and returns the stream.
    ///
    /// # Errors
    /// The stream failed, and the trace is incomplete.
    pub fn finish(self) -> io::Result<W> {
        let mut latch = match self.sink {
            Sink::Plain(buffer) => buffer.into_inner().map_err(IntoInnerError::into_error)?,
            #[cfg(feature = "full")]
            Sink::Gzip(buffer) => buffer
                .into_inner()
                .map_err(IntoInnerError::into_error)?
                .finish()?,
        };
        latch.flush()?;
        Ok(latch.inner)
    }
}

impl<W: Write> Sink<W> {
    fn plain(writer: W) -> Self {
        Self::Plain(BufWriter::with_capacity(CHUNK_BYTES, Latch::new(writer)))
    }

    #[cfg(feature = "full")]
    fn gzip(writer: W) -> Self {
        let encoder = GzEncoder::new(Latch::new(writer), Compression::default());
        Self::Gzip(BufWriter::with_capacity(CHUNK_BYTES, encoder))
    }

    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(buffer) => buffer,
            #[cfg(feature = "full")]
            Self::Gzip(buffer) => buffer,
        }
    }
}

/// The header as text, if a reader would accept its length.
fn header_line(header: &Header) -> io::Result<String> {
    let text = header.to_string();
    if text.len() > MAX_LINE_BYTES {
        let reason = format!(
            "the header has {} bytes; the most is {MAX_LINE_BYTES}, shorten its values",
            text.len()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    Ok(text)
}

/// A stream that stays failed once it has failed.
///
/// Without it a transient failure, such as a disc full for a moment, would leave a hole in the trace,
/// and the compressor, when dropped, would seal the trace with a valid trailer.
#[derive(Debug)]
struct Latch<W> {
    inner: W,
    failed: bool,
}

impl<W: Write> Latch<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            failed: false,
        }
    }

    fn attempt<T>(&mut self, action: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.failed {
            return Err(io::Error::other(
                "an earlier write failed, and the trace is incomplete",
            ));
        }
        let result = action(&mut self.inner);
        self.failed = matches!(&result, Err(error) if error.kind() != io::ErrorKind::Interrupted);
        result
    }
}

impl<W: Write> Write for Latch<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|inner| match inner.write(bytes)? {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WriteZero.into()),
            written => Ok(written),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(Write::flush)
    }
}

#[cfg(test)]
mod tests;
