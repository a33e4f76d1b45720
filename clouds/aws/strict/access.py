"""Who may do what, and how each service says no: the codes, statuses and bodies of AWS, which differ from service to service."""

from __future__ import annotations

import datetime
import json
from xml.sax.saxutils import escape

from botocore.awsrequest import AWSRequest
from moto.core.responses import ActionResult
from moto.ec2.models.availability_zones_and_regions import Region, RegionsAndZonesBackend
from moto.ec2.responses.availability_zones_and_regions import AvailabilityZonesAndRegions
from moto.iam import access_control
from moto.iam.access_control import IAMRequest, IAMUserAccessKey
from moto.utilities.utils import get_partition
from werkzeug.exceptions import HTTPException

from .state import ACCOUNTS, SENT

REQUEST_ID = "00000000-0000-4000-8000-000000000000"
# Enabled in every account and cannot be disabled, as of 2026: 17 in the commercial partition.
DEFAULT_REGIONS = (
    "ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-southeast-1 ap-southeast-2 ca-central-1 eu-central-1 eu-north-1 "
    "eu-west-1 eu-west-2 eu-west-3 sa-east-1 us-east-1 us-east-2 us-west-1 us-west-2"
).split()


def error_body(service: str, code: str, message: str) -> tuple[str, str]:
    """An error as the service writes it, and its content type."""
    code, message = escape(code), escape(message)
    if service == "ec2":
        inner = f"<Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<Response>{inner}<RequestID>{REQUEST_ID}</RequestID></Response>',
            "text/xml",
        )
    if service == "elasticfilesystem":
        return json.dumps({"ErrorCode": code, "message": message}), "application/json"
    if service == "s3":
        return (
            f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>{REQUEST_ID}</RequestId></Error>",
            "application/xml",
        )
    inner = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    return f"<ErrorResponse>{inner}<RequestId>{REQUEST_ID}</RequestId></ErrorResponse>", "text/xml"


class Refused(HTTPException):
    def __init__(self, service: str, code: str, message: str, status: int):
        super().__init__()
        self.code, self.error_code, self.message = status, code, message
        self.description, self.content_type = error_body(service, code, message)

    def get_headers(self, *_args, **_kwargs):
        return [("Content-Type", self.content_type), ("X-Amzn-ErrorType", self.error_code)]

    def get_body(self, *_args, **_kwargs):
        return self.description


def not_authorized(service: str, principal: str, action: str) -> Refused:
    because = f"because no identity-based policy allows the {action} action"
    if service == "ec2":
        message = f"You are not authorized to perform this operation. User: {principal} is not authorized to perform: {action} {because}"
        return Refused(service, "UnauthorizedOperation", message, 403)
    code = "AccessDeniedException" if service == "elasticfilesystem" else "AccessDenied"
    return Refused(service, code, f"User: {principal} is not authorized to perform: {action} {because}", 403)


def bad_credentials(service: str) -> Refused:
    if service == "ec2":
        return Refused(service, "AuthFailure", "AWS was not able to validate the provided access credentials", 401)
    return Refused(service, "InvalidClientTokenId", "The security token included in the request is invalid.", 403)


def wrong_signature(request: IAMRequest) -> Refused:
    """Outside EC2, AWS repeats the canonical request: with every signed header, a session token too."""
    if request._service == "ec2":
        return bad_credentials("ec2")
    auth = request._create_auth(request._access_key.create_credentials())
    aws_request = request._create_aws_request()
    canonical = auth.canonical_request(aws_request)
    message = (
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and "
        "signing method. Consult the service documentation for details.\n\nThe Canonical String for this request should have been\n"
        f"'{canonical}'\n\nThe String-to-Sign should have been\n'{auth.string_to_sign(aws_request, canonical)}'\n"
    )
    return Refused(request._service, "SignatureDoesNotMatch", message, 403)


def signed_request(self: IAMRequest) -> AWSRequest:
    """The request as it was sent. moto encodes the parameters anew, and a client that encodes a space otherwise would be refused."""
    signed = self._get_string_between("SignedHeaders=", ",", self._headers["Authorization"]).split(";")
    headers = self._create_headers_for_aws_request(signed, self._headers)
    request = AWSRequest(method=self._method, url=self._path, data=SENT.body, headers=headers)
    request.context["timestamp"] = headers["X-Amz-Date"]
    return request


def raise_(refusal: Refused):
    raise refusal


def clock_refusal(service: str, sent: str, now: datetime.datetime) -> Refused | None:
    """A request is good for five minutes around the server's time."""
    try:
        at = datetime.datetime.strptime(sent, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    except ValueError:
        return bad_credentials(service)
    if abs((now - at).total_seconds()) <= 300:
        return None
    if service == "ec2":
        return Refused(service, "RequestExpired", "Request has expired.", 400)
    word = "expired" if at < now else "not yet current"
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    return Refused(service, "SignatureDoesNotMatch", f"Signature {word}: {sent} is now compared with {stamp} (+/- 5 min.)", 403)


def all_regions(partition: str) -> list[str]:
    return sorted(r.name for r in RegionsAndZonesBackend.regions if get_partition(r.name) == partition)


def describe_regions(self) -> ActionResult:
    """The enabled ones, unless AllRegions asks for the others too."""
    self.error_on_dryrun()
    account = ACCOUNTS[self.current_account]
    names = self._get_param("RegionNames", []) or (
        all_regions(account.partition) if self._get_bool_param("AllRegions", False) else account.regions
    )
    status = lambda name: (
        "not-opted-in" if name not in account.regions else "opt-in-not-required" if name in DEFAULT_REGIONS else "opted-in"
    )
    suffix = "amazonaws.com.cn" if account.partition == "aws-cn" else "amazonaws.com"
    return ActionResult({"Regions": [Region(name, f"ec2.{name}.{suffix}", status(name)) for name in names]})


def install() -> None:
    AvailabilityZonesAndRegions.describe_regions = describe_regions
    IAMRequest._raise_access_denied = lambda self: raise_(not_authorized(self._service, self._access_key.arn, self._action))
    IAMRequest._raise_invalid_access_key = lambda self, _reason: raise_(bad_credentials(self._service))
    IAMRequest._raise_signature_does_not_match = lambda self: raise_(wrong_signature(self))
    IAMRequest._create_aws_request = signed_request
    create = IAMUserAccessKey.__init__

    def active(self, *args, **kwargs):
        create(self, *args, **kwargs)
        keys = self.backend.get_user(self._owner_user_name).access_keys
        if any(key.access_key_id == self._access_key_id and key.status != "Active" for key in keys):
            raise access_control.CreateAccessKeyFailure(reason="InvalidId")

    IAMUserAccessKey.__init__ = active
