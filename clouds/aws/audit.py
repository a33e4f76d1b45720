"""Every operation that deletes, in the services of our table, as botocore describes them: a JSON list of permissions.

The test of the table compares it with the permissions that our table names and with left-out.txt, so that a new version of
botocore with a new kind fails the test, and no proof is silently incomplete.
"""

import json

from botocore.session import get_session

# botocore's name of a service, and the prefix of its permissions. Both generations of load balancers share one.
SERVICES = {
    "ec2": "ec2",
    "elb": "elasticloadbalancing",
    "elbv2": "elasticloadbalancing",
    "autoscaling": "autoscaling",
    "iam": "iam",
    "efs": "elasticfilesystem",
    "s3": "s3",
    "route53": "route53",
}
VERBS = ("Delete", "Terminate", "Release", "Deregister", "Cancel")


def main() -> None:
    session = get_session()
    found = set()
    for service, prefix in SERVICES.items():
        names = session.get_service_model(service).operation_names
        found.update(f"{prefix}:{name}" for name in names if name.startswith(VERBS))
    print(json.dumps(sorted(found)))


if __name__ == "__main__":
    main()
