//! From tokens to expressions. The limits are those of the real server, so nothing here can run out of stack.

use super::ast::{Expr, Fold, FoldKind, Issue, Literal, Node};
use super::lexer::{Placed, Token, tokens};
use super::signatures::signatures;

/// Characters in an expression.
const LENGTH_LIMIT: usize = 100_000;
/// Expressions inside expressions.
const NESTING_LIMIT: usize = 250;
/// Operators in a row, which make an expression deep without making it nested.
const CHAIN_LIMIT: usize = 250;

const EXPRESSION_STARTS: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, \
                                 NUM_UINT, STRING, BYTES, IDENTIFIER}";

pub(super) const RESERVED: [&str; 16] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "while",
];

pub(super) fn parse(source: &str) -> Result<Expr, Vec<Issue>> {
    let size = source.chars().count();
    if size > LENGTH_LIMIT {
        let words = format!("expression code point size exceeds limit: size: {size}, limit {LENGTH_LIMIT}");
        return Err(vec![Issue::whole(words)]);
    }
    let (tokens, mut issues) = tokens(source);
    match parse_tokens(&tokens) {
        Ok(expr) if issues.is_empty() => Ok(expr),
        Ok(_) => Err(issues),
        Err(issue) => {
            issues.push(issue);
            Err(issues)
        }
    }
}

fn parse_tokens(tokens: &[Placed]) -> Parsed {
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    let expr = parser.expression()?;
    let next = parser.peek();
    if next.token != Token::End {
        let last = matches!(parser.tokens.get(parser.at + 1), Some(Placed { token: Token::End, .. }));
        let what = if last { "extraneous" } else { "mismatched" };
        let words = format!("Syntax error: {what} input '{}' expecting <EOF>", next.text);
        return Err(Issue::new(next.at, words));
    }
    Ok(expr)
}

struct Parser<'a> {
    tokens: &'a [Placed],
    at: usize,
    depth: usize,
}

type Parsed = Result<Expr, Issue>;

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Placed {
        // The last token is the end, and nobody goes beyond it.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek().token, Token::Symbol(found) if found == symbol)
    }

    /// Takes one of the symbols if it is next.
    fn take(&mut self, symbols: &[&str]) -> Option<(&'static str, usize)> {
        let next = self.peek();
        match next.token {
            Token::Symbol(found) if symbols.contains(&found) => {
                self.at += 1;
                Some((found, next.at))
            }
            _ => None,
        }
    }

    fn expect(&mut self, symbol: &str) -> Result<usize, Issue> {
        match self.take(&[symbol]) {
            Some((_, at)) => Ok(at),
            None => {
                let next = self.peek();
                Err(Issue::new(next.at, format!("Syntax error: missing '{symbol}' at '{}'", next.text)))
            }
        }
    }

    fn identifier(&mut self) -> Result<(String, usize), Issue> {
        let next = self.peek();
        match &next.token {
            Token::Ident(name) => {
                self.at += 1;
                Ok((name.clone(), next.at))
            }
            _ if next.token == Token::Symbol(".") => {
                Err(Issue::new(next.at, "Syntax error: no viable alternative at input '..'"))
            }
            _ => {
                let words = format!("Syntax error: mismatched input '{}' expecting IDENTIFIER", next.text);
                Err(Issue::new(next.at, words))
            }
        }
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > NESTING_LIMIT {
            return Err(Issue::whole(format!("expression recursion limit exceeded: {NESTING_LIMIT}")));
        }
        let expr = stacker::maybe_grow(128 << 10, 2 << 20, || self.conditional());
        self.depth -= 1;
        expr
    }

    fn conditional(&mut self) -> Parsed {
        let condition = self.or()?;
        let Some((_, at)) = self.take(&["?"]) else { return Ok(condition) };
        let yes = self.or()?;
        self.expect(":")?;
        let no = self.expression()?;
        Expr::new(at, Node::Conditional(Box::new([condition, yes, no])))
    }

    fn or(&mut self) -> Parsed {
        self.series("||", Self::and, Node::Or)
    }

    fn and(&mut self) -> Parsed {
        self.series("&&", |this| this.binary(0), Node::And)
    }

    fn series(&mut self, symbol: &str, part: fn(&mut Self) -> Parsed, node: fn(Vec<Expr>) -> Node) -> Parsed {
        let first = part(self)?;
        let mut parts = vec![first];
        let mut place = None;
        while let Some((_, at)) = self.take(&[symbol]) {
            place.get_or_insert(at);
            parts.push(part(self)?);
        }
        match (place, parts.len()) {
            (Some(at), _) => Expr::new(at, node(parts)),
            (None, _) => parts.pop().ok_or_else(|| Issue::whole("no expression")),
        }
    }

    /// Comparisons, sums and products, from loose to tight; each is read from the left.
    fn binary(&mut self, level: usize) -> Parsed {
        const LEVELS: [&[&str]; 3] =
            [&["<", "<=", ">", ">=", "==", "!=", "in"], &["+", "-"], &["*", "/", "%"]];
        let Some(symbols) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        let mut length = 0;
        while let Some((symbol, at)) = self.take(symbols) {
            length += 1;
            if length > CHAIN_LIMIT {
                return Err(Issue::whole("max recursion depth exceeded"));
            }
            let right = self.binary(level + 1)?;
            let name = if symbol == "in" { "@in".to_owned() } else { format!("_{symbol}_") };
            left = Expr::new(at, Node::Call { target: None, name, args: vec![left, right] })?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let Some((symbol, at)) = self.take(&["!", "-"]) else { return self.member() };
        let mut count = 1;
        while self.take(&[symbol]).is_some() {
            count += 1;
        }
        if symbol == "-" && count == 1 && matches!(self.peek().token, Token::Literal(_)) {
            return self.negative(at);
        }
        let operand = self.member()?;
        if count % 2 == 0 {
            return Ok(operand);
        }
        Expr::new(at, Node::Call { target: None, name: format!("{symbol}_"), args: vec![operand] })
    }

    /// A number with its sign.
    fn negative(&mut self, at: usize) -> Parsed {
        let mut operand = self.member()?;
        match &mut operand.node {
            Node::Literal(Literal::Int(value)) => {
                // The smallest number was read as itself.
                *value = if *value == i64::MIN { *value } else { -*value };
                operand.at = at;
                Ok(operand)
            }
            Node::Literal(Literal::Double(value)) => {
                *value = -*value;
                operand.at = at;
                Ok(operand)
            }
            _ => Expr::new(at, Node::Call { target: None, name: "-_".to_owned(), args: vec![operand] }),
        }
    }

    fn member(&mut self) -> Parsed {
        let mut expr = self.primary()?;
        let mut length = 0;
        loop {
            length += 1;
            if length > CHAIN_LIMIT {
                return Err(Issue::whole("max recursion depth exceeded"));
            }
            if let Some((_, at)) = self.take(&["."]) {
                let optional = self.take(&["?"]).is_some();
                let (field, _) = self.identifier()?;
                if let Some((_, paren)) = self.take(&["("]).filter(|_| !optional) {
                    let args = self.arguments(")")?;
                    expr = method(expr, field, args, paren)?;
                } else {
                    expr = Expr::new(at, Node::Select { operand: Box::new(expr), field, optional })?;
                }
            } else if let Some((_, at)) = self.take(&["["]) {
                let optional = self.take(&["?"]).is_some();
                let index = Box::new(self.expression()?);
                self.expect("]")?;
                expr = Expr::new(at, Node::Index { operand: Box::new(expr), index, optional })?;
            } else if self.is("{") && qualified(&expr).is_some() {
                let at = self.expect("{")?;
                self.entries()?;
                expr = Expr::new(at, Node::Message(qualified(&expr).unwrap_or_default()))?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn primary(&mut self) -> Parsed {
        let next = self.peek();
        let at = next.at;
        match &next.token {
            Token::Literal(literal) => {
                self.at += 1;
                // Only the sign makes this one a number.
                let signed = self.at >= 2 && self.tokens[self.at - 2].token == Token::Symbol("-");
                if *literal == Literal::Int(i64::MIN) && !signed {
                    return Err(Issue::new(at, "invalid int literal"));
                }
                Expr::new(at, Node::Literal(literal.clone()))
            }
            Token::Ident(name) => {
                self.at += 1;
                self.named(name, at)
            }
            Token::Symbol(".") => {
                self.at += 1;
                let (name, at) = self.identifier()?;
                self.named(&name, at)
            }
            Token::Symbol("(") => {
                self.at += 1;
                let expr = self.expression()?;
                self.expect(")")?;
                Ok(expr)
            }
            Token::Symbol("[") => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.is("]") {
                    let optional = self.take(&["?"]).is_some();
                    items.push((self.expression()?, optional));
                    if self.take(&[","]).is_none() {
                        break;
                    }
                }
                self.expect("]")?;
                Expr::new(at, Node::List(items))
            }
            Token::Symbol("{") => {
                self.at += 1;
                let entries = self.entries()?;
                Expr::new(at, Node::Map(entries))
            }
            _ => {
                let words =
                    format!("Syntax error: mismatched input '{}' expecting {EXPRESSION_STARTS}", next.text);
                Err(Issue::new(at, words))
            }
        }
    }

    fn entries(&mut self) -> Result<Vec<(Expr, Expr, bool)>, Issue> {
        let mut entries = Vec::new();
        while !self.is("}") {
            let optional = self.take(&["?"]).is_some();
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, self.expression()?, optional));
            if self.take(&[","]).is_none() {
                break;
            }
        }
        self.expect("}")?;
        Ok(entries)
    }

    fn named(&mut self, name: &str, at: usize) -> Parsed {
        if let Some((_, paren)) = self.take(&["("]) {
            let args = self.arguments(")")?;
            return function(name, args, paren);
        }
        if RESERVED.contains(&name) || name == "void" {
            return Err(Issue::new(at, format!("reserved identifier: {name}")));
        }
        Expr::new(at, Node::Ident(name.to_owned()))
    }

    fn arguments(&mut self, close: &str) -> Result<Vec<Expr>, Issue> {
        let mut args = Vec::new();
        while !self.is(close) {
            args.push(self.expression()?);
            if self.take(&[","]).is_none() {
                break;
            }
        }
        self.expect(close)?;
        Ok(args)
    }
}

/// `a.b.c` as one name.
fn qualified(expr: &Expr) -> Option<String> {
    match &expr.node {
        Node::Ident(name) => Some(name.clone()),
        Node::Select { operand, field, optional: false } => Some(format!("{}.{field}", qualified(operand)?)),
        _ => None,
    }
}

fn function(name: &str, mut args: Vec<Expr>, at: usize) -> Parsed {
    if name == "has" && args.len() == 1 {
        let arg = args.remove(0);
        return match arg.node {
            Node::Select { operand, field, optional: false } => Expr::new(at, Node::Has { operand, field }),
            _ => Err(Issue::new(arg.at, "invalid argument to has() macro")),
        };
    }
    Expr::new(at, Node::Call { target: None, name: name.to_owned(), args })
}

fn method(target: Expr, name: String, args: Vec<Expr>, at: usize) -> Parsed {
    // Functions of libraries look like methods: `sets.contains(a, b)`. No method has such a name.
    if let Some(function) = qualified(&target).map(|prefix| format!("{prefix}.{name}"))
        && signatures(&function).is_some()
    {
        return Expr::new(at, Node::Call { target: None, name: function, args });
    }
    use FoldKind::{All, Exists, ExistsOne, Filter, Map, OptFlatMap, OptMap, SortBy, TransformMap};
    // How many names a macro declares, and whether it has a condition and a result.
    let shape = match (name.as_str(), args.len()) {
        ("all", 2) => (All, 1, true, false),
        ("exists", 2) => (Exists, 1, true, false),
        ("exists_one" | "existsOne", 2) => (ExistsOne, 1, true, false),
        ("filter", 2) => (Filter, 1, true, false),
        ("map", 2) => (Map, 1, false, true),
        ("map", 3) => (Map, 1, true, true),
        ("all", 3) => (All, 2, true, false),
        ("exists", 3) => (Exists, 2, true, false),
        ("exists_one" | "existsOne", 3) => (ExistsOne, 2, true, false),
        ("transformList", 3) => (Map, 2, false, true),
        ("transformList", 4) => (Map, 2, true, true),
        ("transformMap", 3) => (TransformMap, 2, false, true),
        ("transformMap", 4) => (TransformMap, 2, true, true),
        ("sortBy", 2) => (SortBy, 1, false, true),
        ("optMap", 2) => (OptMap, 1, false, true),
        ("optFlatMap", 2) => (OptFlatMap, 1, false, true),
        _ => {
            return Expr::new(at, Node::Call { target: Some(Box::new(target)), name, args });
        }
    };
    let (kind, names, filtered, mapped) = shape;
    let mut args = args.into_iter();
    let mut simple_name = || match args.next() {
        Some(Expr { node: Node::Ident(name), .. }) => Ok(name),
        Some(other) => Err(Issue::new(other.at, "argument must be a simple name")),
        None => Err(Issue::new(at, "argument must be a simple name")),
    };
    let var = simple_name()?;
    let second = if names == 2 { Some(simple_name()?) } else { None };
    let filter = if filtered { args.next() } else { None };
    let body = if mapped { args.next() } else { None };
    Expr::new(at, Node::Fold(Box::new(Fold { kind, range: target, var, second, filter, body })))
}
