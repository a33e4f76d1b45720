//! A tree, as text.

/// A line, and the lines below it.
#[derive(Debug, Default)]
pub(super) struct Node {
    text: String,
    below: Vec<Node>,
}

impl Node {
    pub(super) fn new(text: impl Into<String>, below: Vec<Node>) -> Self {
        Self { text: text.into(), below }
    }

    pub(super) fn leaf(text: impl Into<String>) -> Self {
        Self::new(text, Vec::new())
    }

    pub(super) fn has_branches(&self) -> bool {
        !self.below.is_empty()
    }

    /// This line, and those below it with branches in front of them.
    pub(super) fn draw(&self) -> String {
        let mut text = format!("{}\n", self.text);
        self.draw_below("", &mut text);
        text
    }

    fn draw_below(&self, margin: &str, text: &mut String) {
        for (index, node) in self.below.iter().enumerate() {
            let is_last = index + 1 == self.below.len();
            let (branch, trunk) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            text.push_str(&format!("{margin}{branch}{}\n", node.text));
            node.draw_below(&format!("{margin}{trunk}"), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Node;

    #[test]
    fn branches_end_where_their_nodes_do() {
        let tree = Node::new(
            "a",
            vec![Node::new("b", vec![Node::leaf("c")]), Node::new("d", vec![Node::leaf("e")])],
        );
        assert_eq!(tree.draw(), "a\n├─ b\n│  └─ c\n└─ d\n   └─ e\n");
    }
}
