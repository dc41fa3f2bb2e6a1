//! Server-sent events, read with bounds.
//!
//! ```text
//! : a comment, which only says that the other side is alive
//! event: message_stop
//! data: {"type":"message_stop"}
//!
//! ```
//!
//! Lines end in LF, CR or CRLF, wherever the network splits them. Lines and events beyond the limits are errors, since no
//! answer of a model is as long.

/// One line may be so long.
pub(super) const MAX_LINE: usize = 1 << 20;

/// The data of one event may be so long.
pub(super) const MAX_EVENT: usize = 4 << 20;

/// Something the other side sent as one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// What kind of event it is, where that is said.
    pub(super) name: Option<String>,
    /// Its lines of data.
    pub(super) data: String,
}

/// Why a stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    #[error("a line is longer than 1 MiB")]
    Line,
    #[error("an event is longer than 4 MiB")]
    Event,
    #[error("it is not UTF-8 text")]
    Text,
}

/// Reads events from the pieces in which they come.
#[derive(Debug, Default)]
pub(super) struct Reader {
    line: Vec<u8>,
    name: Option<String>,
    data: Option<String>,
    /// The last byte was a carriage return: a line feed after it ends no further line.
    after_cr: bool,
    /// Something was read, so a byte order mark is none any more.
    begun: bool,
}

impl Reader {
    /// Takes the next bytes and returns the events that they complete.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, Broken> {
        let mut events = Vec::new();
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.extend(bytes)?;
                break;
            };
            self.extend(&bytes[..end])?;
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_of_line()?);
        }
        Ok(events)
    }

    /// The event that was complete but for its empty line when the stream ended.
    pub(super) fn finish(&mut self) -> Option<Event> {
        self.event()
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        if self.line.len() + bytes.len() > MAX_LINE {
            return Err(Broken::Line);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_of_line(&mut self) -> Result<Option<Event>, Broken> {
        let line = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&line).map_err(|_| Broken::Text)?;
        if !std::mem::replace(&mut self.begun, true) {
            line = line.trim_start_matches('\u{feff}');
        }
        if line.is_empty() {
            return Ok(self.event());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = Some(value.to_owned()),
            "data" => self.add(value)?,
            // Comments, ids, retry times and unknown fields are ignored.
            _ => {}
        }
        Ok(None)
    }

    fn add(&mut self, value: &str) -> Result<(), Broken> {
        let Some(data) = &mut self.data else {
            self.data = Some(value.to_owned());
            return Ok(());
        };
        if data.len() + value.len() >= MAX_EVENT {
            return Err(Broken::Event);
        }
        data.push('\n');
        data.push_str(value);
        Ok(())
    }

    fn event(&mut self) -> Option<Event> {
        let name = self.name.take();
        self.data.take().map(|data| Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a stream says, one event to a line, read in pieces of these sizes.
    fn read(stream: &[u8], sizes: &[usize]) -> Result<String, Broken> {
        let (mut reader, mut shown, mut rest) = (Reader::default(), String::new(), stream);
        let mut sizes = sizes.iter().copied().chain(std::iter::repeat(usize::MAX));
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(sizes.next().unwrap_or(1).clamp(1, rest.len()));
            rest = after;
            for event in reader.feed(piece)? {
                shown.push_str(&format!("{}={:?}\n", event.name.unwrap_or_default(), event.data));
            }
        }
        if let Some(event) = reader.finish() {
            shown.push_str(&format!("{}={:?} (at the end)\n", event.name.unwrap_or_default(), event.data));
        }
        Ok(shown)
    }

    #[track_caller]
    fn check(stream: &str, expected: &str) {
        assert_eq!(read(stream.as_bytes(), &[]).unwrap(), expected, "in one piece");
        assert_eq!(read(stream.as_bytes(), &vec![1; stream.len()]).unwrap(), expected, "byte by byte");
    }

    #[test]
    fn events_have_a_name_and_lines_of_data() {
        check("data: 1\n\ndata: 2\n\n", "=\"1\"\n=\"2\"\n");
        check("event: ping\ndata: {}\n\n", "ping=\"{}\"\n");
        check("data: a\ndata:b\ndata\ndata:  c\n\n", "=\"a\\nb\\n\\n c\"\n");
    }

    #[test]
    fn lines_end_as_the_other_side_likes() {
        check("data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n", "=\"1\"\n=\"2\"\n=\"3\"\n");
    }

    #[test]
    fn comments_and_unknown_fields_are_no_data() {
        check(": working\n\nid: 7\nretry: 10\nevent: x\n\ndata: 1\n\n", "=\"1\"\n");
        check("\u{feff}data: 1\n\n", "=\"1\"\n");
    }

    #[test]
    fn a_stream_that_ends_without_an_empty_line_has_said_its_whole_lines() {
        check("data: [DONE]\n", "=\"[DONE]\" (at the end)\n");
        check("data: 1\n\ndata: {\"hal", "=\"1\"\n");
    }

    #[test]
    fn lines_and_events_beyond_the_limits_are_refused() {
        assert_eq!(read(&vec![b'x'; MAX_LINE + 1], &[4096; 1024]), Err(Broken::Line));
        let line = format!("data: {}\n", "y".repeat(MAX_LINE - 10));
        assert_eq!(read(line.repeat(5).as_bytes(), &[]), Err(Broken::Event));
        assert_eq!(read(b"data: \xff\xfe\n\n", &[]), Err(Broken::Text));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(
            stream in "(data: ?[a-zé漢🙂]{0,5}|event: [a-z]{1,3}|: [a-z]*|x)?(\n|\r|\r\n|\n\n|\r\n\r\n){0,2}".prop_map(|part| part.repeat(3)),
            more in proptest::collection::vec("(data: [a-zé漢🙂]{0,5}|: x|event: e)(\n|\r\n|\r|\n\n|\r\n\r\n)", 0..8),
            sizes in proptest::collection::vec(1usize..6, 0..40),
        ) {
            let stream = stream + &more.concat();
            prop_assert_eq!(read(stream.as_bytes(), &sizes), read(stream.as_bytes(), &[]));
        }
    }
}
