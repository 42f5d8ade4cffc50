/** Which revision of which service answers a request. */
import type { IncomingMessage } from "node:http"
import type { Refusal } from "../../kernel/edges/forwarding.ts"
import { type AccessNeeds, createAccess } from "../../services/serving/access.ts"
import { type Target, UNKNOWN } from "../../services/serving/routing.ts"
import type { ServiceHost } from "../../services/serving/urls.ts"
import type { Directory } from "./directory.ts"
import { pickRevision } from "./traffic.ts"

export interface FindingNeeds extends Omit<AccessNeeds, "scope"> {
  /** The name that a request is for; undefined where it is none of a service. */
  readonly hostOf: (request: IncomingMessage) => ServiceHost | undefined
  readonly directory: Directory
}

export const createFind = (needs: FindingNeeds) => {
  const { hostOf, directory } = needs
  const admit = createAccess({ ...needs, scope: "services:read" })

  return async (request: IncomingMessage, address: string): Promise<Target | Refusal> => {
    const host = hostOf(request)
    const known = host && (await directory.find(host.label))
    if (!host || !known) return UNKNOWN
    const { service, revisions } = known
    const number = pickRevision(service, host.tag, Math.random() * 100)
    const chosen = number === undefined ? undefined : revisions.get(number)
    if (!chosen) return UNKNOWN
    const of = { spec: chosen.spec, timeoutMs: chosen.row.timeout_seconds * 1000 }
    if (service.is_public) return { ...of, withheld: [] }
    const admitted = await admit(service, request, address)
    return "status" in admitted ? admitted : { ...of, withheld: [admitted.withheld] }
  }
}
