/** Which version of which deployment answers a request, on which port. */
import type { IncomingMessage } from "node:http"
import type { Refusal } from "../../kernel/edges/forwarding.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import { type AccessNeeds, createAccess } from "../../services/serving/access.ts"
import { type Target, UNKNOWN } from "../../services/serving/routing.ts"
import type { Serving } from "../../services/serving/serving.ts"
import type { RevisionSpec } from "../../services/serving/spec.ts"
import type { ServiceHost } from "../../services/serving/urls.ts"
import type { Directory, Known } from "./directory.ts"
import { countsOf, hasFailed } from "./rules.ts"

export interface FindingNeeds extends Omit<AccessNeeds, "scope"> {
  /** The name that a request is for; undefined where it is none of a deployment. */
  readonly hostOf: (request: IncomingMessage) => ServiceHost | undefined
  readonly directory: Directory
  readonly serving: Pick<Serving, "replicas">
  readonly hosts: Pick<Hosts, "id" | "at">
}

const PORT_TAG = /^p(\d{1,5})$/
/** In a host name, beside the one of the deployment. */
export const tagOf = (port: number): string => `p${port}`

const NOBODY: Refusal = {
  status: 503,
  text: "The deployment has no instance at the moment.",
  headers: { "retry-after": "5" },
}

/** By how many instances of each are ready, while one takes the place of the other. */
const choose = ({ deployment, target, before }: Known, serving: FindingNeeds["serving"]): RevisionSpec => {
  if (!before) return target
  const readyOf = ({ id }: RevisionSpec) => countsOf(serving.replicas(id)).ready
  const [after, earlier] = [readyOf(target), readyOf(before)]
  if (after + earlier === 0) return hasFailed(deployment) ? before : target
  return Math.random() * (after + earlier) < after ? target : before
}

export const createFind = (needs: FindingNeeds) => {
  const { hostOf, directory, serving, hosts } = needs
  const admit = createAccess({ ...needs, scope: "compute:read" })

  return async (request: IncomingMessage, address: string): Promise<Target | Refusal> => {
    const host = hostOf(request)
    const known = host && (await directory.find(host.label))
    if (!host || !known) return UNKNOWN
    const { deployment } = known
    const named = host.tag === undefined ? undefined : PORT_TAG.exec(host.tag)?.[1]
    if (host.tag !== undefined && named === undefined) return UNKNOWN
    const port = named === undefined ? known.targetPorts[0] : Number(named)
    if (port === undefined || !known.targetPorts.includes(port)) return UNKNOWN
    const admitted = deployment.is_public ? undefined : await admit(deployment, request, address)
    if (admitted && "status" in admitted) return admitted
    if (deployment.host_id !== hosts.id) {
      const elsewhere = deployment.host_id === null ? undefined : hosts.at(deployment.host_id)
      return { ...NOBODY, ...(elsewhere && { elsewhere }) }
    }
    const of = { spec: choose(known, serving), withheld: admitted ? [admitted.withheld] : [] }
    return named === undefined ? of : { ...of, port }
  }
}
