package landscape

// SmallShoot is about the least that a garden accepts as a Shoot; everything else is defaulted.
const SmallShoot = `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: first, namespace: garden-kyma}
spec:
  cloudProfile: {kind: CloudProfile, name: aws}
  region: eu-central-1
  credentialsBindingName: aws-01
  kubernetes: {}
  networking: {type: calico, nodes: 10.250.0.0/16}
  provider:
    type: aws
    workers:
    - name: cpu-worker-0
      minimum: 1
      maximum: 3
      zones: [eu-central-1a]
      machine: {type: m6i.large}
      volume: {type: gp3, size: 50Gi}
`
