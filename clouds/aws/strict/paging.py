"""Small pages, for every list call that AWS pages. moto pages a few, each with a default of its own, and ignores the rest.

Which calls are paged, and what their tokens are called, is read from botocore. A token is opaque, stands for what is left of one
listing, and has to be encoded to survive in a form body; it can be used again, as after a throttled call.
"""

from __future__ import annotations

import base64
import copy
import json
import secrets
from collections import OrderedDict

from botocore.loaders import Loader
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse
from moto.core.utils import get_value, set_value
from moto.ec2.models.instances import Reservation
from moto.efs.responses import EFSResponse

from .state import ACCOUNTS

SERVICES = ("ec2", "elb", "elbv2", "autoscaling", "iam", "efs")
# moto's own pages get this size: larger than anything that a test lists. Auto Scaling allows no more than 100.
UNLIMITED = 1_000_000
AUTO_SCALING_LIMIT = 100
# Listings whose rest is kept. A client walks one listing at a time, so this is far more than tests need at once.
KEPT = 4096
# Lists of what other lists show: the witness of an account cleaner, which has to see what is hidden from the first source.
WITNESSES = {("ec2", "DescribeTags")}


def _paged() -> dict[tuple[str, str], dict]:
    loader = Loader()
    return {
        (service, operation): config
        for service in SERVICES
        for operation, config in loader.load_service_model(service, "paginators-1")["pagination"].items()
        if not isinstance(config["result_key"], list) and not isinstance(config["input_token"], list)
    }


PAGED = _paged()
_rest: OrderedDict[str, list] = OrderedDict()
_get_param = BaseResponse._get_param


class InvalidToken(ServiceException):
    pass


def config_of(response: BaseResponse) -> dict | None:
    return PAGED.get((response.boto3_service_name, response._get_action()))


def without_paging(self: BaseResponse, name: str, if_none=None):
    """What moto's own code sees of the paging parameters: nothing."""
    config = config_of(self) if name in ("NextToken", "Marker", "MaxResults", "MaxRecords", "MaxItems", "PageSize") else None
    if config and name == config["input_token"]:
        return if_none
    if config and name == config.get("limit_key"):
        return AUTO_SCALING_LIMIT if name == "MaxRecords" else UNLIMITED
    return _get_param(self, name, if_none)


def issue(rest: list) -> str:
    key = secrets.token_bytes(12)
    # Characters that need encoding in a form body are sure to be in it.
    token = base64.b64encode(b"\xfb\xef\xbe\xff" + key + b"=").decode()
    _rest[token] = rest
    while len(_rest) > KEPT:
        _rest.popitem(last=False)
    return token


def visible(response: BaseResponse, items: list) -> list:
    account = ACCOUNTS.get(response.current_account)
    if account is None or not account.hidden or (response.boto3_service_name, response._get_action()) in WITNESSES:
        return items
    shown = []
    for item in items:
        if isinstance(item, Reservation):
            item = copy.copy(item)
            item.instances = [instance for instance in item.instances if instance.id not in account.hidden]
            if not item.instances:
                continue
        if not names_of(item) & account.hidden:
            shown.append(item)
    return shown


def names_of(item) -> set[str]:
    """Whatever an item may be called by: ids, names, ARNs."""
    keys = ("id", "arn", "name", "allocation_id", "key_name", "group_id", "physical_resource_id", "FileSystemId", "MountTargetId")
    found = (item.get(k) if isinstance(item, dict) else getattr(item, k, None) for k in keys)
    return {value for value in found if isinstance(value, str)}


def page(response: BaseResponse, items: list) -> tuple[list, str | None]:
    """One page of a listing, and the token of the next."""
    config = config_of(response)
    account = ACCOUNTS.get(response.current_account)
    size = account.page if account else UNLIMITED
    limit = _get_param(response, config.get("limit_key") or "", None)
    if limit is not None:
        if response.boto3_service_name == "ec2" and not 5 <= int(limit) <= 1000:
            raise InvalidToken(
                "InvalidParameterValue",
                f"Value ( {limit} ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.",
            )
        size = min(size, int(limit))
    token = _get_param(response, config["input_token"], None)
    if token:
        if token not in _rest:
            raise InvalidToken(
                "InvalidNextToken" if response.boto3_service_name == "ec2" else "ValidationError", "The token provided is invalid"
            )
        items = _rest[token]
    else:
        items = visible(response, list(items))
        # EC2 may answer with no items and a token; a client that stops there has not listed anything.
        if account and account.empty_pages and items:
            return [], issue(items)
    return items[:size], issue(items[size:]) if len(items) > size else None


def install() -> None:
    BaseResponse._get_param = without_paging
    execute = ActionResult.execute_result

    def execute_paged(self, context):
        response, result = context.response, self._result
        config = PAGED.get((response.boto3_service_name, str(context.operation_model.name)))
        if isinstance(result, dict) and not isinstance(result, Exception):
            if config:
                items = get_value(result, config["result_key"])
                if isinstance(items, (list, tuple)) or hasattr(items, "__iter__") and not isinstance(items, (str, dict)):
                    try:
                        shown, token = page(response, list(items))
                    except InvalidToken as refused:
                        self._result = refused
                        return execute(self, context)
                    set_value(result, config["result_key"], shown)
                    set_value(result, config["output_token"], token)
                    if config.get("more_results"):
                        set_value(result, config["more_results"], token is not None)
            else:
                for key, value in result.items():
                    if isinstance(value, list):
                        result[key] = visible(response, value)
        return execute(self, context)

    ActionResult.execute_result = execute_paged

    for name, key in (("describe_file_systems", "FileSystems"), ("describe_mount_targets", "MountTargets")):
        original = getattr(EFSResponse, name)

        def paged(self, original=original, key=key):
            body, headers = original(self)
            answer = json.loads(body)
            answer[key], token = page(self, answer[key])
            answer.pop("NextMarker", None)
            return json.dumps(answer | ({"NextMarker": token} if token else {})), headers

        setattr(EFSResponse, name, paged)
