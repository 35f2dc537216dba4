//! Splitting output into lines.

/// The longest line that is not broken, in bytes without its newline.
pub(super) const LONGEST: usize = 64 * 1024;

/// Assembles the lines of one stream of one rank.
pub(super) enum Lines {
    /// The stream shares its output with no other: bytes are passed on as they come.
    Unchanged,
    /// Only whole lines are passed on, each after a label, which may be empty.
    Whole { label: String, begun: Vec<u8> },
}

impl Lines {
    /// The lines of a stream that shares the output with others.
    pub(super) fn whole(label: String) -> Self {
        let begun = Vec::new();
        Self::Whole { label, begun }
    }

    /// Takes what was read and appends to `out` what can be passed on.
    pub(super) fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Self::Whole { label, begun } = self else {
            return out.extend_from_slice(bytes);
        };
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let mut rest = piece;
            while begun.len() + rest.strip_suffix(b"\n").unwrap_or(rest).len() > LONGEST {
                let (now, later) = rest.split_at(LONGEST - begun.len());
                begun.extend_from_slice(now);
                end(label, begun, out);
                rest = later;
            }
            match rest.strip_suffix(b"\n") {
                Some(last) => {
                    begun.extend_from_slice(last);
                    end(label, begun, out);
                }
                None => begun.extend_from_slice(rest),
            }
        }
    }

    /// Appends an unterminated last line, with a newline.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if let Self::Whole { label, begun } = self
            && !begun.is_empty()
        {
            end(label, begun, out);
        }
    }
}

/// Appends the line that was begun, with a newline.
fn end(label: &str, begun: &mut Vec<u8>, out: &mut Vec<u8>) {
    out.extend_from_slice(label.as_bytes());
    out.append(begun);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output if the bytes come in portions of this size.
    fn passed_on(mut lines: Lines, bytes: &[u8], portion: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for portion in bytes.chunks(portion) {
            lines.take(portion, &mut out);
        }
        lines.finish(&mut out);
        out
    }

    #[test]
    fn lines_are_labelled_however_they_arrive() {
        let text = b"one\n\ntwo\r\xff\nlast";
        for portion in 1..=text.len() {
            let out = passed_on(Lines::whole("[7] ".into()), text, portion);
            assert_eq!(out, b"[7] one\n[7] \n[7] two\r\xff\n[7] last\n");
        }
    }

    #[test]
    fn a_line_that_is_begun_waits_for_its_end() {
        let (mut lines, mut out) = (Lines::whole(String::new()), Vec::new());
        lines.take(b"a\nb", &mut out);
        assert_eq!(out, b"a\n");
        lines.take(b"c\n", &mut out);
        lines.finish(&mut out);
        assert_eq!(out, b"a\nbc\n");
    }

    #[test]
    fn a_line_is_broken_only_beyond_the_longest() {
        for portion in [1, 1000, LONGEST, 3 * LONGEST] {
            let longest = [vec![b'x'; LONGEST], vec![b'\n']].concat();
            let out = passed_on(Lines::whole(String::new()), &longest, portion);
            assert_eq!(out, longest);
            let longer = [vec![b'x'; 2 * LONGEST + 1], vec![b'\n']].concat();
            let out = passed_on(Lines::whole("L".into()), &longer, portion);
            let lengths: Vec<usize> = out.split(|&b| b == b'\n').map(<[u8]>::len).collect();
            assert_eq!(lengths, [LONGEST + 1, LONGEST + 1, 2, 0]);
        }
    }

    #[test]
    fn a_stream_of_its_own_is_left_unchanged() {
        assert_eq!(
            passed_on(Lines::Unchanged, b"a\n\0prompt: ", 4),
            b"a\n\0prompt: "
        );
    }
}
