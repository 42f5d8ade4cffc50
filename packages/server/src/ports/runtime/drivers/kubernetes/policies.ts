/**
 * NetworkPolicies. One denies all to every Pod of a platform, both ways; one for each workload that may go out adds what
 * that may reach. A cluster adds up what policies allow, so nothing is open before a workload's own is there.
 */
import { apiVersions } from "../../../kubernetes/resources.ts"
import { PortError } from "../../../port-error.ts"
import { publicBlocks } from "../../network/blocks.ts"
import { reachOf } from "../../network/policy.ts"
import type { NetworkPolicy } from "../../port.ts"
import { INSTANCE_LABEL, labelsOf, nameOf, WORKLOAD_LABEL } from "./manifests.ts"

export const denyAllName = (instance: string) => `svc-${instance}-deny-all`

const policyOf = (name: string, labels: object, spec: object) => ({
  ...{ apiVersion: apiVersions.networkpolicies, kind: "NetworkPolicy", metadata: { name, labels }, spec },
})

export const denyAll = (instance: string) => {
  const labels = { [INSTANCE_LABEL]: instance, "app.kubernetes.io/managed-by": "svc" }
  return policyOf(denyAllName(instance), labels, {
    podSelector: { matchLabels: { [INSTANCE_LABEL]: instance } },
    policyTypes: ["Ingress", "Egress"],
  })
}

/** Of most clusters, whatever the program. */
const clusterDns = {
  to: [
    {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
      podSelector: { matchLabels: { "k8s-app": "kube-dns" } },
    },
  ],
  ports: ["UDP", "TCP"].map(protocol => ({ protocol, port: 53 })),
}

/**
 * What a workload may reach, as egress rules. There are no names where there is a list of what is allowed: one that is
 * resolved would be a way out. Throws `refused` for domains, which no NetworkPolicy knows.
 */
export const egressOf = (policy: NetworkPolicy): readonly object[] => {
  if (policy.mode === "none") return []
  const reach = reachOf(policy)
  const { allow } = reach
  if (allow && allow.domains.length > 0)
    throw new PortError(
      "refused",
      `the cluster knows addresses only, so ${allow.domains.join(", ")} cannot be allowed (driver kubernetes)`,
    )
  const to = publicBlocks(reach).map(({ cidr, except }) => ({
    ipBlock: { cidr, ...(except.length > 0 && { except }) },
  }))
  return [...(to.length > 0 ? [{ to }] : []), ...(allow === null ? [clusterDns] : [])]
}

export const workloadPolicy = (instance: string, id: string, egress: readonly object[]) =>
  policyOf(nameOf(instance, id), labelsOf(instance, id), {
    podSelector: { matchLabels: { [INSTANCE_LABEL]: instance, [WORKLOAD_LABEL]: id } },
    policyTypes: ["Egress"],
    egress,
  })
