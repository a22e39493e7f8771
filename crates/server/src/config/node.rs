//! A configuration as written: a tree in which every value knows where it comes from.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::error::ConfigError;

/// A value, and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) origin: String,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A scalar; `plain` if it was written without quotes, so that it may be a number.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

impl Node {
    pub(crate) fn empty_map(origin: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            value: Value::Map(Vec::new()),
        }
    }

    /// Whether nothing was written, as after `key:`.
    pub(crate) fn is_null(&self) -> bool {
        match &self.value {
            Value::Scalar { text, plain: true } => matches!(&**text, "" | "~" | "null" | "Null"),
            _ => false,
        }
    }

    /// The text of a scalar.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The entries of a map; none of anything else.
    pub(crate) fn entries(&self) -> &[(Self, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Whether this is a map with `key` in it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries()
            .iter()
            .any(|(name, _)| name.text() == Some(key))
    }
}

/// Reads one YAML document. `place` makes an origin of a line and a column, both counted from 1.
pub(crate) fn parse(
    text: &str,
    place: impl Fn(usize, usize) -> String,
) -> Result<Node, ConfigError> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        anchors: HashMap::new(),
        nodes: 0,
        place,
    };
    reader.document()
}

/// Deeper than any configuration, and shallow enough for the stack.
const MAX_DEPTH: usize = 16;

/// More than any configuration; reached when aliases of aliases multiply.
const MAX_NODES: usize = 100_000;

struct Reader<'t, F> {
    events: Parser<'t, saphyr_parser::StrInput<'t>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    place: F,
}

impl<F: Fn(usize, usize) -> String> Reader<'_, F> {
    fn document(&mut self) -> Result<Node, ConfigError> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
                _ if document.is_some() => {
                    return Err(
                        ConfigError::new("more than one YAML document").at(&self.origin(span))
                    );
                }
                event => document = Some(self.node(event, span, 0)?),
            }
        }
        let origin = (self.place)(1, 1);
        Ok(document.unwrap_or_else(|| Node::empty_map(&origin)))
    }

    fn node(&mut self, event: Event<'_>, span: Span, depth: usize) -> Result<Node, ConfigError> {
        let origin = self.origin(span);
        let error = |message: &str| Err(ConfigError::new(message).at(&origin));
        if depth > MAX_DEPTH {
            return error("nested too deeply");
        }
        self.nodes += 1;
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let text = text.into_owned();
                (anchor, Value::Scalar { text, plain })
            }
            Event::SequenceStart(anchor, _) => (anchor, Value::List(self.list(depth)?)),
            Event::MappingStart(anchor, _) => (anchor, Value::Map(self.map(depth)?)),
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return error("an alias of a value that is not complete yet");
                };
                self.nodes += count(&node);
                (0, node.value)
            }
            _ => return error("expected a value"),
        };
        if self.nodes > MAX_NODES {
            return error("more values than a configuration can have");
        }
        let node = Node { origin, value };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, ConfigError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(Node, Node)>, ConfigError> {
        let mut entries: Vec<(Node, Node)> = Vec::new();
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, _) => return Ok(entries),
                (event, span) => self.node(event, span, depth + 1)?,
            };
            let Some(name) = key.text() else {
                return Err(ConfigError::new("a key must be a plain word").at(&key.origin));
            };
            if let Some((first, _)) = entries.iter().find(|(other, _)| other.text() == Some(name)) {
                let message = format!("key {name:?} appears twice, first at {}", first.origin);
                return Err(ConfigError::new(message).at(&key.origin));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            entries.push((key, value));
        }
    }

    fn next(&mut self) -> Result<(Event<'static>, Span), ConfigError> {
        match self.events.next() {
            Some(Ok((event, span))) => Ok((owned(event), span)),
            Some(Err(error)) => {
                let marker = *error.marker();
                let origin = (self.place)(marker.line(), marker.col() + 1);
                Err(ConfigError::new(format!("not YAML: {}", error.info())).at(&origin))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn origin(&self, span: Span) -> String {
        (self.place)(span.start.line(), span.start.col() + 1)
    }
}

/// The event without what it borrows; tags mean nothing here and are dropped.
fn owned(event: Event<'_>) -> Event<'static> {
    match event {
        Event::Scalar(text, style, anchor, _) => {
            Event::Scalar(text.into_owned().into(), style, anchor, None)
        }
        Event::SequenceStart(anchor, _) => Event::SequenceStart(anchor, None),
        Event::MappingStart(anchor, _) => Event::MappingStart(anchor, None),
        Event::Alias(anchor) => Event::Alias(anchor),
        Event::SequenceEnd => Event::SequenceEnd,
        Event::MappingEnd => Event::MappingEnd,
        Event::StreamStart => Event::StreamStart,
        Event::StreamEnd => Event::StreamEnd,
        Event::DocumentStart(explicit) => Event::DocumentStart(explicit),
        Event::DocumentEnd => Event::DocumentEnd,
        Event::Nothing => Event::Nothing,
    }
}

fn count(node: &Node) -> usize {
    1 + match &node.value {
        Value::Scalar { .. } => 0,
        Value::List(items) => items.iter().map(count).sum(),
        Value::Map(entries) => entries.iter().map(|(_, value)| 1 + count(value)).sum(),
    }
}
