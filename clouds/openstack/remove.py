"""Deletes one port of a project, through openstacksdk: what a person does about a blocker."""

from __future__ import annotations

from account import connect, parser

if __name__ == "__main__":
    options = parser(__doc__)
    options.add_argument("--port", required=True, metavar="ID")
    args = options.parse_args()
    connect(args.project).network.delete_port(args.port, ignore_missing=False)
    print("{}")
