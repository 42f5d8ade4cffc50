/** What a first Pod tells of the cluster that no question to its API does. */
import { randomUUID } from "node:crypto"
import { text } from "node:stream/consumers"
import { PortError } from "../../../port-error.ts"
import { createGuestClient } from "../../guest/client.ts"
import type { WorkloadSpec } from "../../port.ts"
import { boot, type Parts } from "./boot.ts"
import { nameOf, reachCommand, SIDECAR } from "./manifests.ts"

export interface Probed {
  /** Why root in Pods is root on their nodes too; undefined where he is not. */
  readonly withoutUsers: string | undefined
}

const REACH_SECONDS = 3

const specOf = (): WorkloadSpec => ({
  ...{
    id: randomUUID(),
    hostname: "probe",
    root: { kind: "host" },
    disk: { kind: "memory", bytes: 2 ** 23 },
  },
  ...{ vcpus: 1, memoryBytes: 2 ** 26, processesMax: 8, mounts: [], network: { mode: "none" } },
})

/** Whether the API server is reached from a Pod that may reach nothing. */
const reaches = async ({ api }: Parts, pod: string): Promise<boolean> => {
  const remote = await api.exec(pod, { container: SIDECAR, argv: reachCommand(REACH_SECONDS) })
  const said = (await text(remote.output)).trim()
  if (said === "reached" || said === "out of reach") return said === "reached"
  throw new PortError("unavailable", `a Pod did not tell what it reaches: ${said || (await remote.ended)}`)
}

/** Starts a workload, looks and ends it. Tells whether its users are its own. */
const tryPod = async (parts: Parts, spec: WorkloadSpec): Promise<boolean> => {
  const name = nameOf(parts.options.instance, spec.id)
  const booted = await boot(parts, spec)
  try {
    await createGuestClient(booted.stream).ready
    if (await reaches(parts, name))
      throw new PortError(
        "refused",
        "this cluster does not enforce NetworkPolicies (a Pod that may reach nothing reaches the API server): " +
          "workloads would reach all of it; it takes a network plugin that enforces them from a Pod's first packet",
      )
    return parts.pods.get(name)?.spec.hostUsers === false
  } finally {
    booted.kill()
    await booted.ended
  }
}

/** Resolves with whether a node has made a Pod's name spaces within the time that this takes. */
const getsNamespaces = (parts: Parts, name: string): Promise<boolean> =>
  parts.pods
    .wait(name, parts.sandboxMsMax, pod => {
      const isMade = pod?.status?.conditions?.some(
        ({ type, status }) => type === "PodReadyToStartContainers" && status === "True",
      )
      return isMade || pod?.status?.phase === "Running" ? { answer: true } : undefined
    })
    .catch(() => false)

/**
 * Rejects with what makes the cluster unusable. Nodes that can give no users of their own to Pods make no name spaces for
 * one that asks for them, and say so or leave it waiting for ever; another one that does not ask follows.
 */
export const probe = async (parts: Parts): Promise<Probed> => {
  const spec = specOf()
  const tried = tryPod(parts, spec).then(
    hasOwnUsers => ({ hasOwnUsers }),
    (error: unknown) => ({ error }),
  )
  const isMade = getsNamespaces(parts, nameOf(parts.options.instance, spec.id))
  const first = await Promise.race([tried, isMade.then(made => (made ? tried : undefined))])
  if (first && "hasOwnUsers" in first)
    return {
      withoutUsers: first.hasOwnUsers ? undefined : "this Kubernetes knows no users of Pods (hostUsers)",
    }
  if (first && (await Promise.race([isMade, false]))) throw first.error
  await parts.carrier.erase(spec.id)
  await tried
  await tryPod({ ...parts, options: { ...parts.options, hasOwnUsers: false } }, specOf())
  return { withoutUsers: "its nodes start no Pod that has users of its own (hostUsers)" }
}
