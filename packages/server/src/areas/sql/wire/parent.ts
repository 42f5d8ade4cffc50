/** The proxy's side of the channel to the platform's process. */

import type { Socket } from "node:net"
import type { Certificate } from "../../../services/postgres/certificate.ts"
import { WireRefusal } from "./error-response.ts"
import type { FromProxy, ToProxy, WireOpenRequest, WireTarget } from "./messages.ts"
import type { VerifierRequest } from "./verifiers.ts"

export interface Parent {
  open(request: WireOpenRequest): Promise<WireTarget>
  certificate(): Promise<Certificate>
  verifier(request: VerifierRequest): Promise<string | undefined>
  /** Resolves when the message is on its way. */
  tell(message: FromProxy): Promise<void>
}

export interface ParentEvents {
  connection(connectionId: string, socket: Socket, tunneled: string | undefined): void
  disconnect(branchId: string): void
  stop(): void
  /** The platform's process is gone. */
  gone(): void
}

export const createParent = (heard: ParentEvents): Parent => {
  const asked = new Map<number, PromiseWithResolvers<unknown>>()
  let lastId = 0

  const tell = (message: FromProxy): Promise<void> =>
    new Promise(resolve => {
      if (!process.connected) return resolve()
      process.send?.(message, undefined, undefined, () => resolve())
    })

  const ask = async (message: (id: number) => FromProxy): Promise<unknown> => {
    const id = ++lastId
    const answer = Promise.withResolvers<unknown>()
    asked.set(id, answer)
    void tell(message(id))
    return await answer.promise
  }

  const take = (id: number) => {
    const answer = asked.get(id)
    asked.delete(id)
    return answer
  }

  process.on("message", (message: ToProxy, socket: Socket | undefined) => {
    switch (message.kind) {
      case "connection":
        // The client may have gone before its socket got here.
        if (socket) {
          void tell({ kind: "taken", connectionId: message.connectionId })
          heard.connection(message.connectionId, socket, message.tunneled)
        } else void tell({ kind: "closed", connectionId: message.connectionId })
        return
      case "answer":
        return take(message.id)?.resolve(message.value)
      case "refusal":
        return take(message.id)?.reject(new WireRefusal(message))
      case "disconnect":
        return heard.disconnect(message.branchId)
      default:
        return heard.stop()
    }
  })
  process.on("disconnect", heard.gone)

  return {
    open: async request => (await ask(id => ({ kind: "open", id, request }))) as WireTarget,
    certificate: async () => (await ask(id => ({ kind: "certificate", id }))) as Certificate,
    verifier: async request => (await ask(id => ({ kind: "verifier", id, request }))) as string | undefined,
    tell,
  }
}
