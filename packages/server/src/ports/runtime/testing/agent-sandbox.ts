/** What the controller of kubernetes-sigs/agent-sandbox does with Sandboxes (v1beta1), as far as drivers rely on it. */
import { apiVersions } from "../../kubernetes/resources.ts"
import type { FakeKubernetes, Stored } from "../../kubernetes/testing/kubernetes.ts"

const claimName = (template: string, sandbox: string) => `${template}-${sandbox}`

const makeClaims = (kubernetes: FakeKubernetes, { metadata, spec }: Stored) => {
  for (const template of spec.volumeClaimTemplates ?? []) {
    const name = claimName(template.metadata.name, metadata.name)
    if (!kubernetes.get("persistentvolumeclaims", name))
      kubernetes.put("persistentvolumeclaims", name, {
        metadata: { labels: template.metadata.labels },
        spec: template.spec,
      })
  }
}

const podOf = ({ metadata, spec }: Stored) => {
  const claims = (spec.volumeClaimTemplates ?? []).map((template: Stored) => ({
    name: template.metadata.name,
    persistentVolumeClaim: { claimName: claimName(template.metadata.name, metadata.name) },
  }))
  const { metadata: given, spec: pod } = spec.podTemplate
  return {
    apiVersion: apiVersions.pods,
    metadata: { labels: { ...given.labels, "agents.x-k8s.io/sandbox-name-hash": "1" } },
    spec: { ...pod, volumes: [...pod.volumes, ...claims] },
  }
}

const endPod = (kubernetes: FakeKubernetes, name: string) => {
  const pod = kubernetes.get("pods", name)
  if (pod && pod.metadata.deletionTimestamp === undefined)
    kubernetes.put("pods", name, {
      metadata: { deletionTimestamp: new Date().toISOString(), deletionGracePeriodSeconds: 1 },
    })
}

export const startAgentSandbox = (kubernetes: FakeKubernetes): void => {
  const reconcile = (name: string) => {
    const sandbox = kubernetes.get("sandboxes", name)
    if (!sandbox) return
    makeClaims(kubernetes, sandbox)
    if (sandbox.spec.operatingMode === "Suspended") endPod(kubernetes, name)
    else if (!kubernetes.get("pods", name)) kubernetes.put("pods", name, podOf(sandbox))
  }
  kubernetes.listen(({ kind, type, object }) => {
    const { name } = object.metadata
    if (kind === "sandboxes" && type === "DELETED") {
      endPod(kubernetes, name)
      for (const template of object.spec.volumeClaimTemplates ?? [])
        kubernetes.remove("persistentvolumeclaims", claimName(template.metadata.name, name))
    } else if (kind === "sandboxes" || (kind === "pods" && type === "DELETED")) {
      // As a controller does, after it has heard of it.
      setImmediate(reconcile, name)
    }
  })
}
