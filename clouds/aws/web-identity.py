"""Prints the request that botocore makes of AssumeRoleWithWebIdentity, as JSON. Nothing is sent."""

from __future__ import annotations

import json
import sys

import boto3
from botocore import UNSIGNED
from botocore.config import Config


class Recorded(Exception):
    pass


def record(request, **_more):
    body = request.body.decode() if isinstance(request.body, bytes) else request.body
    content_type = request.headers["Content-Type"]
    raise Recorded(
        json.dumps(
            {
                "method": request.method,
                "url": request.url,
                "contentType": content_type.decode() if isinstance(content_type, bytes) else content_type,
                "authorization": "Authorization" in request.headers,
                "body": body,
            }
        )
    )


def main() -> None:
    region, role, session, token = sys.argv[1:]
    sts = boto3.client("sts", region_name=region, config=Config(signature_version=UNSIGNED))
    sts.meta.events.register("before-send.sts", record)
    try:
        sts.assume_role_with_web_identity(RoleArn=role, RoleSessionName=session, WebIdentityToken=token)
    except Recorded as recorded:
        print(recorded)


if __name__ == "__main__":
    main()
