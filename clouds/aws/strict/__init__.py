"""What AWS does and moto does not: refusals, slow deletions, pages, throttling, regions that are not enabled, real IAM codes."""
