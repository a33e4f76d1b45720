//! Expressions, as they were written: macros are nodes of their own.

/// An expression, and where it is: the place that complaints point at, in characters from the start.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expr {
    pub at: usize,
    /// How many expressions are inside each other here.
    height: u16,
    pub node: Node,
}

/// Whatever walks an expression goes this deep at most.
const HEIGHT_LIMIT: u16 = 300;

impl Expr {
    /// An expression that is not too deep.
    pub(super) fn new(at: usize, node: Node) -> Result<Self, Issue> {
        let height = 1 + node.children().map(|child| child.height).max().unwrap_or(0);
        match height > HEIGHT_LIMIT {
            true => Err(Issue::whole("max recursion depth exceeded")),
            false => Ok(Self { at, height, node }),
        }
    }

    /// Visits this and all that is below.
    pub(super) fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        self.node.children().for_each(|child| child.walk(visit));
    }

    /// Whether an identifier occurs that no macro declares.
    pub(super) fn mentions(&self, name: &str) -> bool {
        match &self.node {
            Node::Ident(found) => found == name,
            Node::Fold(fold) if fold.var == name || fold.second.as_deref() == Some(name) => {
                fold.range.mentions(name)
            }
            node => node.children().any(|child| child.mentions(name)),
        }
    }
}

impl Node {
    fn children(&self) -> Box<dyn Iterator<Item = &Expr> + '_> {
        match self {
            Self::Literal(_) | Self::Ident(_) | Self::Message(_) => Box::new(std::iter::empty()),
            Self::Select { operand, .. } | Self::Has { operand, .. } => Box::new(std::iter::once(&**operand)),
            Self::Index { operand, index, .. } => Box::new([&**operand, &**index].into_iter()),
            Self::Call { target, args, .. } => Box::new(target.iter().map(|target| &**target).chain(args)),
            Self::And(parts) | Self::Or(parts) => Box::new(parts.iter()),
            Self::Conditional(parts) => Box::new(parts.iter()),
            Self::List(items) => Box::new(items.iter().map(|(item, _)| item)),
            Self::Map(entries) => Box::new(entries.iter().flat_map(|(key, value, _)| [key, value])),
            Self::Fold(fold) => Box::new(std::iter::once(&fold.range).chain(&fold.filter).chain(&fold.body)),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Literal(Literal),
    Ident(String),
    /// `a.b`, `a.?b`.
    Select {
        operand: Box<Expr>,
        field: String,
        optional: bool,
    },
    /// `has(a.b)`.
    Has {
        operand: Box<Expr>,
        field: String,
    },
    /// `a[b]`, `a[?b]`.
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    /// `f(a)`, `a.f(b)`; operators are calls of functions with names such as `_+_`.
    Call {
        target: Option<Box<Expr>>,
        name: String,
        args: Vec<Expr>,
    },
    /// `a && b && c`.
    And(Vec<Expr>),
    /// `a || b || c`.
    Or(Vec<Expr>),
    /// `a ? b : c`.
    Conditional(Box<[Expr; 3]>),
    /// `[a, ?b]`.
    List(Vec<(Expr, bool)>),
    /// `{a: b, ?c: d}`.
    Map(Vec<(Expr, Expr, bool)>),
    /// `a.all(x, p)` and its kin.
    Fold(Box<Fold>),
    /// `name{…}`: there are no messages in Kubernetes, so none can be made.
    Message(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
}

/// Something that is done with every item of a list or every key of a map.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fold {
    pub kind: FoldKind,
    pub range: Expr,
    /// The item or key; with a second name: the index or key, and the item or value.
    pub var: String,
    pub second: Option<String>,
    /// What must hold; for maps and transformations what decides whether an item takes part.
    pub filter: Option<Expr>,
    /// What becomes of an item.
    pub body: Option<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    /// `transformMap`.
    TransformMap,
    /// `sortBy`.
    SortBy,
    /// `optMap`: the range is an optional.
    OptMap,
    /// `optFlatMap`.
    OptFlatMap,
}

/// Something that is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Issue {
    /// Where, in characters; nowhere in particular if it is about the whole.
    pub at: Option<usize>,
    pub words: String,
}

impl Issue {
    pub(super) fn new(at: usize, words: impl Into<String>) -> Self {
        Self { at: Some(at), words: words.into() }
    }

    pub(super) fn whole(words: impl Into<String>) -> Self {
        Self { at: None, words: words.into() }
    }
}

/// The issues in the order of their places, each with the line that it is about and a mark below it.
pub(super) fn describe(source: &str, mut issues: Vec<Issue>) -> String {
    issues.sort_by_key(|issue| issue.at);
    let described = issues.into_iter().map(|issue| {
        let Some(at) = issue.at else { return format!("ERROR: <input>:-1:0: {}", issue.words) };
        let before: String = source.chars().take(at).collect();
        let line = before.matches('\n').count();
        let column = before.chars().rev().take_while(|c| *c != '\n').count();
        let text = source.lines().nth(line).unwrap_or_default().replace('\t', " ");
        let dots = ".".repeat(column);
        format!("ERROR: <input>:{}:{}: {}\n | {text}\n | {dots}^", line + 1, column + 1, issue.words)
    });
    described.collect::<Vec<_>>().join("\n")
}
