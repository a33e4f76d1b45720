//! Answers in XML.

use crate::Refusal;
use roxmltree::{Document, Node};

/// Parses an answer. One that cannot be parsed was cut, or is not from AWS.
pub(super) fn parse(text: &str) -> Result<Document<'_>, Refusal> {
    Document::parse(text).map_err(|_| Refusal::Transient { why: "the answer is not XML".to_owned() })
}

/// All elements at a path, whatever their namespace.
pub(super) fn find<'a, 'input>(node: Node<'a, 'input>, path: &str) -> Vec<Node<'a, 'input>> {
    path.split('/').filter(|name| !name.is_empty()).fold(vec![node], |nodes, name| {
        let children = nodes.iter().flat_map(Node::children);
        children.filter(|child| child.tag_name().name() == name).collect()
    })
}

/// The text of the first element at a path; none if it is empty.
pub(super) fn text(node: Node<'_, '_>, path: &str) -> Option<String> {
    texts(node, path).into_iter().next()
}

/// The texts of all elements at a path that have any.
pub(super) fn texts(node: Node<'_, '_>, path: &str) -> Vec<String> {
    let found = find(node, path);
    let texts = found.iter().filter_map(|node| node.text()).map(str::trim);
    texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
}
