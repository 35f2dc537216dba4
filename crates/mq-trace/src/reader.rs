//! Reading a trace as a stream: one line at a time, each checked before it is handed out.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::iter::FusedIterator;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::TraceError;
use crate::foreign;
use crate::gzip::{self, Members};
use crate::header::Header;
use crate::line::{Line, MAX_LINE_BYTES};
use crate::parse_error::ParseError;
use crate::validate::Validator;

/// Bytes read after an invalid line to find out whether the file is damaged.
const MOST_CHECKED: u64 = 256 << 20;
/// Bytes requested from the file, and from the decompressor, at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// A line of a trace and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Numbered {
    /// The line's number in the file, from 1; the header is line 1, so this is at least 2.
    pub number: u64,
    /// The line.
    pub line: Line,
}

/// A trace being read: an iterator over its lines that ends at the end of the trace or after the
/// first error.
///
/// Every line is checked by a [`Validator`] before it is handed out. A gzip trace is known to be
/// complete only when the iterator has ended without an error, since the checksum is at the end. A
/// last line without a line feed is refused as cut off.
///
/// ```
/// use mq_trace::TraceReader;
/// let text = "# mqtrace 1 rank=0\np 0 * 5\na 0 3 5 =0\n";
/// let mut reader = TraceReader::new("example", text.as_bytes())?;
/// assert_eq!(reader.header().get("rank"), Some("0"));
/// assert_eq!(reader.next().unwrap()?.line.to_string(), "p 0 * 5");
/// assert_eq!(reader.next().unwrap()?.number, 3);
/// assert!(reader.next().is_none());
///
/// let mut reader = TraceReader::new("example", "# mqtrace 1\nq 0 1 2\n".as_bytes())?;
/// let error = reader.next().unwrap().unwrap_err();
/// assert_eq!(error.to_string(), "example:2: unknown operation `q`; expected c, p, a, b or x");
/// # Ok::<(), mq_trace::TraceError>(())
/// ```
///
/// # Cost
/// One pass, no allocation per line. Memory is what the [`Validator`] keeps, 12 bytes per operation,
/// and some 200 KB of buffers, whatever the input: lines longer than 4,096 bytes are refused unread.
pub struct TraceReader<R> {
    name: String,
    input: R,
    header: Header,
    validator: Validator,
    /// The current line with its line feed; at most `MAX_LINE_BYTES + 1` long.
    buffer: Vec<u8>,
    /// The current line's number.
    number: u64,
    /// Bytes taken from `input`.
    consumed: u64,
    /// The end or an error was reached.
    done: bool,
    file: FileFacts,
}

/// What is known about the file under the input; nothing for a stream passed by the caller.
#[derive(Debug, Default)]
struct FileFacts {
    gzip: bool,
    len: Option<u64>,
    fetched: Option<ByteCount>,
}

impl TraceReader<Box<dyn BufRead + Send>> {
    /// Opens a trace file, gzip-compressed or plain, and reads its header.
    ///
    /// The first two bytes, not the name, decide which. Several consecutive gzip members are read as
    /// one trace; other bytes after them are refused once all lines are read.
    ///
    /// # Errors
    /// [`TraceError::Open`] if the file cannot be opened or its first bytes cannot be read, otherwise as
    /// [`TraceReader::new`]; an empty file is malformed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match open_input(path) {
            Ok((input, file)) => Self::start(name, input, file),
            Err(source) => Err(TraceError::Open { name, source }),
        }
    }

    /// Reads a trace from a stream, gzip-compressed or plain, as [`open`](Self::open) does from a
    /// file: standard input, for instance. `name` stands for the stream in errors.
    ///
    /// # Errors
    /// As `open`.
    pub fn from_stream(
        name: impl Into<String>,
        stream: impl Read + Send + 'static,
    ) -> Result<Self, TraceError> {
        let name = name.into();
        match decompressed(stream) {
            Ok((input, file)) => Self::start(name, input, file),
            Err(source) => Err(TraceError::Open { name, source }),
        }
    }
}

impl<R: BufRead> TraceReader<R> {
    /// Reads a plain-text trace from a stream, beginning with its header; `name` stands for the
    /// stream in errors.
    ///
    /// # Errors
    /// [`TraceError::Malformed`] if the first line is not a header of version 1, and
    /// [`TraceError::Read`] if the stream fails.
    pub fn new(name: impl Into<String>, input: R) -> Result<Self, TraceError> {
        Self::start(name.into(), input, FileFacts::default())
    }

    fn start(name: String, input: R, file: FileFacts) -> Result<Self, TraceError> {
        let mut reader = Self {
            name,
            input,
            header: Header::new(),
            validator: Validator::new(),
            buffer: Vec::with_capacity(MAX_LINE_BYTES + 1),
            number: 0,
            consumed: 0,
            done: false,
            file,
        };
        if !reader.fetch()? {
            let empty = format!("{}; the trace is empty", Header::EXPECTED);
            return Err(reader.malformed(ParseError::new(empty)));
        }
        let header = match foreign::reason(&reader.buffer) {
            Some(reason) => Err(ParseError::new(reason)),
            None => reader.text().and_then(Header::parse),
        };
        match header {
            Ok(header) => reader.header = header,
            Err(reason) => {
                return Err(reader.damaged().unwrap_or_else(|| reader.malformed(reason)));
            }
        }
        Ok(reader)
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The name shown in errors: the path as it was given, or the stream's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes read so far, for a progress bar. For a trace opened by path: the bytes fetched from the
    /// file, compressed if it is. For a stream: the bytes of the lines read.
    ///
    /// A file is fetched 64 KiB at a time, so a small one is read in one go. At the end of an opened
    /// trace this equals [`file_len`](Self::file_len), unless the file has changed meanwhile.
    pub fn bytes_read(&self) -> u64 {
        self.file
            .fetched
            .as_ref()
            .map_or(self.consumed, ByteCount::get)
    }

    /// The file's length in bytes when it was opened; `None` for a stream, a pipe or a device.
    pub fn file_len(&self) -> Option<u64> {
        self.file.len
    }

    /// The next line, parsed and checked; `None` at the end of the trace.
    fn advance(&mut self) -> Result<Option<Numbered>, TraceError> {
        if !self.fetch()? {
            return Ok(None);
        }
        let line = self.text().and_then(Line::parse);
        if let Ok(line) = &line {
            self.validator
                .reserve(line)
                .map_err(|_| TraceError::Memory {
                    name: self.name.clone(),
                    line: self.number,
                })?;
        }
        let checked = line.and_then(|line| self.validator.check(&line).map(|()| line));
        match checked {
            Ok(line) => Ok(Some(Numbered {
                number: self.number,
                line,
            })),
            Err(reason) => Err(self.damaged().unwrap_or_else(|| self.malformed(reason))),
        }
    }

    /// Whether a line is invalid because the file was damaged after compression: the rest of the file,
    /// if it is not too long, must fit the checksum.
    #[cold]
    fn damaged(&mut self) -> Option<TraceError> {
        if !self.file.gzip {
            return None;
        }
        let mut rest = (&mut self.input).take(MOST_CHECKED);
        let source = io::copy(&mut rest, &mut io::sink()).err()?;
        // Bytes after a stream that fits its checksum say nothing about the line.
        if gzip::is_followed(&source) {
            return None;
        }
        Some(TraceError::Read {
            name: self.name.clone(),
            line: self.number,
            gzip: true,
            source,
        })
    }

    /// Reads the next line into the buffer; false at the end of the trace.
    fn fetch(&mut self) -> Result<bool, TraceError> {
        self.buffer.clear();
        self.number += 1;
        // A line that fills this without a line feed is too long; the rest of it is never fetched.
        let mut limited = (&mut self.input).take(MAX_LINE_BYTES as u64 + 1);
        match limited.read_until(b'\n', &mut self.buffer) {
            Ok(bytes) => {
                self.consumed += bytes as u64;
                Ok(bytes > 0)
            }
            Err(source) => Err(TraceError::Read {
                name: self.name.clone(),
                line: self.number,
                gzip: self.file.gzip,
                source,
            }),
        }
    }

    /// The line in the buffer, without its line feed.
    fn text(&self) -> Result<&str, ParseError> {
        let Some(bytes) = self.buffer.strip_suffix(b"\n") else {
            // What is left of the line may happen to be another valid line.
            return Err(if self.buffer.len() > MAX_LINE_BYTES {
                ParseError::new(format!("the line is longer than {MAX_LINE_BYTES} bytes"))
            } else {
                ParseError::new("the trace ends within this line; copy or record it again")
            });
        };
        str::from_utf8(bytes).map_err(|error| {
            let from = error.valid_up_to() + 1;
            ParseError::new(format!("the line is not valid UTF-8 from byte {from} on"))
        })
    }

    #[cold]
    fn malformed(&self, reason: ParseError) -> TraceError {
        TraceError::Malformed {
            name: self.name.clone(),
            line: self.number,
            reason: reason.into_reason(),
        }
    }
}

impl<R: BufRead> Iterator for TraceReader<R> {
    type Item = Result<Numbered, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.advance().transpose();
        self.done = !matches!(item, Some(Ok(_)));
        item
    }
}

impl<R: BufRead> FusedIterator for TraceReader<R> {}

impl<R> fmt::Debug for TraceReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceReader")
            .field("name", &self.name)
            .field("header", &self.header)
            .field("number", &self.number)
            .field("done", &self.done)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// Opens a file and puts a decompressor on it if its first bytes ask for one.
fn open_input(path: &Path) -> io::Result<(Box<dyn BufRead + Send>, FileFacts)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let (input, facts) = decompressed(file)?;
    let len = metadata.is_file().then_some(metadata.len());
    Ok((input, FileFacts { len, ..facts }))
}

/// Puts a decompressor on a stream if its first bytes ask for one.
fn decompressed(
    stream: impl Read + Send + 'static,
) -> io::Result<(Box<dyn BufRead + Send>, FileFacts)> {
    let fetched = ByteCount::default();
    let mut file = Counted {
        file: stream,
        fetched: fetched.clone(),
    };
    // Read until there are two bytes: a pipe may deliver one at a time.
    let mut start = Vec::new();
    (&mut file)
        .take(gzip::MAGIC.len() as u64)
        .read_to_end(&mut start)?;
    let gzip = start == gzip::MAGIC;
    let whole = Cursor::new(start).chain(BufReader::with_capacity(CHUNK_BYTES, file));
    let input: Box<dyn BufRead + Send> = if gzip {
        Box::new(BufReader::with_capacity(CHUNK_BYTES, Members::new(whole)))
    } else {
        Box::new(whole)
    };
    let facts = FileFacts {
        gzip,
        len: None,
        fetched: Some(fetched),
    };
    Ok((input, facts))
}

/// A byte count that a [`Counted`] file, hidden behind a decompressor, shares with its reader.
///
/// It is locked once per 64 KiB and never by two threads at a time; the lock only keeps the reader
/// `Send`.
#[derive(Clone, Debug, Default)]
struct ByteCount(Arc<Mutex<u64>>);

impl ByteCount {
    fn add(&self, bytes: usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += bytes as u64;
    }

    fn get(&self) -> u64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file or a stream that counts the bytes read from it.
struct Counted<R> {
    file: R,
    fetched: ByteCount,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.fetched.add(bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
