//! Files of other kinds, recognised by their first bytes.

use crate::header::Header;

/// The first bytes of files from unsupported compressors.
const COMPRESSED: [(&[u8], &str); 3] = [
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
];

/// Why a first line, as read, cannot be that of a trace, if it is not even text or has no end. For
/// other lines, and for what begins like a header, the header parser gives a better reason.
pub(crate) fn reason(line: &[u8]) -> Option<String> {
    let header = Header::MAGIC.as_bytes();
    if line.starts_with(header) || header.starts_with(line) {
        return None;
    }
    let mut known = COMPRESSED.iter();
    if let Some((_, program)) = known.find(|(magic, _)| line.starts_with(magic)) {
        return Some(format!(
            "not a match trace, but compressed by {program}; decompress it, or compress it with gzip"
        ));
    }
    let is_text = std::str::from_utf8(line).is_ok_and(|text| !text.contains('\0'));
    let is_whole = line.ends_with(b"\n");
    (!is_text || !is_whole).then(|| format!("not a match trace; {}", Header::EXPECTED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::MAX_LINE_BYTES;

    #[test]
    fn what_is_no_text_is_no_trace() {
        let long = [b'x'; MAX_LINE_BYTES + 1];
        for line in [
            &b"\x7fELF\x02\x01\x01\0\n"[..],
            b"\xe9\n",
            b"a\0b\n",
            b"words",
            &long,
        ] {
            let reason = reason(line).expect("it is no trace");
            assert!(reason.starts_with("not a match trace; the first line must be "));
        }
    }

    #[test]
    fn compressors_that_are_not_read_are_named() {
        for (line, program) in [
            (&b"\xfd7zXZ\0\0\x04"[..], "xz"),
            (b"\x28\xb5\x2f\xfd\x04", "zstd"),
            (b"BZh91AY&SY\n", "bzip2"),
        ] {
            let reason = reason(line).expect("it is no trace");
            let named = format!("not a match trace, but compressed by {program}; ");
            assert!(reason.starts_with(&named), "{reason}");
        }
    }

    #[test]
    fn what_may_be_a_header_is_left_to_the_header() {
        let mut long = b"# mqtrace 1 key=".to_vec();
        long.resize(MAX_LINE_BYTES + 1, b'x');
        for line in [
            &b"# mqtrace 1\n"[..],
            b"# mqtrace 1 k=\xff\n",
            b"p 0 1 2\n",
            b"# mq",
            b"",
            &long,
        ] {
            assert_eq!(reason(line), None);
        }
    }
}
