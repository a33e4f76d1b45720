//! What the kubeconfig operator does.

use crate::stage::coverage::{ANY, Operation, Sort, operation};

pub(crate) const OPERATIONS: [Operation; 27] = [
    operation("hold access", Sort::Write, ANY),
    operation("access status", Sort::Write, &["Pending", "Issued", "Revoked"]),
    operation("make namespace", Sort::Write, ANY),
    operation("make part", Sort::Write, ANY),
    operation("bind token", Sort::Write, ANY),
    operation("token", Sort::Write, ANY),
    operation("end token", Sort::Write, ANY),
    operation("take part away", Sort::Write, ANY),
    operation("unmark access", Sort::Write, ANY),
    operation("let access go", Sort::Write, ANY),
    operation("kubeconfig event", Sort::Write, ANY),
    operation("kubeconfig lease", Sort::Write, ANY),
    operation("ask for way", Sort::Read, ANY),
    operation("read target", Sort::Read, ANY),
    operation("try token", Sort::Read, ANY),
    operation("read access", Sort::Read, ANY),
    operation("look for tokens", Sort::Read, ANY),
    operation("look for parts", Sort::Read, ANY),
    operation("read kubeconfig lease", Sort::Read, ANY),
    operation("list accesses", Sort::List, ANY),
    operation("list targets", Sort::List, ANY),
    operation("list rotations", Sort::List, ANY),
    operation("list access locks", Sort::List, ANY),
    operation("watch accesses", Sort::Watch, ANY),
    operation("watch targets", Sort::Watch, ANY),
    operation("watch rotations", Sort::Watch, ANY),
    operation("watch access locks", Sort::Watch, ANY),
];
