import type { IncomingMessage } from "node:http"
import type { Db } from "../../kernel/db/database.ts"
import type { HostGate } from "../../kernel/edges/host-gate.ts"
import { isUuid } from "../../kernel/id.ts"
import type { ServiceHost } from "../../services/serving/urls.ts"
import type { DomainTarget } from "../domains/offers.ts"
import { serviceStore } from "./store.ts"

/** Services that custom domains are pointed at. What is found in `asked` was sent to a domain, not to a URL of ours. */
export const createDomainTarget = (
  db: Db,
  gate: HostGate,
  asked: WeakMap<IncomingMessage, ServiceHost>,
): DomainTarget => ({
  scope: "services:deploy",
  async find(owner, id) {
    if (!isUuid(id)) return undefined
    return (await serviceStore(db).find(owner, "id", id))?.host_label
  },
  answer({ key }, { request, response, address, upgrade }) {
    asked.set(request, { label: key, tag: undefined })
    if (upgrade) gate.upgrade(request, upgrade.socket, upgrade.head, address)
    else gate.serve(request, response, address)
  },
})
