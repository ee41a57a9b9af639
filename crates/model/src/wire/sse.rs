//! Decodes server-sent events from bytes as they arrive, in pieces cut anywhere.
//!
//! The decoder follows the WHATWG rules for `text/event-stream` (all three line ends, comments, a
//! byte order mark), except that the last event needs no blank line, since some servers omit it.
//! Its time is linear in the size of the input, and its memory is bounded.

/// One event: its data, and its name (the `event` field) if it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

/// The error for an event that exceeds the decoder's limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLarge;

/// An incremental decoder, with the part of the current event read so far.
#[derive(Debug)]
pub(crate) struct SseDecoder {
    limit: usize,
    line: Vec<u8>,
    /// Whether the last line ended with a carriage return; a line feed right after it belongs
    /// to the same line end.
    after_return: bool,
    first_line: bool,
    event: Event,
    has_data: bool,
}

impl SseDecoder {
    /// Creates a decoder that refuses events of more than `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            first_line: true,
            event: Event::default(),
            has_data: false,
        }
    }

    /// Decodes more bytes and appends the events that they complete.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        events: &mut Vec<Event>,
    ) -> Result<(), EventTooLarge> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                bytes = rest;
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.grow(bytes);
            };
            let (line, rest) = bytes.split_at(end);
            self.grow(line)?;
            let [ending, after @ ..] = rest else {
                return Ok(());
            };
            self.after_return = *ending == b'\r';
            bytes = after;
            self.end_line(events);
        }
        Ok(())
    }

    /// Ends the stream and returns the unfinished last event, if it has data.
    pub(crate) fn finish(mut self) -> Option<Event> {
        let mut events = Vec::new();
        self.end_line(&mut events);
        self.dispatch(&mut events);
        events.pop()
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        if self.event.data.len() + self.line.len() + bytes.len() > self.limit {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        let mut text = &*String::from_utf8_lossy(&line);
        if std::mem::take(&mut self.first_line) {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        if text.is_empty() {
            return self.dispatch(events);
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => self.event.name = Some(value.to_owned()),
            // `id`, `retry`, comments and unknown fields are ignored.
            _ => {}
        }
    }

    fn dispatch(&mut self, events: &mut Vec<Event>) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            events.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<Event> {
        let mut decoder = SseDecoder::new(1000);
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece, &mut events).unwrap();
        }
        events.extend(decoder.finish());
        events
    }

    fn event(name: Option<&str>, data: &str) -> Event {
        Event {
            name: name.map(str::to_owned),
            data: data.to_owned(),
        }
    }

    #[test]
    fn every_cut_and_every_line_end_gives_the_same_events() {
        let text = "\u{feff}: hello\nevent: a\ndata: {\"t\":\"é漢🦀\"}\n\ndata:one\ndata: two\nid: \
                    7\nretry: 1\n\n: ping\n\ndata: last";
        let expected = vec![
            event(Some("a"), "{\"t\":\"é漢🦀\"}"),
            event(None, "one\ntwo"),
            event(None, "last"),
        ];
        for line_end in ["\n", "\r\n", "\r"] {
            let bytes = text.replace('\n', line_end).into_bytes();
            // The control: what is not cut, at both ends, has the same events.
            for cut in 0..=bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                assert_eq!(decode(&[head, tail]), expected, "{line_end:?} cut at {cut}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(decode(&single), expected, "{line_end:?} byte by byte");
        }
    }

    #[test]
    fn an_event_without_data_is_none() {
        assert_eq!(decode(&[b"event: ping\n\nfoo\n\n: c\n"]), vec![]);
    }

    #[test]
    fn the_limit_counts_data_and_the_open_line() {
        let mut decoder = SseDecoder::new(20);
        let mut events = Vec::new();
        for _ in 0..100 {
            decoder.push(b"data: 123456\n\n", &mut events).unwrap();
        }
        // The control: many events that are small are taken, however many bytes they have together.
        assert_eq!(events.len(), 100);
        decoder.push(b"data: 12345678", &mut events).unwrap();
        assert_eq!(decoder.push(b"9012345", &mut events), Err(EventTooLarge));
        let mut lines = SseDecoder::new(20);
        lines.push(b"data: 1234567890\ndata", &mut events).unwrap();
        assert_eq!(
            lines.push(b": 1234567890\n", &mut events),
            Err(EventTooLarge)
        );
    }
}
